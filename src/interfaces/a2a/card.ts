import type { FastifyInstance } from 'fastify';
import { CONTRACT_VERSION } from '#contracts/places.ts';
import { allows } from '#contracts/scopes.ts';
import type { Skill } from '#contracts/tasks/skills.ts';
import { asksOfLead, LEAD_QUESTION_SCOPE, PROMOTIONS, SKILLS } from '#contracts/tasks/skills.ts';
import type { AgentApp } from '#src/registries/app.ts';
import { documentRoute } from '#src/web/documents.ts';

export const A2A_BASE = '/api/affiliate/a2a';
export const CARD_PATH = '/.well-known/agent-card.json';
export const KEYS_PATH = '/.well-known/jwks.json';

/** Major and minor version of the protocol; patches are not negotiated. */
export const A2A_VERSION = '1.0';

const MODES = ['application/json', 'text/plain'];

const securityOf = (scopes: readonly string[]): object[] =>
  [...new Set(scopes)].map((name) => ({ schemes: { apiKey: { list: [name] } } }));

const scopesOf = ({ scope }: Skill): readonly string[] => [scope ?? []].flat();

const skillOf = (skill: Skill): object => ({
  id: skill.id,
  name: skill.name,
  description: skill.description,
  tags: skill.tags,
  ...(skill.examples.length > 0 && {
    examples: skill.examples.map((example) => JSON.stringify(example)),
  }),
  inputModes: MODES,
  outputModes: ['application/json'],
  securityRequirements: securityOf(scopesOf(skill)),
});

/**
 * The agent card of A2A 1.0: constants and the origin, with members of its schema only. No member is empty: verifiers
 * drop empty members before they check the signature, so it would not cover them.
 */
export const agentCard = (origin: string, skills: readonly Skill[] = Object.values(SKILLS)) => ({
  name: 'Tributary',
  description:
    'Promotion-coordination intake for agents of promoters: outreach that people approve, handoffs that ' +
    'buyers review, performance and its attribution. It accepts no quotation, submits no RFQ, places no ' +
    'order, reserves no stock and sends no payment.',
  supportedInterfaces: [
    { url: origin + A2A_BASE, protocolBinding: 'JSONRPC', protocolVersion: A2A_VERSION },
    { url: origin + A2A_BASE, protocolBinding: 'HTTP+JSON', protocolVersion: A2A_VERSION },
  ],
  provider: { organization: 'Tributary', url: `${origin}/` },
  version: CONTRACT_VERSION,
  documentationUrl: `${origin}/docs/a2a`,
  capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
  securitySchemes: {
    apiKey: {
      httpAuthSecurityScheme: {
        scheme: 'Bearer',
        description:
          'An API key, issued by the owner after an access review. Keep it on a server, never in a URL.',
      },
    },
  },
  securityRequirements: securityOf(skills.flatMap(scopesOf)),
  defaultInputModes: MODES,
  defaultOutputModes: ['application/json'],
  skills: skills.map(skillOf),
});

type Signer = Pick<AgentApp, 'sign' | 'origin'>;

const signed = (app: Signer, card: object): object => ({
  ...card,
  signatures: [app.sign(card, app.origin() + KEYS_PATH)],
});

export const signedCard = (app: Signer): object => signed(app, agentCard(app.origin()));

/** The card for a key, with the skills and examples that its scopes allow; the public card if they allow no skill. */
export const extendedCard = (app: Signer, scopes: ReadonlySet<string>): object => {
  const open = Object.values(SKILLS).filter(({ scope }) => allows(scope, scopes));
  if (open.length === 0) return signedCard(app);
  const narrowed = open.map((skill) => narrowSkill(skill, scopes));
  return signed(app, agentCard(app.origin(), narrowed));
};

const narrowSkill = (skill: Skill, scopes: ReadonlySet<string>): Skill => {
  const scope = [skill.scope ?? []].flat().filter((name) => scopes.has(name));
  const operations = skill.operations.filter((operation) => allows(operation.scope, scopes));
  const examples = skill.examples.filter(({ kind, ...example }) => {
    if (skill.id === 'attribution_question' && asksOfLead(example))
      return scopes.has(LEAD_QUESTION_SCOPE);
    const operation = Object.entries(PROMOTIONS).find(([name]) => name === kind)?.[1];
    return operation === undefined || operations.some(({ id }) => id === operation);
  });
  return { ...skill, scope, operations, examples };
};

/** Serves the public card, and the keys that verify its signature. */
export const cardRoutes = (server: FastifyInstance, app: AgentApp): void => {
  const { origin } = app;
  const serve = (path: string, make: () => object): void => {
    // The start of the process: a new version may have another card.
    const since = new Date(app.now()).toUTCString();
    const headers = () => ({ 'last-modified': since });
    documentRoute(server, origin, { paths: [path], type: 'application/json', make, headers });
  };
  serve(CARD_PATH, () => signedCard(app));
  serve(KEYS_PATH, () => app.signingKeys());
};
