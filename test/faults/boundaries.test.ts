/*
 * Attempts to do what no agent may do: by names of every interface, by additional fields of allowed
 * operations, by random stories, and by a search of the source. The report is published as
 * contracts/published/boundaries.json.
 */
import { env } from 'node:process';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { BOUNDARIES, type BoundaryId, boundaryOf, BUYER_EVENTS } from '#contracts/boundaries.ts';
import {
  type EventData,
  EVENTS,
  type EventType,
  RFQ_EVENTS,
} from '#contracts/registries/events.ts';
import { holderOperations } from '#contracts/registries/holders.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import {
  agentOperations,
  type OperationId,
  operations,
  recordOperations,
} from '#contracts/registries/agents.ts';
import { systemWrites } from '#contracts/registries/system.ts';
import { taskOperations } from '#contracts/tasks/operations.ts';
import type { AgentApp } from '#src/registries/app.ts';
import type { ToolOperation } from '#contracts/operation.ts';
import { toolName } from '#contracts/places.ts';
import { SKILLS } from '#contracts/tasks/skills.ts';
import type { Surface } from '#src/shared/call.ts';
import { reviewTokenOf } from '#src/shared/signing.ts';
import { attribute } from '#src/writing/attribution.ts';
import { message, rpc } from '../support/clients/a2a.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { mcpAgent } from '../support/clients/mcp.ts';
import { mailing } from '../support/dispatch/mailing.ts';
import { asAgent, configure } from '../support/world/outreach.ts';
import { reachedFrom } from '../support/source/reach.ts';
import { valid } from '../support/world/schema-arbitrary.ts';
import { inputSchema } from '../support/world/schema-values.ts';
import { verifies } from '../support/source/verifies.ts';

/** The seed of the published report. Failures print the seed; the variable SEED tries another one. */
const PUBLISHED_SEED = 20_261_121;
const SEED = Number(env['SEED'] ?? PUBLISHED_SEED);
const STORIES = 150;
const REGISTRY: readonly ToolOperation[] = Object.values(agentOperations);

/** Paths and names that an agent could guess for each act. */
const ATTEMPTS: Record<BoundaryId, { paths: string[]; names: string[] }> = {
  accept_quotation: {
    paths: ['/quotations/q_1/accept', '/quotes', '/quotes/accept', '/quotation/q_1/agree'],
    names: ['accept_quotation', 'acceptQuote', 'quotation.accept', 'agreeToQuotation'],
  },
  submit_rfq: {
    paths: ['/rfqs', '/handoffs/hnd_1/submit-rfq', '/rfq'],
    names: ['submit_rfq', 'submitRfq', 'rfq/send'],
  },
  place_order: {
    paths: ['/orders', '/checkout', '/purchases'],
    names: ['place_order', 'createOrder', 'purchase_products', 'checkout'],
  },
  reserve_stock: {
    paths: ['/reservations', '/products/prd_1/reserve', '/stock/allocate'],
    names: ['reserve_stock', 'allocateStock', 'stock.reservation'],
  },
  send_payment: {
    paths: ['/payments', '/payouts', '/invoices/1/pay'],
    names: ['send_payment', 'payInvoice', 'payments/create', 'refund'],
  },
};
/** Fields that could extend an allowed call to a forbidden act. */
const SMUGGLED: Record<string, unknown> = {
  submit_rfq: true,
  rfq: { submit: true },
  status: 'rfq_submitted',
  accept_quotation: true,
  place_order: { sku: 'MUG-1', quantity: 4 },
  reserve: 4,
  payment: { amount: 1, currency: 'GBP' },
  approved_by: 'desk:root',
  approve: true,
};

let app: TestApp;
let agent: Awaited<ReturnType<TestApp['agent']>>;
beforeAll(async () => {
  const many = '100000000';
  app = await testApp({
    READS_PER_MINUTE: many,
    WRITES_PER_MINUTE: many,
    OUTREACH_PER_MINUTE: many,
  });
  await app.publish([feedProduct('MUG-1')]);
  await configure(app, 'acme');
  agent = await app.agent('acme');
});
afterAll(() => app.close());

