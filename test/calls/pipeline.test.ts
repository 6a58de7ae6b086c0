/*
 * What the pipeline guarantees for each operation, actor and surface. The rules of each actor are the
 * real ones; the handlers return the outcome of the row.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { holderOperations } from '#contracts/registries/holders.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import { agentOperations, recordOperations } from '#contracts/registries/agents.ts';
import type { Actor, Declared } from '#contracts/operation.ts';
import { PROBLEMS, type ProblemCode, UNIVERSAL_PROBLEMS } from '#contracts/problems.ts';
import { taskOperations } from '#contracts/tasks/operations.ts';
import { visitorOperations } from '#contracts/registries/visitors.ts';
import { concurrency, limiter, overload } from '#src/calls/limits.ts';
import {
  agentRules,
  deskRules,
  holderRules,
  type ActorRules,
  type ActorTypes,
  type RegistryOf,
  type Signatures,
} from '#src/calls/rules.ts';
import type { Audit } from '#src/calls/audit.ts';
import { authenticator } from '#src/calls/authenticate.ts';
import type { Admission, Arrival, Caller, Surface } from '#src/shared/call.ts';
import { done, type Outcome, refuse } from '#src/shared/outcome.ts';
import { Pipeline, VisitorPipeline } from '#src/calls/pipeline.ts';
import { taskRules } from '#src/tasks/send-message.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import type { Waits } from '#src/ports/system.ts';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { INPUTS_BY_OPERATION } from '../support/world/operation-inputs.ts';

type AnyRegistry = Readonly<Record<string, Declared>>;
/** A pipeline of any registry, for any caller. */
type AnyPipeline = Pick<
  Pipeline<Signatures, ActorTypes>,
  'admit' | 'perform' | 'performInside' | 'conclude'
>;
type AuditRecord = Parameters<Audit['record']>;

/** What a token can do: its caller here has no session. */
const byToken = Object.fromEntries(
  Object.entries(deskOperations).filter(
    // The token of the test is no promoter's.
    ([, operation]) =>
      !('isOnPage' in operation) && operation.roles.some((role) => role !== 'owner'),
  ),
);

/** The actor and the surfaces of each registry. */
const REGISTRIES: Record<string, { registry: AnyRegistry; actor: Actor; surfaces: Surface[] }> = {
  agent: { registry: agentOperations, actor: 'agent', surfaces: ['rest', 'mcp', 'a2a'] },
  record: { registry: recordOperations, actor: 'agent', surfaces: ['mcp'] },
  task: { registry: taskOperations, actor: 'agent', surfaces: ['a2a'] },
  desk: { registry: byToken, actor: 'desk', surfaces: ['desk', 'cli'] },
  holder: { registry: holderOperations, actor: 'holder', surfaces: ['portal'] },
  visitor: { registry: visitorOperations, actor: 'visitor', surfaces: ['portal'] },
};

type Row = { registry: string; id: string; surface: Surface };
/** The operations of each registry, over each surface of its actor. */
const GROUPS = Object.entries(REGISTRIES).flatMap(([registry, { registry: all, surfaces }]) =>
  surfaces.map((surface) => ({
    registry,
    surface,
    rows: Object.keys(all).map((id): Row => ({ registry, id, surface })),
  })),
);
type Group = (typeof GROUPS)[number];

/** Checks each operation of a group; a failure names the operation. */
const checkEach =
  (check: (row: Row) => void | Promise<void>) =>
  async ({ rows }: Group): Promise<void> => {
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows)
      try {
        await check(row);
      } catch (error) {
        throw new Error(`${row.id}: ${(error as Error).message}`, { cause: error });
      }
  };

const operationIn = ({ registry, id }: Row): Declared => {
  const operation = REGISTRIES[registry]?.registry[id];
  if (!operation) throw new Error(`no ${id}`);
  return operation;
};

const inputFor = (row: Row): Record<string, unknown> => {
  const { examples = [] } = operationIn(row) as Declared & { examples?: { input: object }[] };
  const input = INPUTS_BY_OPERATION[row.id] ?? examples[0]?.input ?? {};
  return 'idempotency_key' in input ? { ...input, idempotency_key: freshKey() } : { ...input };
};

const PER_MINUTE = 3;
const AT_ONCE = 2;
const WAIT_MS_MAX = 250;
const NO_WAITS: Waits = {
  eventLoop: () => 0,
  reads: () => 0,
  appends: () => 0,
  calls: { count: 16 },
};
let app: TestApp;
let credentials: Record<Actor, string | undefined>;
beforeAll(async () => {
  app = await testApp();
  const { key } = await app.agent('acme');
  credentials = {
    agent: key,
    desk: app.deskToken,
    holder: 'a-review-token',
    visitor: undefined,
  };
});
afterAll(() => app.close());

