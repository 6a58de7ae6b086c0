import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AppDeps } from '#src/registries/app.ts';
import { includesType, interceptAppends } from '../support/appends.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { promptStreamQueue } from '../support/world/outreach-acts.ts';
import { win as winAt } from '../support/world/deals.ts';
import { buyerOver, serverOver } from '../support/world/server-over.ts';
import { verifies } from '../support/source/verifies.ts';

const V1 = '/api/affiliate/v1';
const VALUE = { amount: 49_690, currency: 'GBP' };
let app: TestApp;
let key: string;

beforeAll(async () => {
  app = await testApp();
  key = (await app.agent('acme')).key;
  await app.publish([feedProduct('MUG-1')]);
});
afterAll(() => app.close());

const post = async <Body>(path: string, payload: object): Promise<Body> => {
  const headers = { 'idempotency-key': freshKey() };
  return (await app.send({ method: 'POST', url: V1 + path, key, payload, headers })).body;
};
type Handoff = { id: string; review_url: string };
const handoff = () =>
  post<Handoff>('/handoffs', { title: 'Mugs', line_items: [{ sku: 'MUG-1', quantity: 48 }] });
const leadOf = async ({ id }: Handoff): Promise<string> => {
  const source = { kind: 'handoff', ref: id };
  const company = { name: 'Shop', country: 'GB' };
  return (await post<{ id: string }>('/leads', { external_id: freshKey(), source, company })).id;
};
const move = (leadId: string, to: string, more = {}) =>
  app.desk('POST', `/leads/${leadId}/move`, { owner_id: 'acme', to, ...more });
const moveRfq = (list: Handoff, to: string, more = {}) =>
  app.desk('POST', `/handoffs/${list.id}/rfq/move`, { to, ...more });
const win = async ({ id }: Handoff) =>
  expect(await winAt(app, { id, amount: VALUE.amount })).toMatchObject({
    status: 200,
    body: { state: 'won' },
  });
const sendRfq = ({ review_url }: Handoff, deps: AppDeps = app.service.deps) =>
  buyerOver(deps, review_url).request({
    list_revision: 1,
    consent: true,
    contact: { name: 'Bea Buyer', email: 'bea@shop.example' },
  });
/** The dependencies of the service, with another answer of the read model of handoffs. */
const withHandoffs = (answer: () => Promise<undefined>): AppDeps => {
  const { deps } = app.service;
  const get: AppDeps['readModels']['get'] = (name, scope, rowKey) =>
    name === 'handoff-leads' ? answer() : deps.readModels.get(name, scope, rowKey);
  return { ...deps, readModels: { ...deps.readModels, get } };
};
const shown = async (leadId: string): Promise<{ state: string } | undefined> => {
  const answer = await app.send({ method: 'GET', url: `${V1}/leads?limit=100`, key });
  return (answer.body as { data: { id: string; state: string }[] }).data.find(
    ({ id }) => id === leadId,
  );
};
const typesOf = async (leadId: string): Promise<string[]> => {
  const stored = await app.service.deps.log.readStream(`acme-lead_${leadId.slice(4)}`);
  return stored.map(({ type }) => type);
};