const allEvents = async () => app.service.deps.log.readAll({ after: 0, limit: 1_000_000 });

/** Counts the audited attempts at the act on the surface. */
const countAudited = async (boundary: BoundaryId, surface: Surface): Promise<number> => {
  await app.service.deps.audit.flush();
  const entries = (await allEvents()).flatMap(({ type, data }) =>
    type === 'ActivityRecorded' ? (data as EventData<'ActivityRecorded'>).entries : [],
  );
  return entries
    .filter(
      (entry) =>
        entry.surface === surface &&
        entry.decision === 'denied' &&
        entry.code === 'boundary_forbidden' &&
        (entry.operation === `boundary:${boundary}` || entry.operation.startsWith('a2a:')),
    )
    .reduce((sum, { count }) => sum + count, 0);
};

type Attempt = { boundary: BoundaryId; interface: string; attempt: string; answer: string };
const attempts: Attempt[] = [];

describe.each(BOUNDARIES.map(({ id }) => id))('The forbidden act %s', (boundary) => {
  const { paths, names } = ATTEMPTS[boundary];
  const note = (over: string, attempt: string, answer: string) =>
    attempts.push({ boundary, interface: over, attempt, answer });

  it('A forbidden act has no REST route under any method, and each attempt is audited', async () => {
    const before = await countAudited(boundary, 'rest');
    for (const path of paths)
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
        const url = `/api/affiliate/v1${path}`;
        const headers = { 'idempotency-key': freshKey() };
        const { status, body } = await app.send({
          method,
          url,
          key: agent.key,
          payload: { sku: 'MUG-1' },
          headers,
        });
        expect({ status, body }, `${method} ${path}`).toMatchObject({
          status: 403,
          body: { code: 'boundary_forbidden', boundary, recovery: { action: 'hand_to_buyer' } },
        });
        note('REST', `${method} ${path}`, '403 boundary_forbidden');
      }
    expect(await countAudited(boundary, 'rest')).toBe(before + paths.length * 4);
  });

  it('A forbidden act has no MCP tool or method, and each attempt is audited', async () => {
    const before = await countAudited(boundary, 'mcp');
    const mcp = mcpAgent(app, agent.key);
    for (const name of names) {
      const result = await mcp.call(name, { sku: 'MUG-1', idempotency_key: freshKey() });
      expect(result, name).toMatchObject({ isError: true });
      expect(JSON.parse(result.content[0]?.text ?? '')).toMatchObject({
        code: 'boundary_forbidden',
        boundary,
      });
      note('MCP', `tools/call ${name}`, 'boundary_forbidden');
      const { body } = await mcp.legacy(name, {});
      expect(body.error, name).toMatchObject({
        code: -32601,
        data: { code: 'boundary_forbidden' },
      });
      note('MCP', `method ${name}`, '-32601 boundary_forbidden');
    }
    expect(await countAudited(boundary, 'mcp')).toBe(before + names.length * 2);
  });

  it('A forbidden act has no A2A skill, action or method, and each attempt is audited', async () => {
    const before = await countAudited(boundary, 'a2a');
    for (const skill of names) {
      for (const data of [{ skill }, { skill: 'prepare_handoff', action: skill }]) {
        const { result } = await rpc<{ task: { status: object } }>(app, agent.key, 'SendMessage', {
          message: message(data),
        });
        expect(result.task.status, skill).toMatchObject({ state: 'TASK_STATE_REJECTED' });
        expect(JSON.stringify(result.task.status)).toContain('boundary_forbidden');
        note(
          'A2A',
          `SendMessage ${JSON.stringify(data)}`,
          'TASK_STATE_REJECTED boundary_forbidden',
        );
      }
      const { error } = await rpc(app, agent.key, skill, {});
      expect(error, skill).toMatchObject({ code: 40300 });
      note('A2A', `method ${skill}`, '40300 boundary_forbidden');
    }
    expect(await countAudited(boundary, 'a2a')).toBeGreaterThanOrEqual(before + names.length * 2);
  });
});

