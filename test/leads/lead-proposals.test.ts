/** Wins and corrections of leads that need a second person. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AppDeps } from '#src/registries/app.ts';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { serverOver } from '../support/world/server-over.ts';

const V1 = '/api/affiliate/v1';
const GBP = (amount: number) => ({ amount, currency: 'GBP' });

let app: TestApp;
let key: string;
const people: Record<string, string> = {};

beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
  for (const name of ['Ann', 'Ben']) {
    const { body } = await app.desk('POST', '/desk-tokens', { name, roles: ['staff'] });
    people[name] = (body as { token: string }).token;
  }
  people['machine'] = app.deskToken;
});
afterAll(() => app.close());

type Lead = Record<string, unknown> & { id: string; version: number };
const EXTERNAL_ID = 'crm-large';
const submit = async (external_id: string): Promise<string> => {
  const payload = { external_id, company: { name: 'Shop', country: 'GB' } };
  const headers = { 'idempotency-key': freshKey() };
  const { body } = await app.send({ method: 'POST', url: `${V1}/leads`, key, payload, headers });
  const { id } = body as Lead;
  for (const to of ['accepted', 'contacted', 'qualified'])
    await app.desk('POST', `/leads/${id}/move`, { owner_id: 'acme', to });
  return id;
};
/** Acts over a server with a limit of 10 GBP, as one of the people. */
const actAs = async (person: string, id: string, verb: string, fields: object) => {
  const deps: AppDeps = { ...app.service.deps, approval: { above: [GBP(1_000)] } };
  const { statusCode, body } = await serverOver(deps).inject({
    method: 'POST',
    url: `/api/desk/v1/leads/${id}/${verb}`,
    payload: { owner_id: 'acme', ...fields },
    headers: { authorization: `Bearer ${people[person]}`, 'idempotency-key': freshKey() },
  });
  return { status: statusCode, body: JSON.parse(body) as Record<string, unknown> };
};
const shownToAgent = async (external_id: string): Promise<unknown> => {
  const url = `${V1}/leads?external_id=${external_id}`;
  return ((await app.send({ method: 'GET', url, key })).body as { data: unknown[] }).data;
};
const waiting = async (): Promise<unknown[]> =>
  ((await app.desk('GET', '/leads?needs_approval=true')).body as { data: unknown[] }).data;
const read = async (id: string) => (await app.desk('GET', `/leads/${id}`)).body;

describe('A lead that is won without an RFQ', () => {
  it('A lead that is won without an RFQ waits for another person, and its agent sees nothing of that', async () => {
    const id = await submit(EXTERNAL_ID);
    const before = await shownToAgent(EXTERNAL_ID);
    const win = { to: 'won', value: GBP(1_001), reason: 'Large order' };
    expect(await actAs('Ann', id, 'move', win)).toMatchObject({
      status: 200,
      body: { state: 'qualified', proposed: { number: 1, to: 'won', value: GBP(1_001) } },
    });
    expect(await shownToAgent(EXTERNAL_ID)).toEqual(before);
    expect(await waiting()).toMatchObject([{ id, needs_approval: true }]);
    const { body: others } = await app.desk('GET', '/leads?needs_approval=false');
    expect(others).toMatchObject({ data: [] });
    expect(await read(id)).toMatchObject({
      state: 'qualified',
      proposed: { number: 1, is_correction: false, by_name: 'Ann', reason: 'Large order' },
    });
    expect(await actAs('Ann', id, 'approve', { proposal: 1 })).toMatchObject({
      status: 403,
      body: { code: 'approver_not_independent' },
    });
    expect(await actAs('machine', id, 'approve', { proposal: 1 })).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining("The machine's own token is no person") },
    });
    expect(await actAs('Ben', id, 'approve', { proposal: 1 })).toMatchObject({
      status: 200,
      body: { state: 'won' },
    });
    expect(await shownToAgent(EXTERNAL_ID)).toMatchObject([
      { state: 'won', outcome_value: GBP(1_001), state_reason: 'Large order' },
    ]);
    expect(await waiting()).toEqual([]);
  });

  it('A lead that is won without an RFQ stays as it is when another person refuses', async () => {
    const id = await submit(freshKey());
    await actAs('Ann', id, 'move', { to: 'won', value: GBP(5_000) });
    const refused = await actAs('Ben', id, 'refuse', { proposal: 1, reason: 'Too high' });
    expect(refused.body).toEqual({ id, owner_id: 'acme', state: 'qualified' });
    expect(await actAs('Ben', id, 'approve', { proposal: 1 })).toMatchObject({ status: 409 });
    expect(await read(id)).not.toHaveProperty('proposed');
    await actAs('Ann', id, 'move', { to: 'lost' });
  });
});

describe('The correction of a lead above APPROVAL_ABOVE', () => {
  it('The correction of a lead above APPROVAL_ABOVE brings the lead back to the inbox until another person approves it', async () => {
    const id = await submit(freshKey());
    await actAs('Ann', id, 'move', { to: 'won', value: GBP(1_000) });
    await actAs('Ben', id, 'approve', { proposal: 1 });
    expect(await waiting()).toEqual([]);
    const more = { to: 'won', value: GBP(2_000), reason: 'Ordered again' };
    expect(await actAs('Ann', id, 'correct', more)).toMatchObject({
      body: { state: 'won', proposed: { to: 'won', value: GBP(2_000), is_correction: true } },
    });
    expect(await waiting()).toMatchObject([{ id, state: 'won', needs_approval: true }]);
    expect(await read(id)).toMatchObject({ outcome_value: GBP(1_000) });
    expect(await actAs('Ben', id, 'approve', { proposal: 2 })).toMatchObject({
      body: { state: 'won' },
    });
    expect(await read(id)).toMatchObject({ outcome_value: GBP(2_000) });
    expect(await waiting()).toEqual([]);
  });
});
