/** Lines that a buyer puts back on a list, and products that a buyer finds and adds. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { mcpAgent } from '../support/clients/mcp.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { confirmationPath } from '../support/world/confirmation.ts';
import { CONTACT, reviews } from '../support/world/reviews.ts';

let app: TestApp;
let key: string;

beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
  await app.publish([
    feedProduct('MUG-1', { title: 'Blue <Mug>' }),
    feedProduct('MUG-2', { title: 'Red mug' }),
    feedProduct('TRAY-1', { title: 'Oak tray', moq: 6, increment: 3 }),
    feedProduct('GONE-1', { title: 'Old tray' }),
    ...Array.from({ length: 12 }, (_, n) => feedProduct(`CUP-${n}`, { title: `Cup ${n}` })),
  ]);
});
afterAll(() => app.close());

const { handoff, get, post, events } = reviews({ app: () => app, key: () => key });

const productId = (sku: string): string =>
  app.service.deps.catalog.bySku([sku]).get(sku)?.product_id ?? '';
const lastOf = async (id: string) => {
  const stored = await app.service.deps.log.readStream(`acme-handoff_${id.slice(4)}`);
  return stored.at(-1)?.data;
};
/** A list without its second line, at revision 2. */
const shortened = async () => {
  const made = await handoff();
  const typed = { list_revision: '1', 'quantity.1': '4', 'quantity.2': '0' };
  expect((await post(`${made.path}/quantities`, typed)).status).toBe(303);
  return made;
};
const TYPED = { name: 'Bea <B>', email: 'bea@shop', message: 'Two\npallets' };
const expectTyped = (text: string): void => {
  expect(text).toMatch(/id="name"[^>]+value="Bea &lt;B&gt;"/);
  expect(text).toMatch(/id="email"[^>]+value="bea@shop"/);
  expect(text).toMatch(/<textarea id="message"[^>]*>Two\npallets</);
};

describe('A line that the buyer removed', () => {
  it('A line that the buyer removed is put back with its id, place and last quantity, and the current price', async () => {
    const made = await handoff();
    await post(`${made.path}/quantities`, { list_revision: '1', 'quantity.1': '0' });
    const { text: before } = await get(made.path);
    expect(before).toMatch(
      /<h3>Taken off the list<\/h3>[^]*MUG-1[^]*quantity 4[^]*name="restore" value="1"/,
    );
    await app.publish([
      feedProduct('MUG-1', {
        title: 'Blue <Mug>',
        price_tiers: [{ min_quantity: 4, unit_price: 300 }],
      }),
    ]);
    const form = { list_revision: '2', 'quantity.2': '7', restore: '1', ...TYPED };
    const { status, text } = await post(`${made.path}/quantities`, form);
    expect(status).toBe(200);
    expectTyped(text);
    expect(text).toContain('<h2>The product is on the list</h2>');
    expect(text).toMatch(
      /id="quantity\.1"[^>]+value="4"[^>]* autofocus[^>]+aria-describedby="[^"]*notice"/,
    );
    expect(text).toMatch(/id="quantity\.1"[^]*id="quantity\.2"[^>]+value="7"/);
    expect(text).toContain('£3.00');
    expect(text).toContain('for &lt;b&gt;Ann&lt;/b&gt;');
    expect(text).not.toContain('Taken off the list');
    expect(await lastOf(made.id)).toMatchObject({
      added: [{ line_id: '1', quantity: 4, unit_price: 300 }],
      changed: [{ line_id: '2', quantity: 7 }],
      totals: [{ amount: 4 * 300 + 7 * 250, currency: 'GBP' }],
    });
  });

  it('A line that the buyer removed keeps its note, and is put back once if the button is pressed twice', async () => {
    const { id, path } = await shortened();
    const form = { list_revision: '2', 'quantity.1': '4', restore: '2' };
    for (let times = 0; times < 2; times += 1) {
      const { status, text } = await post(`${path}/quantities`, form);
      expect(status).toBe(200);
      expect(text).toContain('for &lt;b&gt;Ann&lt;/b&gt;');
    }
    expect((await events(id)).filter((type) => type === 'HandoffListRevisedByBuyer')).toHaveLength(
      2,
    );
  });

  it('A line that the buyer removed is refused if it has another number, or if its product is no longer offered', async () => {
    const { id, path } = await handoff({
      line_items: [
        { sku: 'MUG-1', quantity: 4 },
        { sku: 'GONE-1', quantity: 4 },
      ],
    });
    await post(`${path}/quantities`, { list_revision: '1', 'quantity.2': '0' });
    const withdrawal = { sku: 'GONE-1', reason: 'Sold out' };
    expect((await app.desk('POST', '/products/withdraw', withdrawal)).status).toBe(200);
    const { text: shown } = await get(path);
    expect(shown).toMatch(/GONE-1[^]*No longer offered/);
    expect(shown).not.toContain('name="restore"');
    for (const more of [{ restore: '2' }, { restore: '9' }, { add: 'prd_9' }, { add: '' }]) {
      const form = { list_revision: '2', 'quantity.1': '8', ...more, ...TYPED };
      const { status, text } = await post(`${path}/quantities`, form);
      expect([more, status]).toEqual([more, 422]);
      expect(text).toContain('<a href="#q">The product is not offered, so it cannot be added.</a>');
      expect(text).toMatch(/id="quantity\.1"[^>]+value="8"/);
      expectTyped(text);
    }
    expect(await lastOf(id)).toMatchObject({ removed: ['2'] });
  });
});