/** The operations that make records, and the field by which others name them. */
const FIELD_OF: ReadonlyMap<string, string> = new Map([
  ['request', 'outbound_id'],
  ['createHandoff', 'handoff_id'],
  ['createLink', 'link_id'],
]);

/** The records that an operation names, as far as there are some. */
const namedIn = (id: OperationId, newest: Record<string, string>): object =>
  Object.fromEntries(
    Object.entries(newest).filter(([field]) => field in agentOperations[id].input.shape),
  );

describe('An operation of agents', () => {
  it('An operation of agents refuses every field that could extend it to a forbidden act', async () => {
    for (const { id, examples, kind } of REGISTRY)
      for (const [field, value] of Object.entries(SMUGGLED)) {
        if (field in (agentOperations[id as OperationId].input as z.ZodObject).shape) continue;
        const input = { ...examples[0]?.input, [field]: value };
        const outcome = await asAgent(app, agent.key, id as OperationId, input);
        expect(outcome, `${id} ${field}`).toMatchObject({
          ok: false,
          code: kind === 'query' ? 'parameter_invalid' : 'validation_failed',
        });
        expect(JSON.stringify(outcome)).toContain(`/${field}`);
      }
  });

  it('An operation of agents writes only the events that its contract lists, in random stories over all operations', async () => {
    verifies('service.5');
    const surfaces = fc.constantFrom<Surface>('rest', 'mcp', 'a2a');
    const call = fc.oneof(
      ...REGISTRY.map(({ id, input, examples }) => {
        const schema = inputSchema({ input });
        const plausible = fc.constant({ ...examples[0]?.input, ...REAL[id] });
        return fc.tuple(
          fc.constant(id as OperationId),
          fc.oneof(plausible, valid(schema)),
          surfaces,
        );
      }),
    );
    /** The newest record of each kind, by the field that names it in the operations that change it. */
    const newest: Record<string, string> = {};
    const changed = /^(cancelOutbound|revise|withdraw|update)/;
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 5, maxLength: 25 }), async (calls) => {
        for (const [id, input, surface] of calls) {
          const callInput = {
            ...(input as object),
            ...(agentOperations[id].kind === 'command' && { idempotency_key: freshKey() }),
            ...(changed.test(id) && namedIn(id, newest)),
          };
          const outcome = await asAgent(app, agent.key, id, callInput, surface);
          const field = FIELD_OF.get(id.replace(/^request.*/, 'request'));
          if (outcome.ok && field) newest[field] = (outcome.value as { id: string }).id;
        }
      }),
      { numRuns: STORIES, seed: SEED },
    );
    const written = new Map<string, Set<string>>();
    for (const { type, meta } of await allEvents()) {
      expect(BUYER_EVENTS, `seed=${SEED} ${type} by ${meta.actor}`).not.toContain(type);
      if (!(meta.operation in agentOperations)) continue;
      written.set(meta.operation, (written.get(meta.operation) ?? new Set()).add(type));
    }
    for (const { id, kind, writes = [] } of REGISTRY) {
      const types = [...(written.get(id) ?? [])];
      expect(
        types.filter((type) => !writes.includes(type as EventType)),
        `seed=${SEED} ${id}`,
      ).toEqual([]);
      // Stories without any event would prove nothing.
      if (kind === 'command') expect(types.length, `seed=${SEED} ${id}`).toBeGreaterThan(0);
    }
  });

  it('An operation of agents cannot write other events even if its handler tries to', () => {
    const { deps } = app.service;
    const call = {
      ownerId: 'acme',
      actor: 'agt_1',
      surface: 'mcp' as const,
      requestId: 'r',
      at: 0,
    };
    for (const { id, writes = [] } of REGISTRY)
      for (const type of Object.keys(EVENTS) as EventType[]) {
        const write = () => attribute({ ...call, operation: id }, [{ type, data: {} }], deps.ids);
        if (writes.includes(type)) expect(write()).toHaveLength(1);
        else expect(write, `${id} ${type}`).toThrow(/would write/);
      }
  });

  it('An operation that no registry has cannot write any event', () => {
    const { ids } = app.service.deps;
    const call = { ownerId: 'acme', surface: 'mcp' as const, requestId: 'r', at: 0 };
    for (const actor of ['agt_1', 'buyer', 'visitor', 'system', 'desk:dtk_1'])
      for (const type of Object.keys(EVENTS) as EventType[]) {
        const unknown = { ...call, actor, operation: 'sendQuote' };
        expect(() => attribute(unknown, [{ type, data: {} }], ids), type).toThrow(/would write/);
      }
  });
});