/** A pipeline of one registry whose handlers run `work`, with its audit records. */
const world = (
  { registry: name }: Row,
  work: () => Promise<Outcome<unknown>>,
  waits: Waits = NO_WAITS,
) => {
  const deps = { ...app.service.deps };
  const clock = () => 0;
  const few = () => limiter({ count: PER_MINUTE, per: 'minute' }, clock);
  const accounts = authenticator(deps);
  const atOnce = {
    query: concurrency(AT_ONCE, clock),
    command: concurrency(AT_ONCE, clock),
  };
  const agents = agentRules(deps, accounts, {
    read: few(),
    write: few(),
    outreach: few(),
    atOnce,
    recordAnswer: async () => undefined,
  });
  const none = () => {
    throw new Error('no call inside a call here');
  };
  const rules: Record<string, unknown> = {
    agent: agents,
    record: agents,
    task: taskRules(deps, agents, { agents: {} as never, tasks: none }),
    desk: deskRules(deps, accounts, { read: few(), write: few(), atOnce }),
    holder: holderRules(deps, few()),
  };
  const registry = (REGISTRIES[name]?.registry ?? {}) as RegistryOf<Signatures, Declared>;
  const handlers = Object.fromEntries(Object.keys(registry).map((id) => [id, work]));
  const overloaded = overload(waits, WAIT_MS_MAX);
  const records: AuditRecord[] = [];
  const record: Audit['record'] = (...audited) => void records.push(audited);
  if (name === 'visitor') {
    const visitors = new VisitorPipeline({ deps, registry, handlers, overload: overloaded });
    return { pipeline: ofVisitors(visitors), records };
  }
  const pipeline: AnyPipeline = new Pipeline<Signatures, ActorTypes>({
    deps,
    registry,
    handlers,
    rules: rules[name] as ActorRules<ActorTypes>,
    audit: { record, flush: async () => {} },
    limiters: { unauthenticated: few(), failed: few() },
    overload: overloaded,
  });
  return { pipeline, records };
};

/** The pipeline of visitors in the form of the others. */
const ofVisitors = (
  visitors: VisitorPipeline<Signatures, typeof app.service.deps>,
): AnyPipeline => ({
  async admit(arrival, id) {
    const headers = {};
    const refusal = visitors.admit(id as string);
    if (refusal) return { ...refusal, headers };
    return done({ arrival, caller: { kind: 'visitor' }, headers, isAudited: false });
  },
  perform: (admission, id, { input }) => visitors.perform(id, { ...admission.arrival, input }),
  performInside: (id, incoming) => visitors.perform(id, incoming),
  conclude: () => undefined,
});

const arrivalAt = (surface: Surface, credential: string | undefined): Arrival => ({
  surface,
  requestId: app.service.deps.ids.uuid(),
  credential,
  address: '192.0.2.1',
});

const admit = (pipeline: AnyPipeline, row: Row): Promise<Outcome<Admission<Caller>>> => {
  const actor = REGISTRIES[row.registry]?.actor ?? 'visitor';
  return pipeline.admit(arrivalAt(row.surface, credentials[actor]), row.id);
};

/** Admits and performs the operation of a row. */
const call = async (pipeline: AnyPipeline, row: Row): Promise<Outcome<unknown>> => {
  const admitted = await admit(pipeline, row);
  return admitted.ok
    ? pipeline.perform(admitted.value, row.id, { input: inputFor(row) })
    : admitted;
};

/** Registries whose callers are neither limited nor audited. */
const UNLIMITED = ['visitor'];

/** The number of audit records of a refusal: reads of holders of a link leave none. */
const auditedRefusals = (row: Row): number => {
  if (UNLIMITED.includes(row.registry)) return 0;
  return row.registry === 'holder' && operationIn(row).kind === 'query' ? 0 : 1;
};

const codesOf = (records: AuditRecord[]): (string | undefined)[] =>
  records.map(([, , outcome]) => (outcome.ok ? 'ok' : outcome.code));