describe('A search on the review page', () => {
  it('A search on the review page shows ten products with price, minimum and increment, and keeps what was typed', async () => {
    const { id, path } = await handoff();
    const form = { list_revision: '1', 'quantity.1': 'many', q: ' cup ', ...TYPED };
    for (const act of ['search', 'enter']) {
      const { status, text } = await post(`${path}/${act}`, form);
      expect(status).toBe(200);
      expect(text).toContain('12 products match “cup”');
      expect(text.match(/name="add"/g)).toHaveLength(10);
      expect(text).toContain('These are the first 10.');
      expect(text).toMatch(/£2\.50[^]*at least\s+4, in steps of 2/);
      expect(text).toMatch(/id="quantity\.1"[^>]+value="many"/);
      expect(text).toMatch(/id="q"[^>]+value=""/);
      expectTyped(text);
    }
    expect(await events(id)).toEqual(['HandoffCreated']);
    const none = await post(`${path}/search`, { ...form, q: 'zzzz' });
    expect(none.text).toContain('Nothing matches “zzzz”.');
    const sku = await post(`${path}/search`, { ...form, q: 'TRAY-1' });
    expect(sku.text).toMatch(/Oak tray[^]*at least\s+6, in steps of 3/);
  });

  it('A search on the review page leads to the line of a product that is on the list', async () => {
    const { path } = await handoff();
    const { text } = await post(`${path}/search`, { list_revision: '1', q: 'MUG-1' });
    expect(text).toContain('<a href="#quantity.1">On the list</a>');
  });

  it('A search on the review page shows the current list if it was changed in the meantime', async () => {
    const { path } = await shortened();
    const form = { list_revision: '1', 'quantity.1': '96', q: 'cup', ...TYPED };
    const { status, text } = await post(`${path}/search`, form);
    expect(status).toBe(409);
    expect(text).toContain('The list has changed');
    expect(text).toMatch(/id="quantity\.1"[^>]+value="4"/);
    expectTyped(text);
  });
});

