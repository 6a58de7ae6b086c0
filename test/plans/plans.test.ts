/** What staff plan for leads, RFQs and requests for access: whom it is assigned to, notes, next steps. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { buyerOver } from '../support/world/server-over.ts';

const V1 = '/api/affiliate/v1';
const ANN = 'ann@tributary.example';
type Row = Record<string, unknown> & { id: string; assigned_to?: string };

let app: TestApp;
let key: string;
let agentId: string;
let lead: string;
let rfq: string;
let owner: string;

const issue = async (token: object): Promise<string> =>
  ((await app.desk('POST', '/desk-tokens', token)).body as { token: string }).token;
const post = async <Body>(path: string, payload: object): Promise<Body> => {
  const headers = { 'idempotency-key': freshKey() };
  return (await app.send({ method: 'POST', url: V1 + path, key, payload, headers })).body;
};
const act = (id: string, verb: string, payload: object = {}) =>
  app.desk('POST', `/plans/${id}/${verb}`, payload);
const read = async (id: string) => (await app.desk('GET', `/plans/${id}`)).body;
const listed = async (path: string, token = app.deskToken): Promise<Row[]> => {
  const { status, body } = await app.send({
    method: 'GET',
    url: `/api/desk/v1${path}`,
    key: token,
  });
  expect(status, path).toBe(200);
  return (body as { data: Row[] }).data;
};
const auditedReads = async (): Promise<number> => {
  await app.service.deps.audit.flush();
  const events = await app.service.deps.log.readAll({ after: 0, limit: 100_000 });
  return events
    .filter(({ type }) => type === 'CallsAudited')
    .flatMap(({ data }) => (data as { entries: { operation: string; count: number }[] }).entries)
    .filter(({ operation }) => operation === 'readPlan')
    .reduce((sum, { count }) => sum + count, 0);
};

beforeAll(async () => {
  app = await testApp();
  ({ key, agentId } = await app.agent('acme'));
  await app.publish([feedProduct('MUG-1')]);
  await issue({ name: 'Ann', person_id: ANN, roles: ['staff'] });
  owner = await issue({ name: 'Acme', roles: ['owner'], owner_id: 'acme' });
  ({ id: lead } = await post<Row>('/leads', {
    external_id: 'crm-1',
    company: { name: 'Shop', country: 'GB' },
    contact: { name: 'Ada', email: 'ada@shop.example' },
    consent: { basis: 'consent', obtained_at: '2026-11-01T09:00:00Z' },
  }));
  const line_items = [{ sku: 'MUG-1', quantity: 4 }];
  const list = await post<Row & { review_url: string }>('/handoffs', { title: 'Mugs', line_items });
  rfq = list.id;
  const sent = {
    list_revision: 1,
    consent: true,
    contact: { name: 'Bea', email: 'bea@shop.example' },
  };
  expect(await buyerOver(app.service.deps, list.review_url).send(sent)).toMatchObject({ ok: true });
});
afterAll(() => app.close());

describe('A record that is assigned', () => {
  it('A record that is assigned is listed for its person, in every list of staff', async () => {
    const lists = [
      [lead, '/leads'],
      [rfq, '/rfqs'],
      [agentId, '/access-requests'],
    ] as const;
    for (const [id, path] of lists) {
      expect(await listed(`${path}?assigned_to=${ANN}`)).toEqual([]);
      expect(await act(id, 'assign', { person: 'Ann' })).toMatchObject({
        status: 200,
        body: { record_id: id, owner_id: 'acme', assigned_to: ANN, notes: 0 },
      });
      expect(await listed(`${path}?assigned_to=${ANN}`)).toMatchObject([{ assigned_to: ANN }]);
      expect(await listed(`${path}?assigned_to=ben`)).toEqual([]);
    }
    await act(rfq, 'assign');
    expect(await listed(`/rfqs?assigned_to=${ANN}`)).toEqual([]);
    expect(await read(rfq)).toEqual({ record_id: rfq, owner_id: 'acme', notes: [] });
  });

  it('An assignment names a person of the role staff', async () => {
    const refused = (person: string) => act(lead, 'assign', { person });
    for (const person of ['zoe@tributary.example', 'Acme'])
      expect(await refused(person)).toMatchObject({
        status: 422,
        body: { code: 'validation_failed', errors: [{ pointer: '/person', code: 'not_found' }] },
      });
    await issue({ name: 'Ann', person_id: 'other-ann', roles: ['staff'] });
    expect(await refused('Ann')).toMatchObject({ body: { errors: [{ code: 'ambiguous' }] } });
    expect(await act(lead, 'assign', { person: ANN })).toMatchObject({ status: 200 });
  });
});

describe('A next step', () => {
  it('A next step is found by the time at which it is due, until it is done', async () => {
    const due_at = '2026-12-01T09:00:00.000Z';
    for (const [id, path] of [
      [lead, '/leads'],
      [rfq, '/rfqs'],
    ] as const) {
      await act(id, 'next-step', { due_at, step: 'Call about the samples' });
      expect(await listed(`${path}?due_by=${due_at}`)).toMatchObject([{ due_at }]);
      expect(await listed(`${path}?due_by=2026-12-01T08:59:59Z`)).toEqual([]);
      expect(await read(id)).toMatchObject({
        next_step: { due_at, step: 'Call about the samples' },
      });
      await act(id, 'next-step/done');
      expect(await listed(`${path}?due_by=${due_at}`)).toEqual([]);
      expect(await read(id)).not.toHaveProperty('next_step');
    }
  });
});

describe('Notes', () => {
  it('Notes are shown newest first with their author, in audited reads, and no list contains them', async () => {
    await act(lead, 'notes', { note: 'Asked for samples' });
    expect(await act(lead, 'notes', { note: 'Samples sent' })).toMatchObject({
      body: { notes: 2 },
    });
    const before = await auditedReads();
    expect(await read(lead)).toMatchObject({
      notes: [{ note: 'Samples sent', by_name: 'the machine' }, { note: 'Asked for samples' }],
    });
    expect(await auditedReads()).toBe(before + 1);
    expect(JSON.stringify(await listed('/leads'))).not.toContain('amples');
    const proof = 'Called back';
    const found = await app.desk('POST', '/privacy/export', { mailbox: 'ada@shop.example', proof });
    expect(found.body).toMatchObject({ data: [{ notes: ['Samples sent', 'Asked for samples'] }] });
  });

  it('Notes are erased with their record, and none can be added afterwards', async () => {
    await act(lead, 'next-step', { due_at: '2026-12-01T09:00:00Z', step: 'Call Ada' });
    await app.desk('POST', `/subjects/${lead}/erase`, { reason: 'Asked' });
    expect(await read(lead)).toMatchObject({
      next_step: { step: '[erased]' },
      notes: [{ note: '[erased]' }, { note: '[erased]' }],
    });
    expect(await act(lead, 'notes', { note: 'Ada called' })).toMatchObject({
      status: 409,
      body: { code: 'state_conflict' },
    });
  });

  it('Notes are refused for a request for access and for a record that does not exist', async () => {
    expect(await act(agentId, 'notes', { note: 'Ada asked' })).toMatchObject({ status: 409 });
    for (const id of ['led', 'hnd', 'agt'])
      expect(await act(`${id}_${'0'.repeat(24)}`, 'assign')).toMatchObject({ status: 404 });
  });
});

describe('A plan', () => {
  it('A plan is hidden from the token of an owner, and changes nothing that an agent sees', async () => {
    const shown = async () =>
      (await app.send({ method: 'GET', url: `${V1}/leads`, key })).body as { data: unknown };
    const { data: before } = await shown();
    await act(lead, 'assign', { person: ANN });
    const [row] = await listed('/leads', owner);
    expect(row).toMatchObject({ id: lead });
    for (const member of ['assigned_to', 'due_at']) expect(row).not.toHaveProperty(member);
    expect(await listed(`/leads?assigned_to=${ANN}`, owner)).toEqual([]);
    const url = `/api/desk/v1/plans/${lead}`;
    expect(await app.send({ method: 'GET', url, key: owner })).toMatchObject({ status: 403 });
    expect((await shown()).data).toEqual(before);
  });
});
