/** An event that a read model cannot fold: shown at the desk, tried again, and left out by two people. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { NO_STREAM } from '#src/ports/event-log.ts';
import { openFileForAudits } from '#src/wiring/audit-file.ts';
import { askFile } from '#src/audits/file-desk.ts';
import { exported } from '../support/audit/export.ts';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { person } from '../support/world/outreach.ts';
import { HANG_MS } from '../support/hang.ts';

const REASON = 'Written twice by the import of May';

let app: TestApp;
let [ada, ben] = ['', ''];
let agent: Awaited<ReturnType<TestApp['agent']>>;
/** The event that no fold accepts, and its id. */
let bad: { position: number; event_id: string; stream: string; type: string };
let since: string;

const ask = (key: string, method: 'GET' | 'POST', path: string, payload?: object) =>
  app.send({
    method,
    url: `/api/desk/v1${path}`,
    key,
    ...(payload && { payload, headers: { 'idempotency-key': freshKey() } }),
  });
const leads = () => app.send({ method: 'GET', url: '/api/affiliate/v1/leads', key: agent.key });
const submit = () =>
  app.send({
    method: 'POST',
    url: '/api/affiliate/v1/leads',
    key: agent.key,
    headers: { 'idempotency-key': freshKey() },
    payload: {
      external_id: freshKey(),
      company: { name: 'A', country: 'DE' },
      source: { kind: 'manual' },
    },
  });
const propose = (key: string, over: object = {}) =>
  ask(key, 'POST', '/projections/leads/skip', { event: bad.event_id, reason: REASON, ...over });
const approve = (key: string, readModel = 'leads', event = bad.event_id) =>
  ask(key, 'POST', `/projections/${readModel}/skip/approve`, { event });
const parked = async () => {
  const { status, body, text } = await ask(ada, 'GET', '/projections/parked');
  expect(status, text).toBe(200);
  return body as { data: { name: string; proposed?: object }[]; skipped: object[] };
};

/** Appends an event that no fold accepts, like a bug or a newer version could. */
const poison = async () => {
  const { log, ids, following, clock } = app.service.deps;
  const digits = '0'.repeat(24);
  const data = { lead_id: `led_${digits}`, agent_id: agent.agentId, dims: {} };
  const at = clock.now();
  const meta = { at, actor: 'x', surface: 'cli', operation: 'x', request: 'x', v: 1 } as const;
  const event = { id: ids.uuid(), type: 'LeadContacted', data, meta };
  const stream = `acme-lead_${digits}`;
  const result = await log.append(stream, NO_STREAM, [event]);
  if (result.outcome !== 'appended') throw new Error('the stream was taken');
  await following.passed(result.position, HANG_MS);
  const since = new Date(at).toISOString();
  return {
    event: { position: result.position, event_id: event.id, stream, type: event.type },
    since,
  };
};

/** Proposes and approves the skip of the event in every read model that it parks. */
const skipEverywhere = async (): Promise<string[]> => {
  const names = (await parked()).data.map(({ name }) => name);
  for (const name of names) {
    const proposed = { event: bad.event_id, reason: REASON };
    const { status } = await ask(ada, 'POST', `/projections/${name}/skip`, proposed);
    expect(status).toBe(200);
    expect(await approve(ben, name)).toMatchObject({ status: 200, body: { state: 'skipped' } });
  }
  return names;
};

beforeEach(async () => {
  app = await testApp();
  agent = await app.agent('acme');
  [ada, ben] = [await person(app, ['operator']), await person(app, ['operator'])];
  expect(await submit()).toMatchObject({ status: 201 });
  ({ event: bad, since } = await poison());
});
afterEach(() => app.close());

it('A parked event is left out of a read model once two people decided so: reads answer again, and comparisons find equal rows', async () => {
  expect(await submit()).toMatchObject({ status: 201 });
  expect(await leads()).toMatchObject({ status: 503 });
  const named = { name: 'leads', ...bad };
  expect((await parked()).data).toContainEqual({
    ...named,
    partition: expect.any(Number) as number,
    since,
    reason: expect.stringMatching(/^LeadContacted: /) as string,
  });
  const proposed = await propose(ada);
  expect(proposed).toMatchObject({ status: 200, body: { ...named, state: 'proposed' } });
  expect(await leads()).toMatchObject({ status: 503 });
  const waiting = (await parked()).data.find(({ name }) => name === 'leads');
  expect(waiting?.proposed).toMatchObject({
    reason: REASON,
    by_name: expect.any(String) as string,
  });

  const approved = await approve(ben, 'leads', String(bad.position));
  expect(approved).toMatchObject({ status: 200, body: { ...named, state: 'skipped' } });
  expect(await leads()).toMatchObject({ status: 200, body: { data: [{}, {}] } });
  const after = await parked();
  expect(after.data.map(({ name }) => name)).not.toContain('leads');
  expect(after.skipped).toEqual([{ ...named, reason: REASON, state: 'skipped' }]);
  const { body } = await ask(ada, 'GET', '/projections');
  const { data } = body as { data: { name: string; skipped: number }[] };
  expect(data.find(({ name }) => name === 'leads')).toMatchObject({ skipped: 1, parked: [] });
  const { projections } = app.service.deps;
  let state = projections.verify('leads', 'run');
  while (!state.done) {
    await new Promise((turn) => setImmediate(turn));
    state = projections.verify('leads', 'run');
  }
  expect(state).toMatchObject({ mismatches: [] });
  expect(state).not.toHaveProperty('failure');
});

