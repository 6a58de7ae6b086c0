/** Names beside the ids of a report, and rows of links and campaigns without events. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';

let app: TestApp;
let key: string;
const links: string[] = [];

type Row = {
  dimensions: Record<string, string | null>;
  names?: Record<string, string>;
  metrics: Record<string, unknown>;
};
type Report = { data: Row[]; page: { next_cursor: string | null } };

const report = async (query: string, status = 200): Promise<Report> => {
  const answer = await app.send({
    method: 'GET',
    url: `/api/affiliate/v1/performance?${query}`,
    key,
  });
  expect(answer.status, answer.text).toBe(status);
  return answer.body;
};

const write = async (path: string, payload: object): Promise<string> => {
  const headers = { 'idempotency-key': freshKey() };
  const { body } = await app.send({
    method: 'POST',
    url: `/api/affiliate/v1${path}`,
    key,
    payload,
    headers,
  });
  return (body as { id: string }).id;
};

beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1', { title: 'Speckled Mug' })]);
  ({ key } = await app.agent('acme'));
  for (const campaign of ['spring', 'spring', 'autumn', undefined])
    links.push(
      await write('/links', {
        target: { kind: 'product', ref: 'MUG-1' },
        ...(campaign !== undefined && { campaign }),
      }),
    );
  await write('/handoffs', {
    title: 'Spring list',
    link_id: links[0],
    line_items: [{ sku: 'MUG-1', quantity: 4 }],
  });
});
afterAll(() => app.close());

it('A report with names=1 has the names of its ids', async () => {
  const [one] = (await report('group_by=link_id,handoff_id&names=1&granularity=total')).data;
  expect(one?.names).toEqual({
    link_id: 'Speckled Mug',
    campaign: 'spring',
    handoff_id: 'Spring list',
  });
  const [product] = (await report('group_by=product_id&names=1&granularity=total')).data;
  expect(product?.names).toEqual({ product_id: 'Speckled Mug' });
  expect((await report('group_by=link_id')).data[0]).not.toHaveProperty('names');
});

it('A report with include=empty has a row for each link and campaign without events', async () => {
  const valuesOf = ({ data }: Report, name: string) =>
    data.map(({ dimensions }) => dimensions[name]);
  const query = 'granularity=total&include=empty';
  const byLink = await report(`group_by=link_id&${query}`);
  expect(valuesOf(byLink, 'link_id').sort()).toEqual(links.toSorted());
  const empty = byLink.data.filter(({ metrics }) => metrics['handoffs_created'] === 0);
  expect(empty).toHaveLength(3);
  expect(valuesOf(await report(`group_by=campaign&${query}`), 'campaign').sort()).toEqual([
    'autumn',
    'spring',
  ]);
  const spring = await report(`group_by=link_id&campaign=spring&${query}`);
  expect(valuesOf(spring, 'link_id').sort()).toEqual(links.slice(0, 2).sort());
  const paged: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Report = await report(
      `group_by=link_id&${query}&limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`,
    );
    paged.push(...(valuesOf(page, 'link_id') as string[]));
    cursor = page.page.next_cursor;
  }
  expect(paged.sort()).toEqual(links.toSorted());
});

it('A report refuses include=empty without groups of links or campaigns', async () => {
  expect(await report('include=empty', 400)).toMatchObject({
    errors: [{ pointer: '/include', detail: 'needs link_id or campaign in group_by' }],
  });
});
