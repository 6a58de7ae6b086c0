/** RFQs as deals: their moves, the leads that follow, the numbers, corrections and second persons. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AppDeps } from '#src/registries/app.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { mcpAgent } from '../support/clients/mcp.ts';
import { quote as quoteAt, quoteFor, win as winAt } from '../support/world/deals.ts';
import { buyerOver, quotationOver, serverOver } from '../support/world/server-over.ts';

const DAY_MS = 86_400_000;
const V1 = '/api/affiliate/v1';
const GBP = (amount: number) => [{ amount, currency: 'GBP' }];
const ALL = `${V1}/performance?from=2026-11-01&granularity=total`;

let app: TestApp;
let key: string;
let agentId: string;
const people: Record<string, string> = {};

beforeAll(async () => {
  app = await testApp();
  ({ key, agentId } = await app.agent('acme'));
  await app.publish([feedProduct('MUG-1')]);
  for (const name of ['Ann', 'Ben']) {
    const { body } = await app.desk('POST', '/desk-tokens', { name, roles: ['staff'] });
    people[name] = (body as { token: string }).token;
  }
  people['machine'] = app.deskToken;
});
afterAll(() => app.close());

type Answer = { status: number; body: Record<string, unknown> };
type List = { id: string; review_url: string };
const post = async <Body>(path: string, payload: object): Promise<Body> => {
  const headers = { 'idempotency-key': freshKey() };
  return (await app.send({ method: 'POST', url: V1 + path, key, payload, headers })).body;
};
/** Creates a list, and leads that name it; then its buyer sends the RFQ. */
const rfqWith = async (leads: number, contact = `${freshKey()}@shop.example`) => {
  const line_items = [{ sku: 'MUG-1', quantity: 48 }];
  const list = await post<List>('/handoffs', { title: 'Mugs', line_items });
  const ids: string[] = [];
  for (let n = 0; n < leads; n += 1) {
    const { id } = await post<{ id: string }>('/leads', {
      external_id: freshKey(),
      company: { name: 'Shop', country: 'GB' },
      source: { kind: 'handoff', ref: list.id },
    });
    await app.desk('POST', `/leads/${id}/move`, { owner_id: 'acme', to: 'accepted' });
    ids.push(id);
  }
  const sent = { list_revision: 1, consent: true, contact: { name: 'Bea Buyer', email: contact } };
  expect(await buyerOver(app.service.deps, list.review_url).request(sent)).toMatchObject({
    ok: true,
  });
  return { id: list.id, leads: ids };
};
/** Acts on an RFQ: `act` is move, correct, approve or refuse. */
const act = (id: string, name: string, payload: object, token = app.deskToken): Promise<Answer> =>
  app.send({
    method: 'POST',
    url: `/api/desk/v1/handoffs/${id}/rfq/${name}`,
    key: token,
    payload,
    headers: { 'idempotency-key': freshKey() },
  });
const quote = (id: string, amount: number) => quoteAt(app, id, amount);
const agree = (id: string) =>
  quotationOver(app.service.deps, { ownerId: 'acme', handoffId: id }).agree();
const win = async (id: string, amount: number): Promise<void> => {
  expect(await winAt(app, { id, amount })).toMatchObject({ status: 200, body: { state: 'won' } });
};
const lead = async (id: string) => (await app.desk('GET', `/leads/${id}`)).body;
const read = async (id: string) => (await app.desk('GET', `/handoffs/${id}/rfq`)).body;
const shownToAgent = async (id: string) => {
  const uri = `tributary://handoffs/${id}`;
  const { body } = await mcpAgent(app, key).legacy('resources/read', { uri });
  const { contents } = body.result as unknown as { contents: { text: string }[] };
  return JSON.parse(contents[0]?.text ?? '') as Record<string, unknown>;
};
const listed = async (query: string): Promise<Record<string, unknown>[]> =>
  ((await app.desk('GET', `/rfqs?${query}`)).body as { data: Record<string, unknown>[] }).data;
const numbersOf = async (id: string, query = ALL) => {
  const answer = await app.send({ method: 'GET', url: `${query}&handoff_id=${id}`, key });
  const { leads_won, rfqs_won, won_value } = (answer.body as { totals: Record<string, unknown> })
    .totals;
  return { leads_won, rfqs_won, won_value };
};