it('A skip needs another person: who proposed it, who depends on them, agents and other roles are refused, and nothing changes', async () => {
  expect(await propose(ada)).toMatchObject({ status: 200 });
  const refused = {
    status: 403,
    body: {
      code: 'approver_not_independent',
      detail: expect.stringMatching(/nother person/) as string,
    },
  };
  expect(await approve(ada)).toMatchObject(refused);
  // The machine's token is no person.
  expect(await approve(app.deskToken)).toMatchObject({
    status: 403,
    body: { code: 'approver_not_independent' },
  });
  for (const role of ['auditor', 'staff', 'owner', 'privacy']) {
    const other = await person(app, [role], role === 'owner' ? 'acme' : undefined);
    for (const answer of [await propose(other), await approve(other)])
      expect(answer, role).toMatchObject({ status: 403, body: { code: 'role_missing' } });
  }
  expect(await approve(agent.key)).toMatchObject({ status: 401 });
  expect(await leads()).toMatchObject({ status: 503 });
  expect((await parked()).skipped).toEqual([]);
});

it('A skip of what is not parked, of an unknown read model, without a proposal, or a second time is refused with what is wrong', async () => {
  const conflict = (detail: RegExp) => ({
    status: 409,
    body: { code: 'state_conflict', detail: expect.stringMatching(detail) as string },
  });
  const head = (await app.service.deps.log.head()).position;
  expect(await propose(ada, { event: '1' })).toMatchObject(
    conflict(/event 1 is not parked in leads/),
  );
  expect(await propose(ada, { event: String(head + 9) })).toMatchObject(conflict(/not parked/));
  expect(await propose(ada, { event: 'x' })).toMatchObject({ status: 422 });
  expect(
    await ask(ada, 'POST', '/projections/nothing/skip', { event: '1', reason: 'x' }),
  ).toMatchObject({
    status: 404,
    body: {
      detail: expect.stringMatching(
        /no read model nothing\. The read models are .*leads/,
      ) as string,
    },
  });
  expect(await approve(ben)).toMatchObject(conflict(/nobody has proposed/i));
  expect(await propose(ada)).toMatchObject({ status: 200 });
  expect(await propose(ben)).toMatchObject(conflict(/proposed already: another person approves/));
  expect(await approve(ben)).toMatchObject({ status: 200 });
  for (const again of [await approve(ben), await propose(ada)])
    expect(again).toMatchObject(conflict(/without this event already/));
});

it('A retry of parked events says for each that it is still parked, and why', async () => {
  const { body } = await ask(ada, 'POST', '/projections/retry', { name: 'leads' });
  expect(body).toMatchObject({
    retried: [
      {
        name: 'leads',
        ...bad,
        outcome: 'parked',
        reason: expect.stringMatching(/^LeadContacted: /) as string,
      },
    ],
  });
  expect(await ask(ada, 'POST', '/projections/retry', { name: 'links' })).toMatchObject({
    status: 200,
    body: { retried: [] },
  });
  expect(await ask(ada, 'POST', '/projections/retry', { name: 'nothing' })).toMatchObject({
    status: 404,
  });
});

it("An owner's history and an exported file leave a skipped event out, and refuse it before", async () => {
  const state = () => app.desk('GET', '/audit/state?owner_id=acme');
  const fromFile = async (moment: object = {}) => {
    const opened = await openFileForAudits(await exported(app, 'acme'));
    const answer = await askFile(opened.deps, 'auditState', {
      input: { owner_id: 'acme', ...moment },
      requestId: 'r',
    });
    opened.file.close();
    return answer;
  };
  const unavailable = { code: 'read_model_rebuilding' };
  expect(await state()).toMatchObject({ status: 503, body: unavailable });
  expect(await fromFile()).toMatchObject({ ok: false, ...unavailable });
  expect(await submit()).toMatchObject({ status: 201 });
  expect(await skipEverywhere()).toContain('leads');
  const live = await state();
  expect(live).toMatchObject({ status: 200 });
  expect(await fromFile()).toMatchObject({ ok: true });
  // A moment before the end is folded again.
  expect(await fromFile({ at: String(bad.position) })).toMatchObject({ ok: true });
  expect(live.text).not.toContain(bad.stream.slice(-24));
  const { projections } = app.service.deps;
  for (const owner of ['acme', undefined]) {
    const run = `run-${owner}`;
    let check = projections.check({ owner, sample: 1 }, run);
    while (!check.done) {
      await new Promise((turn) => setImmediate(turn));
      check = projections.check({ owner, sample: 1 }, run);
    }
    expect(check, run).not.toHaveProperty('failure');
    expect(check.difference, run).toBeUndefined();
  }
});
