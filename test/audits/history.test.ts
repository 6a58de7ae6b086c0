/** What auditors read of an owner's history: acts, changes and chains. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { person } from '../support/world/outreach.ts';

const OWNER = 'acme';
const V1 = '/api/affiliate/v1';

let app: TestApp;
let auditor: string;
let owner: string;
let agent: Awaited<ReturnType<TestApp['agent']>>;
let link: { id: string; code: string };
let handoff: { id: string };
let lead: { id: string };
let leadRequest: string;

type Answer = { status: number; body: never; text: string };
type Row = Record<string, unknown>;

const read = (path: string, key = auditor): Promise<Answer> =>
  app.send({ method: 'GET', url: `/api/desk/v1/audit${path}`, key });
const answered = async (path: string): Promise<Record<string, never> & { data: Row[] }> => {
  const { status, body, text } = await read(path);
  expect(status, text).toBe(200);
  return body;
};
const write = async (path: string, payload: object, key = agent.key) => {
  const headers = { 'idempotency-key': freshKey() };
  return app.send({ method: 'POST', url: V1 + path, key, payload, headers });
};
const bodyOf = async (sent: Promise<Answer>): Promise<never> => (await sent).body;
const headPosition = async (): Promise<number> => (await app.service.deps.log.head()).position;

let beforeLead: number;

beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1', { category: 'Mugs' })]);
  auditor = await person(app, ['auditor']);
  owner = await person(app, ['owner'], OWNER);
  agent = await app.agent(OWNER, ['links:write', 'handoffs:write', 'leads:write']);
  link = await bodyOf(
    write('/links', { target: { kind: 'search', ref: 'mug' }, campaign: 'autumn' }),
  );
  await app.send({
    method: 'GET',
    url: `/l/${link.code}`,
    headers: { 'user-agent': 'Mozilla/5.0 (X11) Firefox/140' },
  });
  handoff = await bodyOf(
    write('/handoffs', {
      title: 'Mugs',
      link_id: link.id,
      buyer: { company: 'Shop', email: 'bea@shop.example' },
      line_items: [{ sku: 'MUG-1', quantity: 8 }],
    }),
  );
  beforeLead = await headPosition();
  app.clock.advance(86_400_000);
  const submitted = await write('/leads', {
    external_id: 'crm-1',
    company: { name: 'Corner Shop', country: 'GB' },
    contact: { name: 'Bea Buyer', email: 'bea@shop.example' },
    consent: { basis: 'consent', obtained_at: '2026-11-01T00:00:00Z' },
    source: { kind: 'handoff', ref: handoff.id },
  });
  lead = submitted.body;
  leadRequest = submitted.headers['request-id'] ?? '';
  await app.send({ method: 'GET', url: `${V1}/leads`, key: agent.key });
  await app.desk('POST', `/leads/${lead.id}/move`, { owner_id: OWNER, to: 'accepted' });
  await app.service.deps.audit.flush();
});
afterAll(() => app.close());

describe('The history of an owner', () => {
  it("An owner's history lists acts and refusals with actor, key, surface, outcome and request", async () => {
    const { data } = await answered(`/history?owner_id=${OWNER}&limit=100`);
    expect(data.find(({ type }) => type === 'LeadSubmitted')).toMatchObject({
      actor: agent.agentId,
      agent_id: agent.agentId,
      agent_name: 'Test agent',
      key_id: agent.keyId,
      surface: 'rest',
      operation: 'submitLead',
      outcome: 'done',
      record: lead.id,
      request_id: leadRequest,
    });
    expect(data.find(({ operation }) => operation === 'listLeads')).toMatchObject({
      outcome: 'denied',
      code: 'scope_missing',
      key_id: agent.keyId,
    });
    // The token of the command line belongs to no person.
    expect(data.find(({ type }) => type === 'LeadAccepted')).toMatchObject({
      actor: expect.stringMatching(/^desk:/),
      actor_name: 'the machine',
    });
    const positions = data.map(({ position }) => Number(position));
    expect(positions).toEqual(positions.toSorted((a, b) => b - a));
  });

  it.each([
    ['kind=LeadAccepted', 1],
    ['kind=submitLead&outcome=done', 1],
    ['outcome=denied', 1],
    ['agent_id=AGENT&kind=LinkCreated', 1],
    ['record=LEAD', 2],
    ['request_id=REQUEST', 1],
    ['key_id=none', 0],
    ['from=POSITION', 3],
    ['to=POSITION&kind=LeadSubmitted', 0],
    ['from=2026-11-21&kind=LeadSubmitted', 1],
    ['to=2026-11-21&kind=LeadSubmitted', 0],
  ])("An owner's history answers the filter %s", async (filter, count) => {
    const query = filter
      .replace('AGENT', agent.agentId)
      .replace('LEAD', lead.id)
      .replace('REQUEST', leadRequest)
      .replace('POSITION', String(beforeLead));
    const { data } = await answered(`/history?owner_id=${OWNER}&limit=100&${query}`);
    expect(data).toHaveLength(count);
  });

  it.each(['Nothing', 'LeadSubmited', 'submitlead'])(
    "An owner's history refuses the unknown kind %s and names the known ones",
    async (kind) => {
      const { status, body } = await read(`/history?owner_id=${OWNER}&kind=${kind}`);
      expect(status).toBe(400);
      expect(body).toMatchObject({
        code: 'parameter_invalid',
        errors: [{ pointer: '/kind', detail: expect.stringMatching(/LeadSubmitted|submitLead/) }],
      });
    },
  );

  it("An owner's history accepts the type and the operation of each act as a kind", async () => {
    const { data } = await answered(`/history?owner_id=${OWNER}&limit=100`);
    const kinds = new Set(data.flatMap(({ type, operation }) => [String(type), String(operation)]));
    for (const kind of kinds)
      expect((await answered(`/history?owner_id=${OWNER}&kind=${kind}`)).data).not.toEqual([]);
    expect(kinds.size).toBeGreaterThan(10);
  });

  it("An owner's history refuses an actor that no act can have", async () => {
    expect((await read(`/history?owner_id=${OWNER}&actor=Mara`)).status).toBe(400);
  });

  it.each(['state?at=', 'history?to=', 'diff?from=0&to=', 'performance?at='])(
    "An owner's history is not answered as of a time later than now: %s",
    async (question) => {
      const { status, body } = await read(`/${question}2027-01-01&owner_id=${OWNER}`);
      expect(status).toBe(400);
      expect(body).toMatchObject({
        errors: [
          { code: 'out_of_range', detail: expect.stringContaining('later than now, 2026-') },
        ],
      });
    },
  );

  it("An owner's history answers the same acts in pages", async () => {
    const { data: all } = await answered(`/history?owner_id=${OWNER}&limit=100`);
    const paged: Row[] = [];
    for (let before = ''; ; ) {
      const page = await answered(`/history?owner_id=${OWNER}&limit=2${before}`);
      paged.push(...page.data);
      if (page['next_before'] === null) break;
      before = `&before=${String(page['next_before'])}`;
    }
    expect(paged).toEqual(all);
  });

  it("An owner's history is not found for an owner without events, or for another owner's token", async () => {
    expect((await read('/history?owner_id=nobody')).status).toBe(404);
    expect((await read('/history?owner_id=rival', owner)).status).toBe(404);
    expect((await read(`/history?owner_id=${OWNER}`, owner)).status).toBe(200);
  });

  it("The desk's history contains each audit and its question", async () => {
    await answered(`/history?owner_id=${OWNER}&kind=KeyRevoked`);
    await app.service.deps.audit.flush();
    const { data } = await answered('/history?owner_id=desk&kind=auditHistory&limit=100');
    const asked = data.map((act) => JSON.parse(String(act['asked'])) as Row);
    expect(asked).toContainEqual({ owner_id: OWNER, kind: 'KeyRevoked' });
  });
});

describe('The difference between two moments', () => {
  it("A comparison of two moments lists the changed records, who changed them, and their days' numbers", async () => {
    const diff = (await answered(`/diff?owner_id=${OWNER}&from=${beforeLead}`)) as Record<
      string,
      Row[]
    >;
    expect(diff['changes']).toMatchObject([
      {
        change: 'made',
        kind: 'lead',
        id: lead.id,
        name: 'Corner Shop',
        from: null,
        to: 'submitted',
        actor: agent.agentId,
        agent_name: 'Test agent',
        request_id: leadRequest,
      },
      { change: 'moved', id: lead.id, from: 'submitted', to: 'accepted', type: 'LeadAccepted' },
    ]);
    expect(diff['numbers']).toMatchObject([
      { day: '2026-11-21', metric: 'leads_submitted', from: 0, to: 1 },
      { day: '2026-11-21', metric: 'leads_accepted', from: 0, to: 1 },
    ]);
  });

  it('A comparison of two moments answers the same changes in pages', async () => {
    type Page = { changes: Row[]; next_after: number | null };
    const all = (await answered(`/diff?owner_id=${OWNER}&from=0`)) as never as Page;
    const paged: Row[] = [];
    for (let after = ''; ; ) {
      const page = (await answered(
        `/diff?owner_id=${OWNER}&from=0&limit=2${after}`,
      )) as never as Page;
      paged.push(...page.changes);
      if (page.next_after === null) break;
      after = `&after=${page.next_after}`;
    }
    expect(paged).toEqual(all.changes);
    expect(paged.length).toBeGreaterThan(5);
  });
});

describe('A trace', () => {
  type Trace = {
    events: (Row & { rows: Row[] })[];
    answer?: Row;
    audited: Row[];
    owner_id: string;
  };

  it('A trace of a lead contains its click, its list and its outcome, with the rows that each changed', async () => {
    const { events, answer } = (await answered(`/trace/${lead.id}`)) as never as Trace;
    expect(events.map(({ type, relation }) => `${String(relation)} ${String(type)}`)).toEqual([
      'cause LinkCreated',
      'cause VisitRecorded',
      'cause HandoffCreated',
      'subject LeadSubmitted',
      'subject LeadAccepted',
    ]);
    const accepted = events.at(-1)?.rows ?? [];
    expect(accepted.find((row) => row['read_model'] === 'leads')).toMatchObject({
      change: 'changed',
      members: expect.arrayContaining(['state', 'version']),
    });
    expect(accepted.find((row) => row['read_model'] === 'performance')).toMatchObject({
      change: 'added_to',
    });
    expect(answer).toMatchObject({
      operation: 'submitLead',
      value: { id: lead.id, state: 'submitted', contact: '[sealed]' },
    });
  });

  it('A trace of a request finds it by the time in its id, with and without the owner', async () => {
    for (const query of ['', `?owner_id=${OWNER}`]) {
      const trace = (await answered(`/trace/${leadRequest}${query}`)) as never as Trace;
      expect(trace.owner_id).toBe(OWNER);
      expect(
        trace.events.filter(({ relation }) => relation === 'subject').map(({ type }) => type),
      ).toContain('LeadSubmitted');
    }
  });

  it('A trace of a refused request contains its audit record', async () => {
    const { headers } = await app.send({ method: 'GET', url: `${V1}/leads`, key: agent.key });
    await app.service.deps.audit.flush();
    const trace = (await answered(`/trace/${headers['request-id']}`)) as never as Trace;
    expect(trace).toMatchObject({
      owner_id: OWNER,
      events: [],
      audited: [{ operation: 'listLeads', code: 'scope_missing' }],
    });
  });

  it('A trace is not found for the record of another owner', async () => {
    const rival = await person(app, ['owner'], 'rival');
    expect((await read(`/trace/${lead.id}`, rival)).status).toBe(404);
    expect((await read(`/trace/${leadRequest}`, rival)).status).toBe(404);
    expect((await read(`/trace/${lead.id}`, owner)).status).toBe(200);
  });
});

describe('Personal data', () => {
  const contactIn = async (query: string, key = auditor) => {
    const { status, body } = await read(`/state?owner_id=${OWNER}&kind=lead${query}`, key);
    if (status !== 200) return (body as { code: string }).code;
    return (body as { data: { record: Row }[] }).data[0]?.record['contact'];
  };

  it('Personal data is sealed, unless an auditor gives a reason, which is recorded', async () => {
    expect(await contactIn('')).toBe('[sealed]');
    expect(await contactIn('&reason=Dispute%204711', owner)).toBe('role_missing');
    expect(await contactIn('&reason=Dispute%204711')).toMatchObject({ email: 'bea@shop.example' });
    await app.service.deps.audit.flush();
    const { data } = await answered('/history?owner_id=desk&kind=auditState&limit=100');
    expect(data.map(({ asked }) => asked)).toContainEqual(expect.stringContaining('Dispute 4711'));
  });

  it('Personal data is erased after an erasure, and sealed before it', async () => {
    const before = await headPosition();
    await app.desk('POST', `/subjects/${lead.id}/erase`, { owner_id: OWNER, reason: 'On request' });
    expect(await contactIn('')).toBe('[erased]');
    expect(await contactIn(`&at=${before}`)).toBe('[sealed]');
    expect(await contactIn(`&at=${before}&reason=Dispute`)).toBe('[erased]');
  });
});

describe('An audit', () => {
  it('An audit that has ended has no progress, and that of another owner is not found', async () => {
    await answered(`/state?owner_id=${OWNER}`);
    expect(await answered(`/progress?owner_id=${OWNER}`)).toEqual({ reading: null });
    expect((await read('/progress?owner_id=rival', owner)).status).toBe(404);
  });

  it('An audit is refused a position beyond the log, and an invalid time', async () => {
    for (const at of ['999999', '2026-13-01', 'yesterday']) {
      const { status, body } = await read(`/state?owner_id=${OWNER}&at=${at}`);
      expect([status, (body as { code: string }).code]).toEqual([400, 'parameter_invalid']);
    }
  });

  it('An audit is refused a range that ends before it begins', async () => {
    for (const operation of ['diff', 'history', 'events']) {
      const { status, body } = await read(`/${operation}?owner_id=${OWNER}&from=9&to=8`);
      expect(status, operation).toBe(400);
      expect(body).toMatchObject({ errors: [{ pointer: '/from', code: 'out_of_range' }] });
    }
  });
});