/** Fields that make an example name existing records. */
const REAL: Record<string, object> = {
  createLink: { target: { kind: 'product', ref: 'MUG-1' }, slug: undefined },
  createHandoff: { line_items: [{ sku: 'MUG-1', quantity: 4 }], link_id: undefined },
  submitLead: { external_id: 'crm-1', source: { kind: 'agent' } },
  requestSocialPost: { text: 'Mugs', link_ids: [] },
  reviseHandoff: { line_items: [{ sku: 'MUG-1', quantity: 6 }] },
  createLinks: { links: [{ target: { kind: 'product', ref: 'MUG-1' } }] },
  updateLink: { target: { kind: 'search', ref: 'mug' } },
};

describe('The source of the agent interfaces', () => {
  const ENTRIES = [
    'src/registries/agents.ts',
    'src/interfaces/rest/routes.ts',
    'src/interfaces/mcp/routes.ts',
    'src/interfaces/a2a/routes.ts',
  ];

  it('The source of the agent interfaces reaches no code that acts for a buyer or at the desk', () => {
    const reached = reachedFrom(ENTRIES);
    expect(reached.length).toBeGreaterThan(50);
    const paths = reached.map(({ path }) => path);
    expect(
      paths.filter((path) =>
        /\.pages\.ts$|src\/registries\/holder|handoffs\/(buyer|submit-rfq|confirm-rfq)/.test(path),
      ),
    ).toEqual([]);
    const atTheDesk = reached.filter(({ text }) => /DeskHandler</.test(text));
    expect(atTheDesk.map(({ path }) => path)).toEqual([]);
    const commands =
      /'(SubmitRfq|ConfirmRfq|WithdrawRfq|DisownRfq|ConfirmByStaff|ReviseList|DeclineHandoff|OpenHandoff|Approve|Reject|RequestChanges|Observe|Dispatch)'/;
    const withCommands = reached.filter(
      ({ path, text }) => !/^src\/tasks\/|\.decider\.ts$/.test(path) && commands.test(text),
    );
    expect(withCommands.map(({ path }) => path)).toEqual([]);
    const events = new RegExp(`'(${BUYER_EVENTS.join('|')})'`);
    const named = reached.filter(({ text }) => events.test(text)).map(({ path }) => path);
    expect(named.filter((path) => !EVENT_READERS.test(path))).toEqual([]);
  });

  it('The source of the agent interfaces cannot name an operation of a buyer or of the desk', () => {
    const named = (app: AgentApp) => [
      // @ts-expect-error The interfaces of agents have no pipeline of buyers.
      app.holders,
      // @ts-expect-error The interfaces of agents have no pipeline of the desk.
      app.desk,
      // @ts-expect-error The agents' pipeline has no such operation.
      () => app.agents.budgetFor('submitRfq'),
      // @ts-expect-error The pipeline of tasks has no such operation.
      () => app.tasks.budgetFor('approveOutbound'),
    ];
    expect(named).toBeTypeOf('function');
    const offered = { ...agentOperations, ...recordOperations, ...taskOperations };
    for (const id of Object.keys({ ...holderOperations, ...deskOperations, ...systemWrites }))
      expect(offered).not.toHaveProperty(id);
  });

  it('The source of the agent interfaces is searched by a function that finds code of buyers where it is reachable', () => {
    expect(reachedFrom(['src/interfaces/pages.ts']).map(({ path }) => path)).toContain(
      'src/handoffs/review.pages.ts',
    );
    expect(reachedFrom(['src/registries/app.ts']).map(({ path }) => path)).toContain(
      'src/handoffs/submit-rfq.ts',
    );
  });

  it('The source of the agent interfaces has no operation, tool or skill named after a forbidden act, and only events of RFQs', () => {
    const named = (Object.keys(EVENTS) as EventType[]).filter((type) => boundaryOf(type));
    expect(named).toEqual([
      'RfqSubmittedByBuyer',
      ...RFQ_EVENTS,
      'GoodsAllocated',
      'LeadRfqObserved',
    ]);
    const offers = Object.values({ ...agentOperations, ...recordOperations, ...taskOperations });
    const mayWrite = new Set<string>(offers.flatMap(({ writes = [] }) => writes));
    expect(named.filter((type) => mayWrite.has(type))).toEqual([]);
    const offered = [
      ...REGISTRY.flatMap((operation) => [operation.id, toolName(operation)]),
      ...Object.values(operations).map(({ http }) => http.path),
      ...Object.keys(SKILLS),
      ...Object.values(SKILLS).flatMap(({ tags }) => tags),
    ];
    expect(offered.filter((name) => boundaryOf(name))).toEqual([]);
  });
});