describe('A lead whose buyer sends the RFQ', () => {
  it('A lead whose buyer sends the RFQ before staff accept the lead becomes rfq_submitted with the acceptance, and is won with the RFQ', async () => {
    verifies('resources.lead');
    const list = await handoff();
    const leadId = await leadOf(list);
    await sendRfq(list);
    expect(await shown(leadId)).toMatchObject({ state: 'submitted' });
    const idempotency_key = freshKey();
    const accept = () =>
      app.send({
        method: 'POST',
        url: `/api/desk/v1/leads/${leadId}/move`,
        key: app.deskToken,
        payload: { owner_id: 'acme', to: 'accepted' },
        headers: { 'idempotency-key': idempotency_key },
      });
    const first = await accept();
    expect(first).toMatchObject({ status: 200, body: { state: 'rfq_submitted' } });
    const alone = await move(leadId, 'won', { value: VALUE });
    expect(alone).toMatchObject({ status: 409, body: { code: 'state_conflict' } });
    expect((alone.body as { detail: string }).detail).toContain(`RFQ of ${list.id}`);
    await win(list);
    expect((await accept()).text).toBe(first.text);
    expect(await typesOf(leadId)).toEqual([
      'LeadSubmitted',
      'LeadAccepted',
      'LeadRfqObserved',
      'LeadWon',
    ]);
    const query = `from=2026-11-20&granularity=total&handoff_id=${list.id}`;
    const numbers = await app.send({ method: 'GET', url: `${V1}/performance?${query}`, key });
    expect(numbers.body).toMatchObject({
      totals: { leads_won: 1, rfqs_won: 1, won_value: [VALUE] },
    });
  });

  it('A lead whose buyer sends the RFQ before the lead is submitted becomes rfq_submitted with the acceptance', async () => {
    const list = await handoff();
    await sendRfq(list);
    const leadId = await leadOf(list);
    expect(await shown(leadId)).toMatchObject({ state: 'submitted' });
    expect(await move(leadId, 'accepted')).toMatchObject({ body: { state: 'rfq_submitted' } });
    expect(await moveRfq(list, 'lost')).toMatchObject({ body: { state: 'lost' } });
    expect(await shown(leadId)).toMatchObject({ state: 'lost', state_reason: 'rfq_lost' });
  });

  it('A lead whose buyer sends the RFQ becomes rfq_submitted at once if it is accepted, like all leads of the same list', async () => {
    const list = await handoff();
    const leads = [await leadOf(list), await leadOf(list), await leadOf(await handoff())];
    for (const leadId of leads) await move(leadId, 'accepted');
    await sendRfq(list);
    const states = await Promise.all(leads.map(async (leadId) => (await shown(leadId))?.state));
    expect(states).toEqual(['rfq_submitted', 'rfq_submitted', 'accepted']);
  });

  it('A lead whose buyer sends the RFQ keeps its state while the leads of the list cannot be read, and is updated with its next move', async () => {
    const list = await handoff();
    const leadId = await leadOf(list);
    await move(leadId, 'accepted');
    const dead = withHandoffs(() => Promise.reject(new Error('gone')));
    expect(await sendRfq(list, dead)).toMatchObject({ ok: true });
    expect(await shown(leadId)).toMatchObject({ state: 'accepted' });
    app.clock.advance(91 * 86_400_000);
    expect(await move(leadId, 'contacted')).toMatchObject({ status: 409 });
    expect((await typesOf(leadId)).slice(-1)).toEqual(['LeadRfqObserved']);
  });

  it('A lead whose buyer sends the RFQ becomes rfq_submitted when the buyer sends again after a lost answer', async () => {
    const list = await handoff();
    const leadId = await leadOf(list);
    await move(leadId, 'accepted');
    await sendRfq(
      list,
      withHandoffs(() => Promise.resolve(undefined)),
    );
    expect(await shown(leadId)).toMatchObject({ state: 'accepted' });
    expect(await sendRfq(list)).toMatchObject({ ok: true });
    expect(await shown(leadId)).toMatchObject({ state: 'rfq_submitted' });
  });

  it('A lead whose buyer sends the RFQ becomes rfq_submitted, and is won with the RFQ, when an amendment named the list', async () => {
    const [early, late] = [await handoff(), await handoff()];
    const company = { name: 'Shop', country: 'GB' };
    const [sent, open] = [freshKey(), freshKey()];
    await post('/leads', { external_id: sent, company });
    await post('/leads', { external_id: open, company });
    await sendRfq(early);
    const amend = async (external_id: string, { id: ref }: Handoff) =>
      (
        await post<{ id: string }>('/leads', {
          external_id,
          company,
          source: { kind: 'handoff', ref },
        })
      ).id;
    const earlyLead = await amend(sent, early);
    const leadId = await amend(open, late);
    expect(await move(earlyLead, 'accepted')).toMatchObject({ body: { state: 'rfq_submitted' } });
    await move(leadId, 'accepted');
    await sendRfq(late);
    expect(await shown(leadId)).toMatchObject({ state: 'rfq_submitted' });
    await win(late);
    expect(await shown(leadId)).toMatchObject({ state: 'won' });
    const query = `from=2026-11-20&granularity=total&handoff_id=${late.id}`;
    const numbers = await app.send({ method: 'GET', url: `${V1}/performance?${query}`, key });
    expect(numbers.body).toMatchObject({
      totals: { leads_won: 1, rfqs_won: 1, won_value: [VALUE] },
    });
  });
});

