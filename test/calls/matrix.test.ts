/*
 * Every operation, tool and skill gets the same decision on every surface, and exactly one audit record:
 * with each scope, none and all, in every state of a key or a record. The expected decisions come from
 * the specification, not from the registry under test.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventData } from '#contracts/registries/events.ts';
import { type OperationId, operations } from '#contracts/registries/agents.ts';
import { placeOf, toolName } from '#contracts/places.ts';
import type { Surface } from '#src/shared/call.ts';
import { rpc } from '../support/clients/a2a.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { mcpAgent } from '../support/clients/mcp.ts';
import { configure } from '../support/world/outreach.ts';
import { verifies } from '../support/source/verifies.ts';

const OUTBOUND = ['social:write', 'messages:write', 'agents:notify'];
const NEEDS: Record<OperationId, string[] | null> = {
  getConnection: null,
  searchProducts: ['products:read'],
  createLink: ['links:write'],
  createHandoff: ['handoffs:write'],
  listLeads: ['leads:read'],
  submitLead: ['leads:write'],
  getPerformance: ['performance:read'],
  requestSocialPost: ['social:write'],
  requestMessage: ['messages:write'],
  requestAgentNotification: ['agents:notify'],
  getOutboundRequest: OUTBOUND,
  cancelOutboundRequest: OUTBOUND,
  // Of outreach: what a kind needs is in test/records.
  listRecords: OUTBOUND,
  listChanges: ['links:write', 'handoffs:write', ...OUTBOUND, 'leads:read'],
  getRecord: ['social:write'],
  reviseHandoff: ['handoffs:write'],
  withdrawUnseenHandoff: ['handoffs:write'],
  createLinks: ['links:write'],
  updateLink: ['links:write'],
  getReceipt: null,
};
/** Only the agent that made a record may change it, or prove what it wrote. */
const OF_MAKER: readonly OperationId[] = [
  'reviseHandoff',
  'withdrawUnseenHandoff',
  'updateLink',
  'getReceipt',
];
const SCOPES = [
  'products:read',
  'performance:read',
  'leads:read',
  'links:write',
  'handoffs:write',
  'leads:write',
  ...OUTBOUND,
];
const IDS = Object.keys(NEEDS) as OperationId[];
/** The skill for the operation, if one exists. */
const SKILL: Partial<Record<OperationId, object>> = {
  createHandoff: { skill: 'prepare_handoff' },
  getPerformance: { skill: 'performance_digest' },
  requestSocialPost: { skill: 'coordinate_promotion', kind: 'social_post' },
  requestMessage: { skill: 'coordinate_promotion', kind: 'message' },
  requestAgentNotification: { skill: 'coordinate_promotion', kind: 'agent_notification' },
};

type Agent = Awaited<ReturnType<TestApp['agent']>>;
let app: TestApp;
let acme: Agent;
/** Records of acme, one of each kind that an operation can name. */
const recordIds = { outbound_id: '', link_id: '' };

const NO_HANDOFF = `hnd_${'0'.repeat(24)}`;

let intents = 0;
const inputOf = (id: OperationId): Record<string, unknown> => {
  intents += 1;
  switch (id) {
    case 'createLink':
      return { target: { kind: 'product', ref: 'MUG-1' } };
    case 'createHandoff':
      return { title: 'List', line_items: [{ sku: 'MUG-1', quantity: 4 }] };
    case 'submitLead':
      return { external_id: `crm-${intents}`, company: { name: 'Shop', country: 'GB' } };
    case 'requestSocialPost':
      return { network: 'x', account_ref: 'shop', text: 'Mugs' };
    case 'requestMessage':
      return { channel: 'chat', recipient_ref: 'club', text: 'Mugs' };
    case 'requestAgentNotification':
      return { agent_card_url: 'https://a.example/card.json', text: 'Mugs' };
    case 'getOutboundRequest':
    case 'cancelOutboundRequest':
      return { outbound_id: recordIds.outbound_id };
    case 'reviseHandoff':
      return { handoff_id: NO_HANDOFF, title: 'List' };
    case 'withdrawUnseenHandoff':
      return { handoff_id: NO_HANDOFF };
    case 'createLinks':
      return { links: [{ target: { kind: 'product', ref: 'MUG-1' } }] };
    case 'updateLink':
      return { link_id: `lnk_${'0'.repeat(24)}`, stop: true };
    case 'getRecord':
      return { id: recordIds.outbound_id };
    case 'listRecords':
      return { kind: 'outreach' };
    case 'getReceipt':
      return { request_id: '0197f2a1-6c3e-7000-8000-000000000001' };
    default:
      return {};
  }
};

