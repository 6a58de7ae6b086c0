/** The pages of promoters, `/o/NAME`: what each shows, where each leads, and who may open it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Browsing, invite, settled, signedInAs } from '../support/world/browsing.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { BROWSER, createShortLink, type CreatedLink } from '../support/world/links.ts';
import { configure, post, proposed } from '../support/world/outreach.ts';
import { people } from '../support/world/people.ts';

let app: TestApp;
let key: string;
let link: CreatedLink;
const browsers: Record<string, Browsing> = {};
const at = (who: string): Browsing => browsers[who] as Browsing;

const visit = async (count: number): Promise<void> => {
  for (let number = 0; number < count; number += 1)
    await app.send({
      url: `/l/${link.code}`,
      headers: { 'user-agent': BROWSER },
      remoteAddress: `198.51.100.${number}`,
    });
};

beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1')]);
  await configure(app, 'acme');
  ({ key } = await app.agent('acme'));
  await app.agent('rival');
  await app.desk('POST', '/owners/acme/profile', {
    name: 'Acme <Gifts>',
    postal_address: '1 High Street\nLondon',
    mailbox: 'office@acme.example',
  });
  link = await createShortLink(app, key, { campaign: 'spring-sale' });
  await people(app).lead(key, 'ada@shop.example');
  await people(app).rfq(key, 'bea@shop.example');
  await proposed(app, key, 'requestSocialPost', post());
  await visit(3);
  for (const [name, roles, owners] of [
    ['owner', ['owner'], ['acme']],
    ['of two', ['owner'], ['acme', 'rival']],
    ['rival', ['owner'], ['rival']],
    ['staff', ['staff'], []],
    ['operator', ['operator'], []],
    ['privacy', ['privacy'], []],
  ] as const)
    browsers[name] = await signedInAs(app, await invite(app, roles, { owners: [...owners] }));
  await settled(app);
});
afterAll(() => app.close());

const page = async (path: string, who = 'owner'): Promise<string> => {
  const { status, text } = await at(who).get(path);
  expect(status, `${path}: ${text}`).toBe(200);
  return text;
};

/** What a person reads. */
const textOf = (html: string): string =>
  html
    .replaceAll(/<(style|script|title)[^]*?<\/\1>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

/** All addresses of pages and files of a promoter that lead from one to another, from its home on. */
const crawl = async (): Promise<string[]> => {
  const seen = new Set(['/o/acme']);
  for (const path of seen) {
    if (path.includes('.csv')) continue;
    for (const [, href = ''] of (await page(path)).matchAll(/href="(\/o\/acme[^"#]*)/g))
      seen.add(href.replaceAll('&amp;', '&'));
  }
  return [...seen];
};

describe('The home of a promoter', () => {
  it('Somebody who acts for one promoter gets to its home, and for two chooses', async () => {
    expect(await at('owner').get('/home')).toMatchObject({ status: 303, to: '/o/acme' });
    const home = await page('/home', 'of two');
    expect(home).toContain('href="/o/acme"');
    expect(home).toContain('href="/o/rival"');
    expect(await page('/o/acme', 'of two')).toContain('<a href="/o/rival">rival</a>');
  });

  it('It says what waits with the act of each, and the numbers with what is behind them', async () => {
    const text = textOf(await page('/o/acme'));
    expect(text).toContain('3 things wait');
    expect(text).toMatch(/Social post .*? Decide/);
    expect(text).toMatch(/List , £10.00: the RFQ waits for staff .*? See where it is/);
    expect(text).toMatch(/Visits 3 none before/);
    expect(text).toMatch(/3 visits in the last 30 days; most on .*?, with 3/);
    expect(text).toContain('1 RFQ for 3 visits: 33 %');
    const html = await page('/o/acme');
    expect(html).toContain(`href="/o/acme/links/${link.id}"`);
    expect(html).toContain('href="/o/acme/rfqs?period=30d&amp;state=won"');
  });

  it('The period is chosen by links, and an unknown one is the last 30 days', async () => {
    for (const [period, text] of [
      ['7d', 'the last 7 days'],
      ['90d', 'the last 90 days'],
      ['month', 'this month so far'],
      ['last-month', 'last month'],
      ['__proto__', 'the last 30 days'],
    ] as const)
      expect(textOf(await page(`/o/acme?period=${period}`))).toContain(`Numbers of ${text}`);
    expect(textOf(await page('/o/acme?from=2026-01-02&to=2026-01-01'))).toContain('last 30 days');
    expect(textOf(await page('/o/acme?from=2026-01-02'))).toContain('no visit in 2 January 2026');
  });

  it('A promoter without records has a page of sentences', async () => {
    const bare = await signedInAs(app, await invite(app, ['owner'], { owners: ['bare'] }));
    const text = textOf((await bare.get('/o/bare')).text);
    expect(text).toContain('Nothing waits for you');
    expect(text).toContain('There was no visit in the last 30 days');
    expect(text).toContain('Without visits there is no rate');
  });

  it('A home without its promoter, or of a name that none can have, is not found', async () => {
    for (const name of ['nobody', 'UPPER', 'a'])
      expect((await at('owner').get(`/o/${name}`)).status, name).toBe(404);
  });
});

describe('All pages and files of a promoter', () => {
  let paths: string[];
  beforeAll(async () => {
    paths = await crawl();
  });

  it('They lead to each other, and show nothing that has to be copied by hand', async () => {
    expect(paths.length).toBeGreaterThan(4);
    for (const path of paths) {
      const html = await page(path);
      if (!path.includes('.csv'))
        expect(textOf(html), path).not.toMatch(/\b(?:agt|lnk|hnd|led|out|per)_[0-9a-z]{24}\b/);
    }
  });

  it.each([
    ['rival', 404],
    ['operator', 403],
    ['privacy', 403],
    ['staff', 200],
  ])('Somebody of %s gets %i for each', async (who, status) => {
    for (const path of paths) {
      // Only owners and operators read the mailbox of a person.
      const isPerson = path.startsWith('/o/acme/people/') && who === 'staff';
      expect((await at(who).get(path)).status, path).toBe(isPerson ? 403 : status);
    }
  });

  it('Somebody who is not signed in gets to the sign-in, and back', async () => {
    const { text } = await at('owner').get('/me');
    expect(text).toContain('Sign out');
    for (const path of paths) {
      const { status, headers } = await app.send({ url: path });
      expect(status, path).toBe(303);
      expect(headers['location'], path).toMatch(/^\/signin\?to=%2Fo%2Facme/);
    }
  });
});

it('A file has the days, its numbers and no formulas', async () => {
  const { headers, text } = await at('owner').get('/o/acme/days.csv?period=7d');
  expect(headers['content-type']).toBe('text/csv; charset=utf-8');
  expect(headers['content-disposition']).toBe('attachment; filename="acme-days.csv"');
  const lines = text.trimEnd().split('\r\n');
  expect(lines[0]).toBe('\ufeffday,visits,visits_unique,lists,rfqs,won,value_won');
  expect(lines).toHaveLength(8);
  expect(lines.at(-1)).toMatch(/^\d{4}-\d{2}-\d{2},3,3,1,1,0,$/);
});