describe('An RFQ', () => {
  it('An RFQ that is won gives its outcome to its leads, counts the first lead as won, and counts its value once', async () => {
    const { id, leads } = await rfqWith(2);
    await win(id, 12_000);
    expect(await Promise.all(leads.map(lead))).toMatchObject([{ state: 'won' }, { state: 'won' }]);
    expect(await numbersOf(id)).toEqual({ leads_won: 1, rfqs_won: 1, won_value: GBP(12_000) });
    expect(await read(id)).toMatchObject({
      state: 'won',
      quotation: { number: 1, values: GBP(12_000) },
      won_with: { number: 1, agreed: true },
      won_value: GBP(12_000),
      leads: leads.map((lead_id) => ({ lead_id, agent_id: agentId, state: 'won' })),
    });
  });

  it('An RFQ is found in its state, open or not, and is expired from the end of its quotation', async () => {
    const { id } = await rfqWith(0);
    const isIn = async (state: string) =>
      (await listed(`state=${state}`)).some(({ handoff_id }) => handoff_id === id);
    expect([await isIn('confirmed'), await isIn('open')]).toEqual([true, true]);
    await quote(id, 500);
    expect([await isIn('confirmed'), await isIn('quoted'), await isIn('expired')]).toEqual([
      false,
      true,
      false,
    ]);
    app.clock.advance(30 * DAY_MS);
    expect([await isIn('quoted'), await isIn('expired'), await isIn('open')]).toEqual([
      false,
      true,
      true,
    ]);
    expect(await act(id, 'move', { to: 'won' })).toMatchObject({
      status: 409,
      body: { code: 'state_conflict' },
    });
    expect(await act(id, 'move', { to: 'lost', reason: 'Too late' })).toMatchObject({
      status: 200,
    });
    expect([await isIn('open'), await isIn('lost')]).toEqual([false, true]);
    expect(await read(id)).toMatchObject({ state: 'lost', reason: 'Too late' });
  });

  it('An RFQ that is withdrawn loses its leads, with the reason by name', async () => {
    const { id, leads } = await rfqWith(1);
    await act(id, 'move', { to: 'withdrawn', reason: 'The buyer called' });
    expect(await lead(leads[0] ?? '')).toMatchObject({
      state: 'lost',
      state_reason: 'rfq_withdrawn',
    });
  });

  it('An RFQ shows its agent the outcome and its value, and neither steps, quotations nor reasons', async () => {
    const { id } = await rfqWith(0);
    // The numbers of the list are those of its performance.
    const shown = async () => ({ ...(await shownToAgent(id)), counts: undefined });
    const before: Record<string, unknown> = await shown();
    expect(before['rfq']).toEqual({ state: 'open' });
    await act(id, 'move', { to: 'in_progress', reason: 'Ask the warehouse' });
    await quote(id, 777);
    expect(await shown()).toEqual(before);
    await agree(id);
    expect(await shown()).toEqual(before);
    await quote(id, 700);
    await agree(id);
    await act(id, 'move', { to: 'won' });
    expect(await shown()).toMatchObject({ rfq: { state: 'won', won_value: GBP(700) } });
    expect(JSON.stringify(await shown())).not.toMatch(/\b777\b|warehouse|telephone/);
  });

  it('An RFQ of a lead that an earlier version won by itself has its outcome, until the lead is corrected', async () => {
    const { id, leads } = await rfqWith(1);
    const [leadId = ''] = leads;
    const { log, ids } = app.service.deps;
    const stream = `acme-lead_${leadId.slice(4)}`;
    const stored = await log.readStream(stream);
    const data = {
      lead_id: leadId,
      agent_id: agentId,
      dims: {},
      handoff_id: id,
      value: GBP(900)[0],
    };
    const meta = { ...stored[0]!.meta, at: app.clock.now(), operation: 'moveLead' };
    await log.append(stream, stored.length - 1, [{ id: ids.uuid(), type: 'LeadWon', data, meta }]);
    const refused = await quote(id, 900);
    expect(refused).toMatchObject({ status: 409, body: { code: 'state_conflict' } });
    expect(refused.body['detail']).toContain(leadId);
    expect(await read(id)).toMatchObject({ state: 'won', won_value: GBP(900) });
    const rfq = { state: 'won', won_value: GBP(900) };
    expect(await shownToAgent(id)).toMatchObject({ rfq });
    const { body: handoffs } = await app.desk('GET', '/handoffs?owner_id=acme&limit=1');
    expect(handoffs).toMatchObject({ data: [{ id, rfq }] });
    expect(await listed('state=won&limit=1')).toMatchObject([
      { handoff_id: id, state: 'won', won_value: GBP(900) },
    ]);
    expect(await numbersOf(id)).toEqual({ leads_won: 1, rfqs_won: 0, won_value: GBP(900) });
    const fixed = { owner_id: 'acme', to: 'qualified', reason: 'Another shop paid' };
    expect(await app.desk('POST', `/leads/${leadId}/correct`, fixed)).toMatchObject({
      status: 200,
      body: { state: 'qualified' },
    });
    expect(await numbersOf(id)).toEqual({ leads_won: 0, rfqs_won: 0, won_value: GBP(0) });
    await win(id, 950);
    expect(await lead(leadId)).toMatchObject({ state: 'won' });
    expect(await numbersOf(id)).toEqual({ leads_won: 1, rfqs_won: 1, won_value: GBP(950) });
  });

  it('An RFQ is withdrawn with the erasure of its buyer, and keeps the value that it was won for', async () => {
    const [open, won] = [await rfqWith(0), await rfqWith(0)];
    await win(won.id, 300);
    for (const { id } of [open, won])
      await app.desk('POST', `/subjects/${id}/erase`, { reason: 'Asked' });
    expect(await read(open.id)).toMatchObject({ state: 'withdrawn', reason: 'erased' });
    expect(await read(won.id)).toMatchObject({ state: 'won', won_value: GBP(300) });
    expect(await numbersOf(won.id)).toMatchObject({ rfqs_won: 1, won_value: GBP(300) });
  });

  it('An RFQ refuses an invalid command with the field at fault', async () => {
    const { id } = await rfqWith(0);
    const cases: [object, number, string][] = [
      [{ to: 'quoted' }, 422, 'validation_failed'],
      [{ to: 'won', values: GBP(5) }, 422, 'validation_failed'],
      [{ to: 'won' }, 409, 'state_conflict'],
      [{ to: 'expired' }, 422, 'validation_failed'],
    ];
    for (const [payload, status, code] of cases)
      expect(await act(id, 'move', payload), JSON.stringify(payload)).toMatchObject({
        status,
        body: { code },
      });
    expect(await act(`hnd_${'0'.repeat(24)}`, 'move', { to: 'lost' })).toMatchObject({
      status: 404,
    });
    expect(await act(id, 'approve', { proposal: 1 })).toMatchObject({ status: 409 });
  });

  it("An RFQ shows staff another promoter's claim on the mailbox of its contact", async () => {
    const rival = await app.agent('rival');
    const email = 'shared@shop.example';
    const { body } = await app.send({
      method: 'POST',
      url: `${V1}/leads`,
      key: rival.key,
      payload: {
        external_id: 'rival-1',
        company: { name: 'Shop', country: 'GB' },
        contact: { name: 'Bea Buyer', email },
        consent: { basis: 'consent', obtained_at: '2026-11-01T09:00:00Z' },
      },
      headers: { 'idempotency-key': freshKey() },
    });
    const { id } = await rfqWith(0, email);
    expect(await read(id)).toMatchObject({
      claimed_by: { owner_id: 'rival', lead_id: (body as { id: string }).id },
    });
  });
});

