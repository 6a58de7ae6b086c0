/** Orders that come as handoffs are quoted and partly won: values by product and category equal a sum over the orders. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { buyerOver, quotationOver } from '../support/world/server-over.ts';

const V1 = '/api/affiliate/v1';
const GBP = (amount: number) => ({ amount, currency: 'GBP' });
const CATEGORIES = ['Mugs', 'Bowls', 'Trays'];
const SKUS = Array.from({ length: 8 }, (_, n) => `KIT-${n}`);
const categoryOf = (sku: string): string => CATEGORIES[SKUS.indexOf(sku) % 3] ?? '';
/** As `feedProduct` has it. */
const listPrice = (quantity: number): number => (quantity >= 48 ? 199 : 250);

type Order = { lines: { sku: string; quantity: number; price: number }[]; shipping: number };
/** Orders of one to seven lines; some lines of an order share a product. */
const ORDERS: Order[] = Array.from({ length: 9 }, (_, n) => ({
  lines: Array.from({ length: 1 + ((n * 5) % 7) }, (_line, m) => ({
    sku: SKUS[(n * 3 + m * m) % SKUS.length] ?? '',
    quantity: 4 + ((n * 37 + m * 29) % 61),
    price: 150 + ((n * 53 + m * 71) % 90),
  })),
  shipping: n % 2 ? 700 + n : 0,
}));

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
  await app.publish(SKUS.map((sku) => feedProduct(sku, { category: categoryOf(sku) })));
});
afterAll(() => app.close());

const act = async (id: string, verb: string, payload: object): Promise<void> => {
  const url = `/api/desk/v1/handoffs/${id}/rfq/${verb}`;
  const headers = { 'idempotency-key': freshKey() };
  const { status, text } = await app.send({
    method: 'POST',
    url,
    key: app.deskToken,
    payload,
    headers,
  });
  expect(status, text).toBe(200);
};

/** Two of three orders are won; of every fourth one, the first line is cancelled. */
const isWon = (n: number): boolean => n % 3 !== 2;
const isCut = (n: number): boolean => n % 4 === 0;

const skuOf = new Map<string, string>();
const post = async ({ lines, shipping }: Order, n: number): Promise<void> => {
  const line_items = lines.map(({ sku, quantity }) => ({ sku, quantity }));
  const list: {
    id: string;
    review_url: string;
    line_items: { sku: string; product_id: string }[];
  } = (
    await app.send({
      method: 'POST',
      url: `${V1}/handoffs`,
      key,
      payload: { title: `Order ${n}`, line_items },
      headers: { 'idempotency-key': freshKey() },
    })
  ).body;
  for (const { product_id, sku } of list.line_items) skuOf.set(product_id, sku);
  const contact = { name: 'Bea Buyer', email: `buyer-${n}@shop.example` };
  await buyerOver(app.service.deps, list.review_url).request({
    list_revision: 1,
    consent: true,
    contact,
  });
  await act(list.id, 'quote', {
    lines: lines.map(({ price }, at) => ({ line_id: String(at + 1), unit_price: GBP(price) })),
    charges: shipping > 0 ? [{ label: 'Shipping', ...GBP(shipping) }] : [],
    valid_until: new Date(app.clock.now() + 86_400_000).toISOString(),
    accept_difference: true,
    reason: 'As ordered',
  });
  if (!isWon(n)) return;
  await quotationOver(app.service.deps, { ownerId: 'acme', handoffId: list.id }).agree();
  await act(list.id, 'move', { to: 'won' });
  if (isCut(n)) await act(list.id, 'cancel', { lines: [{ line_id: '1' }] });
};

type Sums = Record<string, Record<string, number>>;

/** Sums over the orders: the numbers of each name, and the orders that have it. */
const summed = (nameOf: (sku: string) => string): Sums => {
  const sums: Sums = {};
  const add = (name: string, number: string, by: number): void => {
    const row = (sums[name] ??= {});
    row[number] = (row[number] ?? 0) + by;
  };
  for (const [n, { lines, shipping }] of ORDERS.entries()) {
    for (const name of new Set(lines.map(({ sku }) => nameOf(sku)))) {
      add(name, 'rfqs_submitted', 1);
      add(name, 'rfqs_taken_up', 1);
      if (isWon(n)) add(name, 'rfqs_won', 1);
    }
    for (const [at, { sku, quantity, price }] of lines.entries()) {
      add(nameOf(sku), 'rfq_lines', 1);
      add(nameOf(sku), 'rfq_value', quantity * listPrice(quantity));
      if (!isWon(n)) continue;
      add(nameOf(sku), 'won_lines', 1);
      if (!(isCut(n) && at === 0)) add(nameOf(sku), 'won_value', quantity * price);
    }
    // Charges go with the last goods.
    const isGone = isCut(n) && lines.length === 1;
    if (isWon(n) && shipping > 0 && !isGone) add('none', 'won_value', shipping);
  }
  return sums;
};

const NUMBERS = ['rfqs_submitted', 'rfqs_taken_up', 'rfqs_won', 'rfq_lines', 'won_lines'];
type Metrics = Record<string, number> & Record<'rfq_value' | 'won_value', { amount: number }[]>;

const reported = async (by: string, nameOf: (value: string) => string): Promise<Sums> => {
  const url = `${V1}/performance?granularity=total&group_by=${by}`;
  const { data }: { data: { dimensions: Record<string, string | null>; metrics: Metrics }[] } = (
    await app.send({ method: 'GET', url, key })
  ).body;
  const rows = data.map(({ dimensions, metrics }): [string, Record<string, number>] => {
    const value = dimensions[by];
    const values = (['rfq_value', 'won_value'] as const).map((name): [string, number] => [
      name,
      metrics[name].reduce((all, { amount }) => all + amount, 0),
    ]);
    const counts = NUMBERS.map((name): [string, number] => [name, metrics[name] ?? 0]);
    const all = [...counts, ...values].filter(([, number]) => number !== 0);
    return [typeof value === 'string' ? nameOf(value) : 'none', Object.fromEntries(all)];
  });
  return Object.fromEntries(rows.filter(([, row]) => Object.keys(row).length > 0));
};

it('Orders have the same values by product and by category in performance as in a sum over them', async () => {
  for (const [n, order] of ORDERS.entries()) await post(order, n);
  expect(await reported('product_id', (id) => skuOf.get(id) ?? id)).toEqual(summed((sku) => sku));
  expect(await reported('category', (name) => name)).toEqual(summed(categoryOf));
});
