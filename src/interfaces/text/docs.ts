import { BOUNDARIES, DISCLOSURES } from '#contracts/boundaries.ts';
import { outreachOperations } from '#contracts/index.ts';
import { LIMITS, type Rates } from '#contracts/limits.ts';
import { toolName } from '#contracts/places.ts';
import { SCOPES } from '#contracts/scopes.ts';
import { skillsMarkdown } from '../a2a/docs.ts';
import { toolsMarkdown } from '../mcp/docs.ts';
import { restMarkdown } from '../rest/docs.ts';
import { code, scopeText, table } from './markdown.ts';

/** A page for people and programs: constants and the registry, never a word of a tenant. */
export type DocPage = {
  slug: string;
  title: string;
  about: string;
  markdown(origin: string, rates: Rates): string;
};

const boundariesText = (origin: string): string =>
  [
    '# Boundaries',
    'What no agent can do here, over any interface, with whatever key:',
    BOUNDARIES.map(({ statement, instead }) => `- ${statement} ${instead}`).join('\n'),
    `An attempt is answered with [${code('boundary_forbidden')}](${origin}/problems/boundary_forbidden.md) where its name says what it is, and is on the record of the agent either way.`,
    'That is kept in four ways, each with its tests: the interfaces have no such operation; what an operation may write is listed in its contract and held against every event before it is appended; the events of buyers are written only for whoever holds the review link; and random calls over all interfaces leave no other event.',
    `What each operation may write, and what was tried: [boundaries.json](${origin}/boundaries.json).`,
    '## Scopes',
    table(
      ['Scope', 'Group', 'Meaning'],
      Object.entries(SCOPES).map(([name, { group, meaning }]) => [code(name), group, meaning]),
    ),
  ].join('\n\n');

const STATES: readonly [string, string][] = [
  ['pending_approval', 'waits for people'],
  ['changes_requested', 'a person asks for other content: send it with `revises`'],
  ['approved', 'enough people said yes to exactly these bytes'],
  ['dispatched', 'handed to the channel, or to be tried again'],
  ['confirmed', 'the receiver said that it has it'],
  ['failed', 'it did not arrive, for certain'],
  ['outcome_unknown', 'it may have arrived; never repeated by itself, a person looks'],
  ['rejected, expired, canceled', 'nothing was sent'],
];

const outreachText = (origin: string): string =>
  [
    '# Outreach',
    'Posts, messages and notifications to other agents are proposed by agents and sent only once people of the owner approved exactly that content. There is no REST operation for it: propose over [MCP](' +
      `${origin}/docs/mcp.md) or [A2A](${origin}/docs/a2a.md).`,
    table(
      ['Tool', 'Scope', 'What it does'],
      Object.values(outreachOperations).map((operation) => [
        code(toolName(operation)),
        scopeText(operation.scope),
        operation.summary,
      ]),
    ),
    '## From proposal to outcome',
    table(
      ['Status', ''],
      STATES.map(([status, about]) => [code(status), about]),
    ),
    [
      '- An approval is bound to `content_sha256`: the hash of the bytes that leave, target, schedule and channel included. A revision voids the decisions before it.',
      '- No agent credential can approve. Where nobody is configured to approve, nothing can be proposed.',
      `- A text with a link discloses it: ${DISCLOSURES.map(code).join(' or ')}.`,
      `- Not approved and sent by ${code('not_after')} (${LIMITS.OUTREACH_DAYS_DEFAULT} days unless it says otherwise, at most ${LIMITS.OUTREACH_DAYS_MAX}), it expires.`,
      '- Each approval is sent at most once, unless the receiver takes each id once. An unknown outcome is called unknown.',
      '- People halt all outreach of an owner, or of everybody, at once.',
    ].join('\n'),
    '## Webhooks',
    'Signed as [Standard Webhooks](https://www.standardwebhooks.com): `webhook-id` is the id of the request and its revision, the same on every attempt; the body is exactly the bytes that were approved. Answer 2xx once you have it. 410 ends the channel.',
  ].join('\n\n');

/** Every page; those of the protocols are written in their own rooms. */
export const DOC_PAGES: readonly DocPage[] = [
  {
    slug: 'rest',
    title: 'REST',
    about: 'the seven operations, field by field',
    markdown: restMarkdown,
  },
  { slug: 'mcp', title: 'MCP', about: 'every tool, and how to connect', markdown: toolsMarkdown },
  {
    slug: 'a2a',
    title: 'A2A',
    about: 'every skill, and what a task goes through',
    markdown: skillsMarkdown,
  },
  {
    slug: 'outreach',
    title: 'Outreach',
    about: 'from a proposal to its outcome, and who decides',
    markdown: outreachText,
  },
  {
    slug: 'boundaries',
    title: 'Boundaries',
    about: 'what no agent can do, and how that is kept',
    markdown: boundariesText,
  },
];
