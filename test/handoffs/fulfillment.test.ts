/** The goods of a won RFQ over the desk: their value by product, letters, the buyer's page, and what agents see. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AppDeps } from '#src/registries/app.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { buyerOver, quotationOver, serverOver } from '../support/world/server-over.ts';
import { mcpAgent } from '../support/clients/mcp.ts';

const V1 = '/api/affiliate/v1';
const DAY_MS = 86_400_000;
const GBP = (amount: number) => ({ amount, currency: 'GBP' });

let app: TestApp;
let key: string;
const people: Record<string, string> = {};

beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
  await app.publish([
    feedProduct('MUG-1', { category: 'Kitchen/Mugs' }, { available_quantity: 30 }),
    feedProduct('BOWL-1', { category: 'Kitchen/Bowls' }),
    feedProduct('TRAY-1', { category: 'Kitchen/Trays' }),
  ]);
  for (const name of ['Ann', 'Ben']) {
    const { body } = await app.desk('POST', '/desk-tokens', { name, roles: ['staff'] });
    people[name] = (body as { token: string }).token;
  }
});
afterAll(() => app.close());

type Answer = { status: number; body: Record<string, unknown> };
const act = (id: string, verb: string, payload: object, token = app.deskToken): Promise<Answer> =>
  app.send({
    method: 'POST',
    url: `/api/desk/v1/handoffs/${id}/rfq/${verb}`,
    key: token,
    payload,
    headers: { 'idempotency-key': freshKey() },
  });
const must = async (answer: Promise<Answer>): Promise<Record<string, unknown>> => {
  const { status, body } = await answer;
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
};

type Report = {
  data: { dimensions: Record<string, string | null>; metrics: Record<string, unknown> }[];
  totals: Record<string, unknown>;
};
type List = { id: string; review_url: string };
const makeList = async (title: string, line_items: object[]): Promise<List> => {
  const headers = { 'idempotency-key': freshKey() };
  const payload = { title, line_items };
  return (await app.send({ method: 'POST', url: `${V1}/handoffs`, key, payload, headers })).body;
};

/** An RFQ of 40 mugs and 12 bowls that is won, with a tray in place of the bowls, and shipping. */
const wonRfq = async (): Promise<string> => {
  const line_items = [
    { sku: 'MUG-1', quantity: 40 },
    { sku: 'BOWL-1', quantity: 12 },
  ];
  const body = await makeList('Kitchen', line_items);
  const contact = { name: 'Bea Buyer', email: `${freshKey()}@shop.example` };
  await buyerOver(app.service.deps, body.review_url).request({
    list_revision: 1,
    consent: true,
    contact,
  });
  await must(
    act(body.id, 'quote', {
      lines: [
        { line_id: '1', unit_price: GBP(200) },
        { line_id: '2', sku: 'TRAY-1', unit_price: GBP(150), reason: 'Sold out' },
      ],
      charges: [{ label: 'Shipping', ...GBP(900) }],
      valid_until: new Date(app.clock.now() + DAY_MS).toISOString(),
      accept_difference: true,
      reason: 'As agreed',
    }),
  );
  await quotationOver(app.service.deps, { ownerId: 'acme', handoffId: body.id }).agree();
  await must(act(body.id, 'move', { to: 'won' }));
  return body.id;
};

const reportOf = async (id: string, by: string) => {
  const url = `${V1}/performance?granularity=total&group_by=${by}&handoff_id=${id}`;
  const body: Report = (await app.send({ method: 'GET', url, key })).body;
  const rows = Object.fromEntries(
    body.data.map(({ dimensions, metrics }) => [dimensions[by] ?? 'none', metrics]),
  );
  return { rows, totals: body.totals };
};
const read = async (id: string) => (await app.desk('GET', `/handoffs/${id}/rfq`)).body;
const pageOf = async (id: string): Promise<string> => {
  const shown = await quotationOver(app.service.deps, { ownerId: 'acme', handoffId: id }).read();
  return JSON.stringify(shown.ok ? shown.value : {});
};
const seenByAgent = async (id: string) => {
  const uri = `tributary://handoffs/${id}`;
  const { body } = await mcpAgent(app, key).legacy('resources/read', { uri });
  const { contents } = body.result as unknown as { contents: { text: string }[] };
  return JSON.parse(contents[0]?.text ?? '') as Record<string, unknown>;
};