describe('The pipeline', () => {
  it('The pipeline contains operations of every registry, each declared for the actor of its registry', () => {
    for (const { rows } of GROUPS)
      for (const row of rows)
        expect(operationIn(row).actors, row.id).toEqual([REGISTRIES[row.registry]?.actor]);
  });

  it.each(GROUPS)(
    'The pipeline returns and audits once a refusal of the handler ($registry operations over $surface)',
    checkEach(async (row) => {
      const [code] = [...operationIn(row).problems, ...UNIVERSAL_PROBLEMS];
      const { pipeline, records } = world(row, async () => refuse(code, 'Refused by the test.'));
      expect(await call(pipeline, row)).toMatchObject({ ok: false, code });
      expect(codesOf(records)).toEqual(Array(auditedRefusals(row)).fill(code));
    }),
  );

  it.each(GROUPS)(
    'The pipeline throws on a code that the operation does not declare ($registry operations over $surface)',
    checkEach(async (row) => {
      const declared = new Set<string>([...operationIn(row).problems, ...UNIVERSAL_PROBLEMS]);
      const [code] = (Object.keys(PROBLEMS) as ProblemCode[]).filter(
        (known) => !declared.has(known),
      );
      const { pipeline, records } = world(row, async () =>
        refuse(code as ProblemCode, 'Undeclared.'),
      );
      await expect(call(pipeline, row)).rejects.toThrow('which it does not declare');
      expect(codesOf(records)).toEqual(Array(auditedRefusals(row)).fill('internal_error'));
    }),
  );

  it.each(GROUPS)(
    'The pipeline returns the problem of an outage ($registry operations over $surface)',
    checkEach(async (row) => {
      const outages = [
        { error: new LogUnavailable('fault', 'no', 'down'), code: 'storage_unavailable' },
        { error: new LogUnavailable('full', 'no', 'full'), code: 'storage_full' },
        { error: new LogUnavailable('replaced', 'no', 'other'), code: 'log_replaced' },
        { error: new ReadModelRebuilding('links'), code: 'read_model_rebuilding' },
      ];
      for (const { error, code } of outages) {
        const { pipeline, records } = world(row, () => Promise.reject(error));
        expect(await call(pipeline, row)).toMatchObject({ ok: false, code });
        expect(codesOf(records)).toEqual(Array(auditedRefusals(row)).fill(code));
      }
    }),
  );

  it.each(GROUPS)(
    'The pipeline refuses and audits once an input outside the schema ($registry operations over $surface)',
    checkEach(async (row) => {
      const work = vi.fn();
      const { pipeline, records } = world(row, work);
      const admitted = await admit(pipeline, row);
      if (!admitted.ok) throw new Error(admitted.detail);
      const input = { ...inputFor(row), no_such_field: 1 };
      const outcome = await pipeline.perform(admitted.value, row.id, { input });
      expect(outcome).toMatchObject({
        ok: false,
        code: expect.stringMatching(/^(parameter_invalid|validation_failed)$/),
      });
      expect(work).not.toHaveBeenCalled();
      pipeline.conclude(admitted.value, row.id, outcome);
      expect(records).toHaveLength(auditedRefusals(row));
    }),
  );

  it.each(GROUPS)(
    'The pipeline limits calls before the body is read, and audits each refusal once ($registry operations over $surface)',
    checkEach(async (row) => {
      const { pipeline, records } = world(row, async () => done({}));
      const answers = await Promise.all(
        Array.from({ length: PER_MINUTE + 1 }, () => admit(pipeline, row)),
      );
      const isLimited =
        !UNLIMITED.includes(row.registry) &&
        (row.registry !== 'holder' || operationIn(row).kind === 'command');
      const limited = answers.filter(({ ok }) => !ok);
      const codes = isLimited ? ['rate_limited'] : [];
      expect(limited.map((refusal) => 'code' in refusal && refusal.code)).toEqual(codes);
      expect(codesOf(records)).toEqual(codes);
    }),
  );

  it.each(GROUPS)(
    'The pipeline refuses what would wait too long, redirects last, and audits it once ($registry operations over $surface)',
    checkEach(async (row) => {
      const { kind, id } = operationIn(row);
      const max = id === 'visitLink' ? 4 * WAIT_MS_MAX : WAIT_MS_MAX;
      const queue = kind === 'query' && id !== 'visitLink' ? 'reads' : 'appends';
      const audited = UNLIMITED.includes(row.registry) ? [] : ['overloaded'];
      for (const waits of [
        { ...NO_WAITS, eventLoop: () => max + 1 },
        { ...NO_WAITS, eventLoop: () => max - 1, [queue]: () => 2 },
      ]) {
        const { pipeline, records } = world(row, async () => done({}), waits);
        expect(await admit(pipeline, row)).toMatchObject({
          code: 'overloaded',
          retryAfterS: expect.any(Number),
          headers: {},
        });
        expect(codesOf(records)).toEqual(audited);
      }
      const other = queue === 'reads' ? 'appends' : 'reads';
      const waits = { ...NO_WAITS, eventLoop: () => max, [other]: () => 10 * max };
      expect(await admit(world(row, async () => done({}), waits).pipeline, row)).toMatchObject({
        ok: true,
      });
    }),
  );

  it.each(GROUPS.filter(({ registry }) => ['agent', 'record', 'task', 'desk'].includes(registry)))(
    'The pipeline performs a few calls of a key at once, and refuses the rest with Retry-After ($registry operations over $surface)',
    checkEach(async (row) => {
      let finish = (): void => {};
      const working = new Promise<void>((resolve) => (finish = resolve));
      let started = 0;
      const { pipeline, records } = world(row, async () => {
        started += 1;
        await working;
        return refuse('resource_not_found', 'Refused by the test.');
      });
      const perform = async (): Promise<Outcome<unknown>> => {
        const admitted = await admit(pipeline, row);
        if (!admitted.ok) throw new Error(admitted.detail);
        return pipeline.perform(admitted.value, row.id, { input: inputFor(row) });
      };
      const first = Array.from({ length: AT_ONCE }, perform);
      expect(await perform()).toMatchObject({ code: 'rate_limited', retryAfterS: 1 });
      expect(codesOf(records)).toEqual(['rate_limited']);
      finish();
      await Promise.allSettled(first);
      expect(started).toBeLessThanOrEqual(AT_ONCE);
    }),
  );

  it.each(GROUPS)(
    'The pipeline neither limits nor audits a call inside a call ($registry operations over $surface)',
    checkEach(async (row) => {
      const [code] = [...operationIn(row).problems, ...UNIVERSAL_PROBLEMS];
      const { pipeline, records } = world(row, async () => refuse(code, 'Refused by the test.'));
      const admitted = await admit(pipeline, row);
      if (!admitted.ok) throw new Error(admitted.detail);
      const { caller } = admitted.value;
      for (let calls = 0; calls <= PER_MINUTE; calls += 1) {
        const incoming = { caller, surface: row.surface, requestId: 'r', input: inputFor(row) };
        expect(await pipeline.performInside(row.id, incoming)).toMatchObject({ code });
      }
      expect(records).toEqual([]);
    }),
  );

  it.each(GROUPS)(
    'The pipeline audits once a request that ends before perform ($registry operations over $surface)',
    checkEach(async (row) => {
      const { pipeline, records } = world(row, async () => done({}));
      const admitted = await admit(pipeline, row);
      if (!admitted.ok) throw new Error(admitted.detail);
      const malformed = refuse('malformed_json', 'The body is not JSON.');
      pipeline.conclude(admitted.value, row.id, malformed);
      pipeline.conclude(admitted.value, row.id, malformed);
      expect(codesOf(records)).toEqual(UNLIMITED.includes(row.registry) ? [] : ['malformed_json']);
    }),
  );

  it.each(GROUPS.filter(({ registry }) => ['agent', 'record', 'task', 'desk'].includes(registry)))(
    'The pipeline refuses a missing and an unknown credential without an audit record ($registry operations over $surface)',
    checkEach(async (row) => {
      const { pipeline, records } = world(row, async () => done({}));
      for (const [credential, code] of [
        [undefined, 'credential_missing'],
        ['trb_live_aaaaaaaaaaaa_aaaa', 'credential_invalid'],
      ] as const)
        expect(await pipeline.admit(arrivalAt(row.surface, credential), row.id)).toMatchObject({
          code,
        });
      expect(records).toEqual([]);
    }),
  );

  it.each(GROUPS)(
    'The pipeline audits an allowed call only if no event records it ($registry operations over $surface)',
    checkEach(async (row) => {
      const operation = operationIn(row) as Declared & {
        examples?: { output: unknown }[];
        readsPersonalData?: boolean;
        auditsInput?: boolean;
      };
      const position = (await app.service.deps.log.head()).position;
      const value = operation.examples?.[0]?.output ?? {};
      const { pipeline, records } = world(row, async () => ({
        ...done(value, operation.kind === 'command' ? { position } : {}),
        json: JSON.stringify(value),
        isChecked: true,
      }));
      expect(await call(pipeline, row)).toMatchObject({ ok: true });
      const expected = {
        agent: operation.kind === 'query' ? 1 : 0,
        record: 1,
        task: 1,
        desk: (operation.readsPersonalData ?? operation.auditsInput) ? 1 : 0,
        holder: 0,
        visitor: 0,
      }[row.registry];
      expect(records).toHaveLength(expected ?? 0);
    }),
  );
});
