/** Pages of leads with a filter that matches few: the store is read in larger steps, and no lead is skipped. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';

const URL = '/api/affiliate/v1/leads';
let app: TestApp;

beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.close());

const submit = (key: string, body: object) =>
  app.send({
    method: 'POST',
    url: URL,
    key,
    payload: body,
    headers: { 'idempotency-key': freshKey() },
  });

type Page = {
  data: { external_id: string }[];
  page: { next_cursor: string | null; has_more: boolean };
};

it.each([1, 2, 3])(
  'A filtered list of leads ends after the last match with %i leads a page',
  async (limit) => {
    const { key } = await app.agent(`acme${limit}`);
    const company = { name: 'Shop', country: 'GB' };
    const wanted = Array.from({ length: 2 * limit }, (_, n) => `open-${n}`);
    const others = Array.from({ length: limit }, (_, n) => `gone-${n}`);
    for (const external_id of [...wanted, ...others]) await submit(key, { external_id, company });
    for (const external_id of others) await submit(key, { external_id, withdraw: true });
    const ask = async (cursor?: string): Promise<Page> => {
      const more = cursor === undefined ? '' : `&cursor=${cursor}`;
      const url = `${URL}?state=submitted&limit=${limit}${more}`;
      return (await app.send({ method: 'GET', url, key })).body;
    };
    const first = await ask();
    const newest = wanted.toReversed();
    expect(first.data.map(({ external_id }) => external_id)).toEqual(newest.slice(0, limit));
    expect(first.page.has_more).toBe(true);
    const second = await ask(first.page.next_cursor ?? '');
    expect(second.data.map(({ external_id }) => external_id)).toEqual(newest.slice(limit));
    expect(second.page).toEqual({ has_more: false, next_cursor: null });
  },
);