describe('The value of an RFQ', () => {
  it('The value of an RFQ counts from take-up for the products of the list, and what it is won for for those of the quotation, with charges for none', async () => {
    const id = await wonRfq();
    const { rows, totals } = await reportOf(id, 'category');
    expect(totals).toMatchObject({
      rfqs_submitted: 1,
      rfqs_taken_up: 1,
      rfqs_won: 1,
      rfq_lines: 2,
      won_lines: 2,
      won_value: [GBP(40 * 200 + 12 * 150 + 900)],
    });
    expect(rows['Kitchen/Mugs']).toMatchObject({
      rfqs_submitted: 1,
      rfqs_taken_up: 1,
      rfq_lines: 1,
      won_lines: 1,
      rfqs_won: 1,
      won_value: [GBP(8_000)],
    });
    expect(rows['Kitchen/Bowls']).toMatchObject({ rfqs_taken_up: 1, rfqs_won: 0, won_value: [] });
    expect(rows['Kitchen/Trays']).toMatchObject({
      rfqs_taken_up: 0,
      rfq_value: [],
      rfqs_won: 1,
      won_value: [GBP(1_800)],
    });
    expect(rows['none']).toMatchObject({ rfqs_won: 0, won_lines: 0, won_value: [GBP(900)] });
  });

  it('The value of an RFQ is none while staff have not taken it up, and counts once when they do so twice', async () => {
    const body = await makeList('Mugs', [{ sku: 'MUG-1', quantity: 4 }]);
    await buyerOver(app.service.deps, body.review_url).request({
      list_revision: 1,
      consent: true,
      contact: { name: 'Bea Buyer', email: `${freshKey()}@shop.example` },
    });
    const confirmed = await reportOf(body.id, 'product_id');
    expect(confirmed.totals).toMatchObject({
      rfqs_submitted: 1,
      rfqs_taken_up: 0,
      rfq_value: [],
    });
    await must(act(body.id, 'move', { to: 'in_progress' }));
    const taken = (await reportOf(body.id, 'product_id')).totals;
    expect(taken).toMatchObject({ rfqs_taken_up: 1, rfq_lines: 1 });
    await must(act(body.id, 'move', { to: 'lost' }));
    await must(act(body.id, 'correct', { to: 'in_progress', reason: 'They called again' }));
    expect((await reportOf(body.id, 'product_id')).totals).toEqual(taken);
  });
});