describe('A lead of a list', () => {
  it('A lead of a list is not won by itself while its buyer can still send the RFQ', async () => {
    const line_items = [{ sku: 'MUG-1', quantity: 48 }];
    const list = await post<List>('/handoffs', { title: 'Mugs', line_items });
    const { id } = await post<{ id: string }>('/leads', {
      external_id: freshKey(),
      company: { name: 'Shop', country: 'GB' },
      source: { kind: 'handoff', ref: list.id },
    });
    const move = (to: string) => app.desk('POST', `/leads/${id}/move`, { owner_id: 'acme', to });
    for (const to of ['accepted', 'contacted', 'qualified']) await move(to);
    expect(await move('won')).toMatchObject({ status: 409, body: { code: 'state_conflict' } });
    const closed = { owner_id: 'acme', reason: 'Ordered by telephone' };
    await app.desk('POST', `/handoffs/${list.id}/withdraw`, closed);
    expect(await move('won')).toMatchObject({ status: 200, body: { proposed: { to: 'won' } } });
  });
});

describe('A correction of an outcome', () => {
  it('A correction of an outcome changes the numbers of the day of the outcome, and leads follow', async () => {
    const { id, leads } = await rfqWith(2);
    await win(id, 1_000);
    const day = new Date(app.clock.now()).toISOString().slice(0, 10);
    app.clock.advance(3 * DAY_MS);
    const correct = (to: string, more = {}) => act(id, 'correct', { to, reason: 'Wrong', ...more });
    expect(await correct('won', { values: GBP(800) })).toMatchObject({ body: { state: 'won' } });
    const thatDay = `${V1}/performance?from=${day}&to=${day}&granularity=day`;
    expect(await numbersOf(id, thatDay)).toEqual({
      leads_won: 1,
      rfqs_won: 1,
      won_value: GBP(800),
    });
    await correct('lost');
    expect(await Promise.all(leads.map(lead))).toMatchObject([
      { state: 'lost' },
      { state: 'lost' },
    ]);
    expect(await numbersOf(id)).toEqual({ leads_won: 0, rfqs_won: 0, won_value: GBP(0) });
    await correct('in_progress');
    expect(await lead(leads[0] ?? '')).toMatchObject({ state: 'rfq_submitted' });
    await win(id, 600);
    expect(await numbersOf(id)).toEqual({ leads_won: 1, rfqs_won: 1, won_value: GBP(600) });
  });

  it('A correction of the outcome of a lead without a handoff changes or reverses what staff recorded', async () => {
    const { id } = await post<{ id: string }>('/leads', {
      external_id: freshKey(),
      company: { name: 'Shop', country: 'GB' },
    });
    const correct = (to: string, more = {}) =>
      app.desk('POST', `/leads/${id}/correct`, { owner_id: 'acme', to, reason: 'Wrong', ...more });
    expect(await correct('won')).toMatchObject({ status: 409, body: { code: 'state_conflict' } });
    for (const to of ['accepted', 'contacted', 'qualified', 'lost'])
      await app.desk('POST', `/leads/${id}/move`, { owner_id: 'acme', to });
    await correct('won', { value: GBP(50)[0] });
    const approve = `/api/desk/v1/leads/${id}/approve`;
    const approval = {
      method: 'POST' as const,
      url: approve,
      key: people['Ann'] ?? '',
      payload: { owner_id: 'acme', proposal: 1 },
      headers: { 'idempotency-key': freshKey() },
    };
    expect(await app.send(approval)).toMatchObject({ body: { state: 'won' } });
    expect(await lead(id)).toMatchObject({ state: 'won', outcome_value: GBP(50)[0] });
    await correct('lost');
    expect(await lead(id)).not.toHaveProperty('outcome_value');
  });
});