const WRITES = new Set<OperationId>(
  IDS.filter((id) => /^(create|submit|request|cancel|revise|withdraw|update)/.test(id)),
);

/** `done`, or the code of the refusal. */
type Decision = string;

const overRest = async (id: OperationId, key: string, input: object): Promise<Decision> => {
  const operation = operations[id as keyof typeof operations];
  const { method, path } = operation.http;
  const fields = Object.entries(input);
  const query = new URLSearchParams(
    fields
      .filter(([name]) => placeOf(operation, name) === 'query')
      .map(([name, value]) => [name, String(value)]),
  );
  const { status, body } = await app.send({
    method,
    url: `/api/affiliate/v1${path}${query.size > 0 ? `?${query.toString()}` : ''}`,
    key,
    ...(method === 'POST' && { payload: input, headers: { 'idempotency-key': freshKey() } }),
  });
  return status < 300 ? 'done' : (body as { code: string }).code;
};

const overMcp = async (id: OperationId, key: string, input: object): Promise<Decision> => {
  const args = { ...input, ...(WRITES.has(id) && { idempotency_key: freshKey() }) };
  const { body } = await mcpAgent(app, key).legacy('tools/call', {
    name: toolName({ id }),
    arguments: args,
  });
  if (body.error) return String(body.error.data['code']);
  const text = body.result?.content[0]?.text ?? '{}';
  return body.result?.isError ? (JSON.parse(text) as { code: string }).code : 'done';
};

type Answer = {
  task: { status: { state: string; message?: { parts: { data?: { code?: string } }[] } } };
};

const overA2a = async (id: OperationId, key: string, input: object): Promise<Decision> => {
  const request = {
    messageId: freshKey(),
    role: 'ROLE_USER',
    parts: [{ data: { ...SKILL[id], ...input } }],
  };
  const { result, error } = await rpc<Answer>(app, key, 'SendMessage', { message: request });
  if (error) return (error.data[0]?.reason ?? '').toLowerCase();
  const { state, message } = result.task.status;
  if (state !== 'TASK_STATE_REJECTED') return 'done';
  return message?.parts.find(({ data }) => data)?.data?.code ?? state;
};

const SURFACES: Partial<Record<Surface, { can(id: OperationId): boolean; ask: typeof overRest }>> =
  {
    rest: { can: (id) => id in operations, ask: overRest },
    mcp: { can: () => true, ask: overMcp },
    a2a: { can: (id) => id in SKILL, ask: overA2a },
  };

/**
 * Counts the audit records since `from`: activity by its count, and business events by the request that
 * wrote them. Technical events are no record of a call.
 */
const recordsSince = async (from: number): Promise<number> => {
  const { audit, log } = app.service.deps;
  await audit.flush();
  const events = await log.readAll({ after: from, limit: 10_000 });
  const entries = events.flatMap(({ type, data }) =>
    type === 'ActivityRecorded' ? (data as EventData<'ActivityRecorded'>).entries : [],
  );
  const written = new Set(
    events
      .filter(({ type }) => !/^(ActivityRecorded|RequestBound|Task|Code|LeadClaim)/.test(type))
      .map(({ meta }) => meta.request),
  );
  return entries.reduce((sum, { count }) => sum + count, 0) + written.size;
};

/** Calls the operation on every surface that has it, and expects the decision and one audit record each. */
const judge = async (id: OperationId, key: string, expected: Decision, input = inputOf(id)) => {
  for (const [surface, { can, ask }] of Object.entries(SURFACES)) {
    if (!can(id)) continue;
    const { position } = await app.service.deps.log.head();
    const callInput = id === 'submitLead' ? inputOf(id) : input;
    expect(await ask(id, key, callInput), `${id} over ${surface}`).toBe(expected);
    expect(await recordsSince(position), `records of ${id} over ${surface}`).toBe(1);
  }
};

