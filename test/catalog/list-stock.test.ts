import { afterAll, beforeAll, expect, it } from 'vitest';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { atDesk } from '../support/world/desk-scenes.ts';
import { buyerOver } from '../support/world/server-over.ts';

let app: TestApp;
let key: string;

beforeAll(async () => {
  app = await testApp();
  key = (await app.agent('acme')).key;
  await app.publish([feedProduct('MUG-1'), feedProduct('MUG-2')]);
});
afterAll(() => app.close());

const WARNING = 'stock_below_quantity';
type Handoff = { review_url: string; line_items: { warnings: string[] }[] };
const handoff = async (...quantities: number[]): Promise<Handoff> => {
  const line_items = quantities.map((quantity) => ({ sku: 'MUG-1', quantity }));
  const answer = await app.send({
    method: 'POST',
    url: '/api/affiliate/v1/handoffs',
    key,
    payload: { title: 'Mugs', line_items: [...line_items, { sku: 'MUG-2', quantity: 100 }] },
    headers: { 'idempotency-key': freshKey() },
  });
  return answer.body;
};
const warnedOf = ({ line_items }: Handoff) => line_items.map(({ warnings }) => warnings.join());

it('A list warns at each line of a product if the lines together exceed its stock', async () => {
  expect(warnedOf(await handoff(50, 50))).toEqual(['', '', '']);
  expect(warnedOf(await handoff(50, 48, 4))).toEqual([WARNING, WARNING, WARNING, '']);
});

it('A list adds and removes the stock warning of all lines of a product as the buyer changes one of them', async () => {
  const { review_url } = await handoff(50, 50);
  const token = review_url.slice(review_url.lastIndexOf('/') + 1);
  const revise = async (listRevision: number, quantities: [string, string][]) => {
    const input = { list_revision: listRevision, quantities: new Map(quantities) };
    const outcome = await buyerOver(app.service.deps, review_url).revise(input);
    if (!outcome.ok) throw new Error(outcome.detail);
    // Warnings describe the current list and are not reported as changes.
    expect(outcome.value.changed).toEqual(new Map());
    return outcome.value.state.lines.map(({ quantity, warnings = [] }) => [quantity, ...warnings]);
  };
  expect(await revise(1, [['2', '52']])).toEqual([[50, WARNING], [52, WARNING], [100]]);
  expect(await revise(2, [['1', '0']])).toEqual([[52], [100]]);
  const page = await app.send({ method: 'GET', url: `/h/${token}` });
  expect(page.text).toMatch(/<span id="line-count">2\s+lines<\/span>/);
});

it('A list warns at each line that costs nothing, and says so to the buyer', async () => {
  const free = feedProduct('FREE', { price_tiers: [{ min_quantity: 4, unit_price: 0 }] });
  await atDesk(app, { path: '/products/import', body: { products: [free], allow_free: true } });
  const answer = await app.send({
    method: 'POST',
    url: '/api/affiliate/v1/handoffs',
    key,
    payload: { title: 'Samples', line_items: [{ sku: 'FREE', quantity: 4 }] },
    headers: { 'idempotency-key': freshKey() },
  });
  const { line_items, review_url }: Handoff = answer.body;
  expect(line_items.map(({ warnings }) => warnings)).toEqual([['free']]);
  const page = await app.send({ method: 'GET', url: new URL(review_url).pathname });
  expect(page.text).toContain('The price is 0, which may be a mistake of the catalog.');
});