describe('Goods', () => {
  it('Goods are allocated with a warning, shipped in two parts and delivered, found by where they are, and shown to the buyer', async () => {
    const id = await wonRfq();
    const found = async (goods: string) => {
      const { body } = await app.desk('GET', `/rfqs?goods=${goods}`);
      return (body as { data: { handoff_id: string }[] }).data.some(
        ({ handoff_id }) => handoff_id === id,
      );
    };
    expect([await found('unallocated'), await found('allocated')]).toEqual([true, false]);
    const allocated = await must(
      act(id, 'allocate', { lines: [{ line_id: '1', source: 'Shelf 3' }, { line_id: '2' }] }),
    );
    expect(allocated).toMatchObject({
      state: 'won',
      goods: {
        state: 'allocated',
        lines: [
          { line_id: '1', allocated: 40, source: 'Shelf 3', warnings: ['stock_below_quantity'] },
          { line_id: '2', sku: 'TRAY-1', allocated: 12 },
        ],
      },
    });
    expect([await found('unallocated'), await found('allocated')]).toEqual([false, true]);
    const parcel = { carrier: 'Royal Mail', reference: 'RM-1', shipped_on: '2026-11-20' };
    await must(act(id, 'ship', { lines: [{ line_id: '1', quantity: 25 }], ...parcel }));
    await must(act(id, 'ship', { lines: [{ line_id: '1', quantity: 25 }], ...parcel }));
    const rest = await must(act(id, 'ship', { carrier: 'Royal Mail', reference: 'RM-2' }));
    expect(rest).toMatchObject({
      goods: {
        state: 'shipped',
        shipments: [
          { number: 1, ...parcel, lines: [{ line_id: '1', quantity: 25 }] },
          { number: 2, reference: 'RM-2' },
        ],
      },
    });
    expect(await must(act(id, 'deliver', { shipment: 2 }))).toMatchObject({
      goods: { state: 'shipped' },
    });
    expect(await must(act(id, 'deliver', {}))).toMatchObject({ goods: { state: 'delivered' } });
    expect(await found('delivered')).toBe(true);
    expect(await read(id)).toMatchObject({ goods: { state: 'delivered' } });
    expect(await pageOf(id)).toContain('RM-2');
    const { events } = (await app.desk('GET', `/audit/trace/${id}`)).body as {
      events: { type: string; data: Record<string, unknown> }[];
    };
    const types = events.map(({ type }) => type);
    for (const type of ['GoodsAllocated', 'GoodsShipped', 'GoodsDelivered'])
      expect(types).toContain(type);
    // One letter for each shipment, and none for the repeated call.
    expect(events.filter(({ type }) => type === 'GoodsShipped')).toHaveLength(2);
    const { log } = app.service.deps;
    const { position } = await log.head();
    const last = await log.readBack({ upTo: position, limit: 100 });
    const letters = last.filter(({ data }) => (data as { kind?: string }).kind === 'rfq_shipped');
    expect(letters.map(({ data }) => (data as { record: string }).record)).toEqual([id, id]);
  });

  it('Goods that are cancelled or come back lower the value for their own product, and the agent sees the value and nothing else of them', async () => {
    const id = await wonRfq();
    await must(act(id, 'allocate', {}));
    await must(act(id, 'ship', { lines: [{ line_id: '1' }], reference: 'RM-3' }));
    await must(act(id, 'cancel', { lines: [{ line_id: '2', quantity: 4 }], reason: 'Broken' }));
    const back = await must(act(id, 'return', { lines: [{ line_id: '1', quantity: 10 }] }));
    const left = 8_000 - 2_000 + 1_800 - 600 + 900;
    expect(back).toMatchObject({ won_value: [GBP(left)], goods: { state: 'allocated' } });
    const { rows, totals } = await reportOf(id, 'category');
    expect(totals).toMatchObject({ rfqs_won: 1, won_lines: 2, won_value: [GBP(left)] });
    expect(rows['Kitchen/Mugs']).toMatchObject({ won_value: [GBP(6_000)] });
    expect(rows['Kitchen/Trays']).toMatchObject({ won_value: [GBP(1_200)] });
    const seen = await seenByAgent(id);
    expect(seen).toMatchObject({ rfq: { state: 'won', won_value: [GBP(left)] } });
    expect(JSON.stringify(seen)).not.toMatch(/goods|RM-3|Broken|shipped|allocated/);
  });

  it('Goods come back with a second person where APPROVAL_ABOVE is set, whatever they are worth', async () => {
    const id = await wonRfq();
    await must(act(id, 'allocate', {}));
    await must(act(id, 'ship', {}));
    const actAs = async (person: string, verb: string, payload: object) => {
      const deps: AppDeps = { ...app.service.deps, approval: { above: [GBP(9_000_000)] } };
      const { statusCode: status, body } = await serverOver(deps).inject({
        method: 'POST',
        url: `/api/desk/v1/handoffs/${id}/rfq/${verb}`,
        payload,
        headers: { authorization: `Bearer ${people[person]}`, 'idempotency-key': freshKey() },
      });
      return { status, body: JSON.parse(body) as Record<string, unknown> };
    };
    const lines = [{ line_id: '1', quantity: 1 }];
    expect(await actAs('Ann', 'return', { lines, reason: 'Broken' })).toMatchObject({
      status: 200,
      body: { won_value: [GBP(10_700)], proposed: { number: 1, returned: lines } },
    });
    expect(await actAs('Ann', 'approve', { proposal: 1 })).toMatchObject({ status: 403 });
    expect(await actAs('Ben', 'approve', { proposal: 1 })).toMatchObject({
      status: 200,
      body: { state: 'won' },
    });
    expect(await read(id)).toMatchObject({
      won_value: [GBP(10_500)],
      goods: { lines: [{ returned: 1 }, {}] },
    });
  });

  it('Goods that two people ship at once are shipped once', async () => {
    const id = await wonRfq();
    await must(act(id, 'allocate', {}));
    const lines = [{ line_id: '1', quantity: 30 }];
    const both = await Promise.all([
      act(id, 'ship', { lines, reference: 'A' }, people['Ann']),
      act(id, 'ship', { lines, reference: 'B' }, people['Ben']),
    ]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expect(await read(id)).toMatchObject({ goods: { shipments: [{ number: 1 }] } });
  });

  it('Goods of a buyer whose data was erased are shipped without texts, and a call with texts says so', async () => {
    const id = await wonRfq();
    await must(act(id, 'allocate', {}));
    await must(act(id, 'ship', { lines: [{ line_id: '1', quantity: 1 }], reference: 'RM-SECRET' }));
    const erased = await app.desk('POST', `/subjects/${id}/erase`, {
      owner_id: 'acme',
      reason: 'The buyer asked',
    });
    expect(erased.status, JSON.stringify(erased.body)).toBe(200);
    expect(await act(id, 'ship', { reference: 'RM-5' })).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('without carrier and reference') },
    });
    await must(act(id, 'ship', {}));
    expect(JSON.stringify(await read(id))).not.toContain('RM-SECRET');
    expect(await must(act(id, 'return', { lines: [{ line_id: '2' }] }))).toMatchObject({
      won_value: [GBP(8_900)],
    });
  });

  it.each([
    ['ship', {}],
    ['allocate', { lines: [{ line_id: '9' }] }],
    ['allocate', { lines: [{ line_id: '1', quantity: 41 }] }],
    ['return', { lines: [{ line_id: '1' }] }],
    ['deliver', { shipment: 7 }],
  ])('Goods are not touched by %s with %j, and the answer says why', async (verb, payload) => {
    const id = await wonRfq();
    const before = await read(id);
    const { status, body } = await act(id, verb, payload);
    expect([status, body['code']]).toEqual([409, 'state_conflict']);
    expect(await read(id)).toEqual(before);
  });

  it.each([
    ['allocate', { lines: [] }],
    ['allocate', { lines: [{ line_id: '1' }, { line_id: '1' }] }],
    ['allocate', { lines: [{ line_id: 'x' }] }],
    ['ship', { lines: [{ line_id: '1', quantity: 0 }] }],
    ['ship', { lines: [{ line_id: '1', source: 'Shelf' }] }],
    ['ship', { shipped_on: '2026-02-30' }],
    ['return', {}],
    ['deliver', { shipment: 0 }],
  ])('Goods are not touched by %s with the input %j, which is not valid', async (verb, payload) => {
    const { status, body } = await act('hnd_000000000000000000000000', verb, payload);
    expect([status, body['code']]).toEqual([422, 'validation_failed']);
  });
});
