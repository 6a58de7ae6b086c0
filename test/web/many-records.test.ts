/** Pages of lists that have many records: each is small and quick to read, and leads to the next until all were shown. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { type Browsing, invite, settled, signedInAs } from '../support/world/browsing.ts';
import { appendCopies } from '../support/world/copies.ts';
import { createShortLink } from '../support/world/links.ts';
import { people } from '../support/world/people.ts';

const COPIES = 1_000;
const BYTES_MAX = 40_000;
const ROWS_MAX = 100;
const IMPORTED_AT_ONCE = 250;

let app: TestApp;
let owner: Browsing;
let staff: Browsing;

beforeAll(async () => {
  app = await testApp();
  app.service.dispatcher.start();
  owner = await signedInAs(app, await invite(app, ['owner'], { owners: ['acme'] }));
  staff = await signedInAs(app, await invite(app, ['staff', 'operator', 'auditor', 'privacy']));
  const products = Array.from({ length: COPIES }, (_none, number) =>
    feedProduct(`MUG-${number + 1}`),
  );
  for (let from = 0; from < COPIES; from += IMPORTED_AT_ONCE)
    await app.publish(products.slice(from, from + IMPORTED_AT_ONCE));
  const world = people(app);
  const { key } = await app.agent('acme');
  const { id: link } = await createShortLink(app, key);
  const ids = [
    link,
    await world.lead(key, 'ada@shop.example'),
    await world.rfq(key, 'bea@shop.example'),
  ];
  await settled(app);
  const kinds = { lnk: 'link', led: 'lead', hnd: 'handoff' };
  for (const id of ids) {
    const kind = kinds[id.slice(0, 3) as keyof typeof kinds];
    await appendCopies(app, { stream: `acme-${kind}_${id.slice(4)}`, count: COPIES });
  }
  const { id: person } = await invite(app, ['staff']);
  await settled(app);
  await appendCopies(app, { stream: `desk-person_${person.slice(4)}`, count: COPIES });
});
afterAll(() => app.close());

const bytesOf = async (browser: Browsing, url: string): Promise<number> => {
  const { rawPayload } = await app.service.server.inject({
    url,
    headers: {
      host: 't.example',
      'accept-encoding': 'gzip',
      cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
    },
  });
  return rawPayload.length;
};

const unescaped = (text: string): string => text.replaceAll('&amp;', '&');

it.each<[list: string, start: string, row: RegExp, who: () => Browsing]>([
  [
    "a promoter's links",
    '/o/acme/links?by=newest',
    /href="\/o\/acme\/links\/lnk_[0-9a-z]+"/g,
    () => owner,
  ],
  ["a promoter's leads", '/o/acme/leads', /href="\/o\/acme\/leads\/led_[0-9a-z]+"/g, () => owner],
  [
    "a promoter's RFQs",
    '/o/acme/rfqs',
    /href="\/o\/acme\/(?:lists|rfqs)\/hnd_[0-9a-z]+"/g,
    () => owner,
  ],
  ["a promoter's lists", '/o/acme/lists', /href="\/o\/acme\/lists\/hnd_[0-9a-z]+"/g, () => owner],
  ["staff's RFQs", '/desk?kind=rfq', /href="\/desk\/r\/hnd_[0-9a-z]+/g, () => staff],
  ["staff's leads", '/desk?kind=lead', /href="\/desk\/r\/led_[0-9a-z]+/g, () => staff],
  ['people', '/desk/people', /href="\/desk\/people\/[a-z]{3}_[0-9A-Za-z]+"/g, () => staff],
  ['products', '/desk/catalog', /href="\/desk\/catalog\/prd_[0-9a-z]+"/g, () => staff],
])('The pages of %s have all of 1,000 records, a few at a time', async (list, start, row, who) => {
  const shown = new Set<string>();
  let pages = 0;
  for (let url: string | undefined = start; url !== undefined; pages += 1) {
    const { status, text } = await who().get(url);
    expect(status, url).toBe(200);
    const rows = new Set(text.match(row) ?? []);
    expect(rows.size, url).toBeGreaterThan(0);
    expect(rows.size, url).toBeLessThanOrEqual(ROWS_MAX);
    expect(await bytesOf(who(), url), url).toBeLessThan(BYTES_MAX);
    for (const one of rows) shown.add(one);
    const [, next] = /<a rel="next" href="([^"]+)"/.exec(text) ?? [];
    url = next === undefined ? undefined : unescaped(next);
  }
  expect(shown.size, `${list}, ${pages} pages`).toBeGreaterThanOrEqual(COPIES);
  expect(pages).toBeGreaterThan(5);
});