/** A path that no interface closes, and what it leads to. */
type Path = {
  what: string;
  steps: string[];
  agent_reads: object;
  staff_read?: string[];
  so: string;
};
const paths: Path[] = [];

describe('A program that acts as the buyer', () => {
  const PROGRAM = { 'content-type': 'application/x-www-form-urlencoded' };
  const NAMED = 'buyer@shop.example';
  const OWN = 'program@mail.example';
  type World = Awaited<ReturnType<typeof mailing>>;
  let world: World;
  beforeAll(async () => {
    world = await mailing();
    await configure(world.app, 'acme');
    world.start();
    world.startDeliveries();
  });
  afterAll(() => world.end());

  const create = (over: object = {}) =>
    asAgent(world.app, world.keys.live, 'createHandoff', {
      idempotency_key: freshKey(),
      title: 'Mugs',
      buyer: { email: NAMED },
      line_items: [{ sku: 'MUG-1', quantity: 48 }],
      ...over,
    }) as Promise<{ ok: true; value: { id: string; review_url?: string } }>;

  it('A program with the review link and its own mailbox makes a count, no value, and is named to staff in words', async () => {
    const { app: service, keys, live } = world;
    const { id, review_url = '' } = (await create()).value;
    const path = new URL(review_url).pathname;
    const steps = [`create_handoff that names ${NAMED}: it answers review_url`];
    const step = async (method: 'GET' | 'POST', url: string, payload?: string) => {
      const answer = await service.send({
        method,
        url,
        headers: PROGRAM,
        ...(payload !== undefined && { payload }),
      });
      if (answer.status >= 500) throw new Error(answer.text);
      return answer.status;
    };
    steps.push(`GET review_url without the headers of a browser: ${await step('GET', path)}`);
    const form = new URLSearchParams({ list_revision: '1', name: 'P', email: OWN, consent: 'yes' });
    const sent = await step('POST', `${path}/send`, form.toString());
    steps.push(`POST review_url/send with the mailbox ${OWN}: ${sent}`);
    await world.settle();
    const letter = live.sent.find(({ to }) => to === OWN);
    const link = /https:\/\/t\.example(\/rfq\/\S+)/.exec(letter?.text ?? '')?.[1] ?? '';
    const confirmed = await step('POST', `${link}/confirm`, 'list_revision=1');
    steps.push(`read the letter in that mailbox, and POST the link in it: ${confirmed}`);
    expect([sent, confirmed]).toEqual([303, 303]);
    await world.settle();

    const day = new Date(service.clock.now()).toISOString().slice(0, 10);
    const input = { from: day, to: day, granularity: 'total' };
    const report = (await asAgent(service, keys.live, 'getPerformance', input)) as {
      value: { data: { metrics: Record<string, unknown> }[] };
    };
    const { rfqs_submitted, rfqs_taken_up, rfq_value, won_value } =
      report.value.data[0]?.metrics ?? {};
    expect({ rfqs_submitted, rfqs_taken_up, rfq_value, won_value }).toEqual({
      rfqs_submitted: 1,
      rfqs_taken_up: 0,
      rfq_value: [],
      won_value: [],
    });
    const { body } = await service.desk('GET', `/handoffs/${id}/rfq?owner_id=acme`);
    const { evidence } = body as { evidence: string[] };
    expect(evidence).toEqual([
      'confirmed from a different mailbox than the one the agent named',
      "opened, sent and confirmed within 0 seconds of its creation by a client without a browser's headers",
    ]);
    paths.push({
      what: 'A program that holds the review link, and confirms with a mailbox of its own',
      steps,
      agent_reads: { rfqs_submitted, rfqs_taken_up, rfq_value, won_value },
      staff_read: evidence,
      so: 'A confirmed mailbox proves a mailbox, never a buyer. rfqs_taken_up and all values count only what staff did.',
    });
  });

  it('A program whose list the service delivers finds the link in no answer of any interface', async () => {
    const { app: service, keys } = world;
    const made = (await create({ deliver: true })).value;
    const { deps } = service.service;
    const token = reviewTokenOf(deps.secrets, made.id);
    const mcp = mcpAgent(service, keys.live);
    const reads = {
      'create_handoff with deliver': made,
      get_outbound_request: await asAgent(service, keys.live, 'getOutboundRequest', {
        outbound_id: made.id.replace('hnd_', 'out_'),
      }),
      'resources/read of the handoff': (
        await mcp.modern('resources/read', { uri: `tributary://handoffs/${made.id}` })
      ).body,
      'SendMessage with attribution_question': await rpc(service, keys.live, 'SendMessage', {
        message: message({ skill: 'attribution_question', handoff_id: made.id }),
      }),
    };
    const steps = Object.entries(reads).map(([name, answer]) => {
      const text = JSON.stringify(answer);
      expect(text, name).toContain(made.id);
      return `${name}: ${text.includes(token) ? 'the link' : 'no link'}`;
    });
    expect(steps.filter((step) => step.endsWith('the link'))).toEqual([]);
    paths.push({
      what: 'A program whose list the service delivers',
      steps,
      agent_reads: { review_url: null },
      so: 'The letter alone has the link: it is made when the letter is sent.',
    });
  });
});