describe('A deal', () => {
  /** Acts over a server with limits, as one of the people. */
  const actAs = async (person: string, id: string, name: string, payload: object) => {
    const deps: AppDeps = { ...app.service.deps, approval: { above: GBP(1_000) } };
    const { statusCode, body } = await serverOver(deps).inject({
      method: 'POST',
      url: `/api/desk/v1/handoffs/${id}/rfq/${name}`,
      payload,
      headers: { authorization: `Bearer ${people[person]}`, 'idempotency-key': freshKey() },
    });
    return { status: statusCode, body: JSON.parse(body) as Record<string, unknown> };
  };

  it('A quotation above APPROVAL_ABOVE and a win without the agreement of the buyer wait for another person, who sees who proposed what, and are made by the approval', async () => {
    const { id, leads } = await rfqWith(1);
    const offer = quoteFor(app, 1_001, { reason: 'Large order' });
    const asked = await actAs('Ann', id, 'quote', offer);
    expect(asked).toMatchObject({
      status: 200,
      body: { state: 'in_progress', proposed: { number: 1, to: 'quoted', values: GBP(1_001) } },
    });
    expect(await listed('needs_approval=true')).toMatchObject([
      { handoff_id: id, needs_approval: true },
    ]);
    expect(await read(id)).toMatchObject({
      proposed: { number: 1, by_name: 'Ann', reason: 'Large order' },
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
      body: { state: 'quoted' },
    });
    await actAs('Ben', id, 'move', { to: 'won' });
    expect(await lead(leads[0] ?? '')).toMatchObject({ state: 'rfq_submitted' });
    expect(await actAs('Ben', id, 'approve', { proposal: 2 })).toMatchObject({ status: 403 });
    expect(await actAs('Ann', id, 'approve', { proposal: 2 })).toMatchObject({
      body: { state: 'won' },
    });
    expect(await lead(leads[0] ?? '')).toMatchObject({ state: 'won' });
  });

  it('A quotation above APPROVAL_ABOVE that the machine proposed waits for a person, and the machine cannot approve it', async () => {
    const { id } = await rfqWith(0);
    await actAs('machine', id, 'quote', quoteFor(app, 5_000));
    expect(await read(id)).toMatchObject({ proposed: { by_name: 'the machine' } });
    expect(await actAs('machine', id, 'approve', { proposal: 1 })).toMatchObject({ status: 403 });
    expect(await actAs('Ann', id, 'approve', { proposal: 1 })).toMatchObject({ status: 200 });
  });

  it('A quotation above APPROVAL_ABOVE is dropped when it is refused', async () => {
    const { id } = await rfqWith(0);
    await actAs('Ann', id, 'quote', quoteFor(app, 5_000));
    const refused = await actAs('Ben', id, 'refuse', { proposal: 1, reason: 'Too low' });
    expect(refused.body).toEqual({ id, owner_id: 'acme', state: 'in_progress' });
    expect(await actAs('Ben', id, 'approve', { proposal: 1 })).toMatchObject({ status: 409 });
  });
});
