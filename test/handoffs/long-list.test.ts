/** A list of more lines than one page shows. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { CONTACT, reviews } from '../support/world/reviews.ts';

const PER_PAGE = 100;
let app: TestApp;
let key: string;
let list: { id: string; path: string };

beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
  const skus = Array.from({ length: 250 }, (_, n) => `MUG-${n}`);
  await app.publish(skus.map((sku) => feedProduct(sku)));
  list = await handoff({ line_items: skus.map((sku) => ({ sku, quantity: 4 })) });
});
afterAll(() => app.close());

const { handoff, get, post, confirm } = reviews({ app: () => app, key: () => key });

const quantitiesIn = (text: string): Map<string, string> =>
  new Map(
    [...text.matchAll(/<input class="quantity" id="(quantity\.[^"]+)".*?\n? value="(\d+)"/gs)].map(
      ([, name = '', value = '']) => [name, value],
    ),
  );
const fieldIn = (text: string, name: string): string =>
  new RegExp(`name="${name}"[^>]*value="([^"]*)"`).exec(text)?.[1] ?? '';
const formOf = (text: string) => ({
  list_revision: fieldIn(text, 'list_revision'),
  totals: fieldIn(text, 'totals'),
  page: fieldIn(text, 'page'),
});
const allQuantities = async (): Promise<string[]> => {
  const pages = await Promise.all([1, 2, 3].map((page) => get(`${list.path}?page=${page}`)));
  return pages.flatMap(({ text }) => [...quantitiesIn(text).values()]);
};

it('A page shows 100 lines, the totals of the whole list, and the ways to the pages beside it', async () => {
  const pages = [];
  for (const query of ['', '?page=2', '?page=3']) pages.push((await get(list.path + query)).text);
  const shown = pages.map((text) => [...quantitiesIn(text).keys()]);
  expect(shown.map(({ length }) => length)).toEqual([PER_PAGE, PER_PAGE, 50]);
  expect(new Set(shown.flat()).size).toBe(250);
  expect(new Set(pages.map((text) => fieldIn(text, 'totals'))).size).toBe(1);
  expect(pages.map((text) => /data-other-lines="(\d+)"/.exec(text)?.[1])).toEqual([
    '150',
    '150',
    '200',
  ]);
  expect(pages[1]).toContain('Page 2 of 3: 100 of 250 lines.');
  for (const number of [1, 3]) expect(pages[1]).toContain(`name="go" value="${number}"`);
});

it.each(['?page=0', '?page=-1', '?page=x', '?page=1&page=2', '?page=99999'])(
  'The page of %s is the first one',
  async (query) => {
    const { status, text } = await get(list.path + query);
    expect(status).toBe(200);
    expect(text).toContain('Page 1 of 3');
  },
);

it('A page after the last one is the last one', async () => {
  expect((await get(`${list.path}?page=9`)).text).toContain('Page 3 of 3');
});

it('The way to another page saves the quantities of this page and keeps the other lines', async () => {
  const { text } = await get(list.path);
  const [first = ''] = quantitiesIn(text).keys();
  const saved = await post(`${list.path}/quantities`, { ...formOf(text), [first]: '8', go: '2' });
  expect(saved).toMatchObject({
    status: 303,
    headers: { location: `${list.path}?page=2&saved=1#notice` },
  });
  const quantities = await allQuantities();
  expect(quantities).toHaveLength(250);
  expect(quantities.filter((quantity) => quantity !== '4')).toEqual(['8']);
});

it('A wrong quantity on the second page is reported there, and the page stays', async () => {
  const { text } = await get(`${list.path}?page=2`);
  const [first = ''] = quantitiesIn(text).keys();
  const answer = await post(`${list.path}/quantities`, { ...formOf(text), [first]: 'x', go: '3' });
  expect(answer.status).toBe(422);
  expect(answer.text).toContain('Page 2 of 3');
  expect(answer.text).toContain(`id="${first}-fault"`);
});

it('The whole list is sent from any page, and its closed page is divided, too', async () => {
  const { text } = await get(`${list.path}?page=3`);
  const sent = await post(`${list.path}/send`, { ...formOf(text), ...CONTACT });
  expect(sent.status).toBe(303);
  await confirm(list);
  const closed = await get(`${list.path}?page=3`);
  expect(closed.text).toContain('Your request was sent');
  expect(closed.text).toContain('<dt>Lines</dt><dd>250</dd>');
  expect(closed.text.match(/<span class="sku">/g)).toHaveLength(50);
  expect(closed.text).toContain(`<a href="${list.path}?page=2">Page 2</a>`);
});