describe('A product that the buyer adds', () => {
  it('A product that the buyer adds gets a new line with the smallest quantity, and the results stay on the page', async () => {
    const { id, path } = await shortened();
    const add = productId('TRAY-1');
    const form = { list_revision: '2', 'quantity.1': '8', found: 'tray', add, ...TYPED };
    const { status, text } = await post(`${path}/quantities`, form);
    expect(status).toBe(200);
    expectTyped(text);
    expect(text).toContain('1 product matches “tray”');
    expect(text).toMatch(/id="quantity\.3"[^>]+value="6"[^>]* autofocus/);
    expect(await lastOf(id)).toMatchObject({
      added: [{ line_id: '3', sku: 'TRAY-1', quantity: 6 }],
      changed: [{ line_id: '1', quantity: 8 }],
    });
    const uri = `tributary://handoffs/${id}`;
    const { body } = await mcpAgent(app, key).legacy('resources/read', { uri });
    const { contents } = body.result as unknown as { contents: { text: string }[] };
    const { line_items, list_revision } = JSON.parse(contents[0]?.text ?? '') as {
      line_items: object[];
      list_revision: number;
    };
    expect(line_items).toMatchObject([
      { line_id: '1', quantity: 8 },
      { line_id: '3', quantity: 6, sku: 'TRAY-1' },
    ]);
    expect(list_revision).toBe(3);
  });

  it('A product that the buyer adds is not added twice: the page leads to its line', async () => {
    const { id, path } = await handoff();
    const form = { list_revision: '1', 'quantity.1': '8', add: productId('MUG-1'), ...TYPED };
    const { status, text } = await post(`${path}/quantities`, form);
    expect(status).toBe(422);
    expect(text).toMatch(
      /<a href="#quantity\.1">Blue &lt;Mug&gt;: the quantity can be changed here/,
    );
    expectTyped(text);
    expect(await events(id)).toEqual(['HandoffCreated', 'HandoffOpenedByBuyer']);
  });

  it('A product that the buyer adds gets the line back that was removed', async () => {
    const { id, path } = await shortened();
    const form = { list_revision: '2', 'quantity.1': '4', add: productId('MUG-2') };
    expect((await post(`${path}/quantities`, form)).status).toBe(200);
    expect(await lastOf(id)).toMatchObject({ added: [{ line_id: '2', quantity: 5 }] });
  });

  it('A product that the buyer adds is refused on a full list, whose lines on other pages keep what was typed', async () => {
    const line_items = Array.from({ length: LIMITS.HANDOFF_LINES_MAX }, () => ({
      sku: 'MUG-1',
      quantity: 4,
    }));
    const { path } = await handoff({ line_items });
    const form = { list_revision: '1', 'quantity.901': '8', add: productId('TRAY-1'), page: '10' };
    const full = await post(`${path}/quantities`, form);
    expect(full.status).toBe(422);
    expect(full.text).toContain(
      'A list has at most 1,000 lines: take one off before you add another.',
    );
    const other = await post(`${path}/quantities`, { ...form, add: productId('MUG-1') });
    expect(other.text).toContain('id="quantity.1"');
    expect(other.text).toContain('type="hidden" name="quantity.901" value="8"');
  });

  it('A product that the buyer adds changes a list that was sent, until it is confirmed', async () => {
    const { id, path } = await handoff();
    expect((await post(`${path}/send`, { list_revision: '1', ...CONTACT })).status).toBe(303);
    const link = await confirmationPath(app, { id });
    const add = (sku: string, list_revision: string) =>
      post(`${path}/quantities`, { list_revision, add: productId(sku) });
    expect((await add('TRAY-1', '1')).status).toBe(200);
    const confirm = (list_revision: string) => post(`${link}/confirm`, { list_revision });
    expect((await confirm('1')).status).toBe(409);
    expect((await confirm('2')).status).toBe(303);
    expect((await add('CUP-1', '2')).status).toBe(409);
    expect((await post(`${path}/search`, { list_revision: '2', q: 'cup' })).status).toBe(409);
    expect((await app.desk('GET', `/handoffs/${id}/rfq`)).body).toMatchObject({
      line_items: [{ line_id: '1' }, { line_id: '2' }, { line_id: '3', sku: 'TRAY-1' }],
    });
  });
});