beforeAll(async () => {
  const many = '100000000';
  app = await testApp({
    READS_PER_MINUTE: many,
    WRITES_PER_MINUTE: many,
    OUTREACH_PER_MINUTE: many,
  });
  await app.publish([feedProduct('MUG-1')]);
  await Promise.all(['acme', 'rival'].map((owner) => configure(app, owner)));
  acme = await app.agent('acme');
});
afterAll(() => app.close());

const doneBy = (id: OperationId): Decision =>
  OF_MAKER.includes(id) ? 'resource_not_found' : 'done';

/** Creates an open request, which can be read and canceled. */
const freshRequest = async (key: string): Promise<void> => {
  const { body } = await mcpAgent(app, key).legacy('tools/call', {
    name: 'request_social_post',
    arguments: { ...inputOf('requestSocialPost'), idempotency_key: freshKey() },
  });
  recordIds.outbound_id = String(body.result?.structuredContent?.['id']);
};

describe.each(
  [...SCOPES.map((scope) => [scope]), [], SCOPES].map(
    (list) => [list.join(' ') || 'no scopes of its own', list] as const,
  ),
)('A key with %s', (_name, granted) => {
  it('A key with any combination of scopes gets the same decision and one audit record on every surface', async () => {
    verifies('authentication.4', 'authentication.5.outbound');
    const agent = await app.agent('acme', granted.length > 0 ? granted : ['products:read']);
    const held = new Set(granted.length > 0 ? granted : ['products:read']);
    for (const id of IDS) {
      // Only its agent may cancel a request, so the agent creates it if its scopes allow that.
      await freshRequest(held.has('social:write') ? agent.key : acme.key);
      const needed = NEEDS[id];
      const opens = needed === null || needed.some((scope) => held.has(scope));
      // The request is a social post: the other outbound scopes allow the operation, but not this request.
      const isKind = !id.endsWith('OutboundRequest') || held.has('social:write');
      await judge(id, agent.key, opens && isKind ? doneBy(id) : 'scope_missing');
    }
  });
});

describe('Every operation on every surface', () => {
  it('Every operation on every surface refuses a suspended agent, with an audit record', async () => {
    const agent = await app.agent('acme');
    await app.desk('POST', `/agents/${agent.agentId}/suspend`, { reason: 'Odd' });
    for (const id of IDS) await judge(id, agent.key, 'agent_suspended');
  });

  it('Every operation on every surface refuses a revoked key, with an audit record', async () => {
    const agent = await app.agent('acme');
    await app.desk('POST', `/keys/${agent.keyId}/revoke`, { reason: 'Lost' });
    for (const id of IDS) await judge(id, agent.key, 'credential_revoked');
  });

  it('Every operation on every surface reports records of another owner as not found', async () => {
    const rival = await app.agent('rival');
    await freshRequest(acme.key);
    for (const id of ['getOutboundRequest', 'cancelOutboundRequest', 'getRecord'] as const)
      await judge(id, rival.key, 'resource_not_found');
    const made = await app.send({
      method: 'POST',
      url: '/api/affiliate/v1/links',
      key: acme.key,
      payload: inputOf('createLink'),
      headers: { 'idempotency-key': freshKey() },
    });
    const link_id = (made.body as { id: string }).id;
    await judge('createHandoff', rival.key, 'resource_not_found', {
      ...inputOf('createHandoff'),
      link_id,
    });
    await judge('requestSocialPost', rival.key, 'resource_not_found', {
      ...inputOf('requestSocialPost'),
      link_ids: [link_id],
    });
  });

  it('Every operation on every surface decides the same for a test key, with separate records', async () => {
    const agent = await app.agent('acme', SCOPES, 'test');
    for (const id of IDS) {
      await freshRequest(agent.key);
      await judge(id, agent.key, doneBy(id));
    }
    await freshRequest(acme.key);
    await judge('getOutboundRequest', agent.key, 'resource_not_found');
  });
});