describe('A move of a lead that changes nothing', () => {
  const moveBy = (idempotencyKey: string, leadId: string, to: string) =>
    app.send({
      method: 'POST',
      url: `/api/desk/v1/leads/${leadId}/move`,
      key: app.deskToken,
      payload: { owner_id: 'acme', to },
      headers: { 'idempotency-key': idempotencyKey },
    });

  /** Moves the lead in another process, whose commands do not wait for those of this one. */
  const moveElsewhere = (leadId: string, to: string) =>
    serverOver({ ...app.service.deps, streamQueue: promptStreamQueue() }).inject({
      method: 'POST',
      url: `/api/desk/v1/leads/${leadId}/move`,
      payload: { owner_id: 'acme', to },
      headers: { authorization: `Bearer ${app.deskToken}`, 'idempotency-key': freshKey() },
    });

  it('A move of a lead that changes nothing is answered on a retry like the first time, regardless of later changes', async () => {
    const list = await handoff();
    const leadId = await leadOf(list);
    for (const to of ['accepted', 'contacted', 'qualified']) await move(leadId, to);
    const again = freshKey();
    const first = await moveBy(again, leadId, 'qualified');
    expect(first).toMatchObject({ status: 200, body: { state: 'qualified' } });
    await sendRfq(list);
    const retry = await moveBy(again, leadId, 'qualified');
    expect([retry.status, retry.text]).toEqual([200, first.text]);
    expect(await moveBy(freshKey(), leadId, 'qualified')).toMatchObject({ status: 409 });
  });

  it('A move of a lead that changes nothing is answered on a retry like the first time, even if the RFQ arrived during the first call', async () => {
    const list = await handoff();
    const leadId = await leadOf(list);
    await move(leadId, 'accepted');
    const untold = withHandoffs(() => Promise.resolve(undefined));
    const racing = interceptAppends(app.service.deps.log, async (appends, write) => {
      if (includesType(appends, 'RequestBound')) {
        racing.restore();
        await sendRfq(list, untold);
      }
      return write(appends);
    });
    const again = freshKey();
    const first = await moveBy(again, leadId, 'accepted');
    expect(first).toMatchObject({ status: 200, body: { state: 'rfq_submitted' } });
    await moveRfq(list, 'lost');
    const retry = await moveBy(again, leadId, 'accepted');
    expect([retry.status, retry.text]).toEqual([200, first.text]);
  });

  it('A move of a lead that changes nothing is answered on a retry like the first time, even if another process made the change', async () => {
    const list = await handoff();
    const leadId = await leadOf(list);
    for (const to of ['accepted', 'contacted']) await move(leadId, to);
    const racing = interceptAppends(app.service.deps.log, async (appends, write) => {
      if (includesType(appends, 'LeadQualified')) {
        racing.restore();
        await moveElsewhere(leadId, 'qualified');
      }
      return write(appends);
    });
    const again = freshKey();
    const first = await moveBy(again, leadId, 'qualified');
    expect(first).toMatchObject({ status: 200, body: { state: 'qualified' } });
    await sendRfq(list);
    expect((await typesOf(leadId)).slice(-2)).toEqual(['LeadQualified', 'LeadRfqObserved']);
    const retry = await moveBy(again, leadId, 'qualified');
    expect([retry.status, retry.text]).toEqual([200, first.text]);
  });
});
