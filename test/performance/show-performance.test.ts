/** Performance at the desk: the numbers that agents read, also in the order of a number. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { settled } from '../support/world/browsing.ts';
import { BROWSER, createShortLink, type CreatedLink } from '../support/world/links.ts';

let app: TestApp;
let key: string;
let links: CreatedLink[];
beforeAll(async () => {
  app = await testApp();
  await app.publish([1, 2, 3].map((number) => feedProduct(`MUG-${number}`)));
  ({ key } = await app.agent('acme'));
  links = await Promise.all(
    [1, 2, 3].map((number) =>
      createShortLink(app, key, { target: { kind: 'product', ref: `MUG-${number}` } }),
    ),
  );
  // The second link has most visits.
  for (const [index, visits] of [1, 3, 2].entries())
    for (let visit = 0; visit < visits; visit += 1)
      await app.send({
        url: `/l/${links[index]?.code}`,
        headers: { 'user-agent': BROWSER },
        remoteAddress: `198.51.100.${10 * index + visit}`,
      });
  await settled(app);
});
afterAll(() => app.close());

const ask = (query: string) => app.desk('GET', `/performance?owner_id=acme&${query}`);

it('The desk shows the numbers that an agent of the owner reads', async () => {
  const url = '/api/affiliate/v1/performance?group_by=link_id';
  const { data } = (await app.send({ url, key })).body as { data: object[] };
  const { status, body } = await ask('group_by=link_id');
  expect(status).toBe(200);
  expect(body).toMatchObject({ data, totals: { clicks_valid: 6 } });
});

it('With order_by, the rows with most of a number come first, and the rest has no page', async () => {
  const query = 'group_by=link_id&granularity=total&names=1&limit=2';
  const { body } = await ask(`${query}&order_by=clicks_valid`);
  const { data, page } = body as {
    data: { dimensions: { link_id: string }; metrics: { clicks_valid: number } }[];
    page: object;
  };
  expect(data.map(({ dimensions }) => dimensions.link_id)).toEqual([links[1]?.id, links[2]?.id]);
  expect(data.map(({ metrics }) => metrics.clicks_valid)).toEqual([3, 2]);
  expect(page).toEqual({ next_cursor: null, has_more: true });
  const { body: first } = await ask(query);
  const { next_cursor } = (first as { page: { next_cursor: string } }).page;
  const both = await ask(`${query}&cursor=${next_cursor}&order_by=clicks_valid`);
  expect(both).toMatchObject({ status: 400, body: { errors: [{ pointer: '/cursor' }] } });
});