/** Schemas, deciders and folds, which read these events and cannot append any. */
const EVENT_READERS = /^(contracts\/|projections\/)|\.decider\.ts$|src\/tasks\/|\/attribution\.ts$/;

describe('The report of forbidden acts', () => {
  it('The report of forbidden acts equals contracts/published/boundaries.json', async () => {
    const report = {
      title: 'What no agent can do here',
      boundaries: BOUNDARIES,
      kept_by: [
        'No interface of agents has such an operation, tool, skill or method: see attempts.',
        'What an operation may write is listed in its contract (may_write) and held against every event before it is appended: src/writing/attribution.ts.',
        'Events of buyers are written only for whoever holds the review link, never for a credential: src/web/holder-admission.ts.',
        'The source behind the agent interfaces reaches no code that acts for a buyer or at the desk.',
        `${STORIES} random stories over every operation left no event that is not listed (seed ${PUBLISHED_SEED}).`,
      ],
      shown_by: 'test/faults/boundaries.test.ts',
      only_by_buyers: BUYER_EVENTS,
      operations: REGISTRY.map(({ id, kind, scope, writes = [] }) => ({
        operation: id,
        tool: toolName({ id }),
        kind,
        scope,
        may_write: writes,
      })),
      fields_refused: Object.keys(SMUGGLED),
      paths: paths,
      attempts,
    };
    expect(attempts.length).toBeGreaterThan(100);
    expect(paths).toHaveLength(2);
    await expect(`${JSON.stringify(report, null, 2)}\n`).toMatchFileSnapshot(
      '../../contracts/published/boundaries.json',
    );
  });
});
