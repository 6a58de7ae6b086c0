/** The import of a feed on a page of the desk: a preview, and the import of exactly what it showed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testApp, type TestApp } from '../support/world/app.ts';
import {
  browsing,
  type Browsing,
  invite,
  settled,
  signedInAs,
  signInByMail,
} from '../support/world/browsing.ts';

let app: TestApp;
let staff: Browsing;

const PAGE = '/desk/catalog/import';
const HEAD = 'id,title,price,available_quantity';
const feedOf = (...rows: string[]): string => [HEAD, ...rows].join('\n');
const FIRST = feedOf('A-1,Mug <one>,2.50 GBP,10', 'A-2,Bowl,3.00 GBP,5', 'A-3,Jug,9.00 GBP,1');

beforeAll(async () => {
  app = await testApp();
  app.service.dispatcher.start();
  staff = await signedInAs(app, await invite(app, ['staff']));
});
afterAll(() => app.close());

type Fields = Record<string, string | Buffer>;

/** Sends a form with files, as a browser does. */
const send = async (name: string, fields: Fields, browser = staff) => {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields))
    form.append(field, typeof value === 'string' ? value : new Blob([new Uint8Array(value)]));
  const body = new Response(form);
  const {
    statusCode: status,
    body: text,
    headers,
    cookies,
  } = await app.service.server.inject({
    method: 'POST',
    url: `${PAGE}/${name}`,
    headers: {
      host: 't.example',
      'sec-fetch-site': 'same-origin',
      'content-type': body.headers.get('content-type') ?? '',
      cookie: [...browser.cookies].map(([cookie, value]) => `${cookie}=${value}`).join('; '),
    },
    payload: Buffer.from(await body.arrayBuffer()),
  });
  for (const { name: cookie, value } of cookies) browser.cookies.set(cookie, value);
  return { status, text, to: headers.location };
};

const hiddenIn = (text: string): Record<string, string> => {
  const [form = ''] = /<form[^>]*action="\/desk\/catalog\/import[^]*?<\/form>/.exec(text) ?? [];
  const hidden = [...form.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  return Object.fromEntries(hidden.map(([, name, value]) => [name, value]));
};
const opened = async (browser = staff) => hiddenIn((await browser.get(PAGE)).text);

const preview = async (text: string | Buffer, more: Fields = {}) =>
  send('preview', {
    ...(await opened()),
    [typeof text === 'string' ? 'text' : 'feed']: text,
    source: 'main',
    ...more,
  });
const confirm = async (text: string, more: Fields = {}) => {
  const done = await send('confirm', { ...hiddenIn(text), ...more });
  await settled(app);
  return done;
};
const priceOf = async (sku: string) =>
  (await app.desk('GET', `/products/${sku}`)).body as {
    status?: string;
    price_tiers?: { unit_price: { amount: number } }[];
  };

describe('The import of a feed on a page', () => {
  it('A preview shows what is new and rejected and writes nothing, and its button imports exactly that', async () => {
    const shown = await preview(Buffer.from(`${FIRST}\nA-4,No price,,1\n`));
    expect(shown.status).toBe(200);
    for (const text of ['3 new', 'Mug &lt;one&gt;', 'Line 5', 'price', 'is missing'])
      expect(shown.text).toContain(text);
    expect((await app.desk('GET', '/products/A-1')).status).toBe(404);
    const done = await confirm(shown.text);
    expect(done.text).toContain('The feed is imported.');
    expect((await priceOf('A-1')).price_tiers?.[0]?.unit_price.amount).toBe(250);
    // The same press again has no second effect.
    const { position } = await app.service.deps.log.head();
    expect((await confirm(shown.text)).text).toContain('The feed is imported.');
    const later = await app.service.deps.log.readAll({ after: position, limit: 100 });
    expect(later.filter(({ owner }) => owner === 'catalog')).toEqual([]);
  });

  it('A preview shows each change before and after by column, and says when nothing would change', async () => {
    const same = await preview(FIRST);
    expect(same.text).toContain('Nothing would change');
    expect(same.text).not.toContain('Import exactly this');
    const shown = await preview(FIRST.replace('3.00', '3.50').replace('Bowl', 'Deep bowl'));
    expect(shown.text).toContain(
      'title: <del>&quot;Bowl&quot;</del> → <ins>&quot;Deep bowl&quot;</ins>',
    );
    expect(shown.text).toContain('<del>1:3.00 GBP</del> → <ins>1:3.50 GBP</ins>');
    await confirm(shown.text);
    expect((await priceOf('A-2')).price_tiers?.[0]?.unit_price.amount).toBe(350);
  });

  it('A product that somebody changes after the preview is rejected, and the others are imported', async () => {
    const shown = await preview(FIRST.replace('2.50', '2.75').replace('9.00', '9.50'));
    await app.publish([{ product: { sku: 'A-1', unit_price: 199 } }]);
    await settled(app);
    const done = await confirm(shown.text);
    expect(done.text).toContain('was changed after the preview');
    expect((await priceOf('A-1')).price_tiers?.[0]?.unit_price.amount).toBe(199);
    expect((await priceOf('A-3')).price_tiers?.[0]?.unit_price.amount).toBe(950);
  });

  it('What the file no longer has is shown, and ends only once a large share is confirmed', async () => {
    const shown = await preview(feedOf('A-1,Mug,2.00 GBP,10', 'A-2,Bowl,3.50 GBP,5'), {
      ends: 'yes',
    });
    expect(shown.text).toContain('1 that the file no longer has');
    const refused = await confirm(shown.text);
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('Confirm that the file is complete');
    expect((await priceOf('A-3')).status).toBe('published');
    const done = await confirm(refused.text, { complete: 'yes' });
    expect(done.text).toContain('The feed is imported.');
    expect((await priceOf('A-3')).status).toBe('withdrawn');
  });

  it('A line whose id cannot be read ends nothing', async () => {
    const shown = await preview(feedOf('A-1,Mug,2.00 GBP,10', ',,,'), { ends: 'yes' });
    expect(shown.text).toContain('Nothing is withdrawn: line 3');
  });

  it.each<[string, Fields, string]>([
    ['nothing', {}, 'Choose a file, or paste its text.'],
    ['an empty file', { feed: Buffer.from('') }, 'Choose a file'],
    ['none of the columns', { text: 'a,b\n1,2' }, 'the file has no column id, title, price'],
    ['a workbook', { feed: Buffer.from([80, 75, 3, 4, 0, 0, 0, 0]) }, 'not text in UTF-8'],
    ['a withdrawal of no feed', { text: FIRST, ends: 'yes', source: '' }, 'Name the feed whose'],
    [
      'a name that is too long',
      { text: FIRST, source: 'x'.repeat(65) },
      'The name of a feed has at most 64',
    ],
  ])(
    'The form with %s is a sentence, and keeps what was typed',
    async (_what, fields, sentence) => {
      const answer = await send('preview', { ...(await opened()), replace: 'yes', ...fields });
      expect(answer.status).toBe(422);
      expect(answer.text).toContain(sentence);
      expect(answer.text).toMatch(/name="replace" value="yes" checked/);
      expect(answer.text).toContain(`action="${PAGE}/preview"`);
      if (typeof fields['text'] === 'string')
        expect(answer.text).toContain(fields['text'].replaceAll('<', '&lt;').split('\n')[0]);
    },
  );

  it('Every line with a fault offers no import', async () => {
    const shown = await preview(feedOf('A-9,,,1'));
    expect(shown.text).toContain('every line has a fault');
    expect(shown.text).not.toContain('Import exactly this');
  });

  it('A file of 30 MB is a sentence with a way on, of 5 MB too, and the page still works', async () => {
    for (const megabytes of [5, 30]) {
      const answer = await preview(Buffer.alloc(megabytes * 1_048_576, 'x'));
      expect(answer.status).toBe(413);
      expect(answer.text).toContain('tributary catalog import FILE');
      expect(answer.text).toContain(`href="${PAGE}"`);
    }
    expect((await preview(FIRST)).status).toBe(200);
  });

  it('A form that is not one, a changed preview and a form of another page are refused', async () => {
    const sent = await app.service.server.inject({
      method: 'POST',
      url: `${PAGE}/preview`,
      headers: {
        host: 't.example',
        accept: 'text/html',
        'content-type': 'multipart/form-data; boundary=x',
        cookie: [...staff.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      },
      payload: 'no form',
    });
    expect(sent.statusCode).toBe(400);
    const own = await opened();
    for (const packed of ['', 'AAAA', '%%%'])
      expect((await send('confirm', { ...own, packed, since: '1' })).status, packed).toBe(422);
    expect((await send('confirm', { ...own, packed: '', since: 'x' })).status).toBe(422);
    expect((await send('preview', { ...own, csrf: 'x', text: FIRST })).status).toBe(403);
    expect((await staff.get(`${PAGE}/preview`)).to).toBe(PAGE);
  });

  it('Only staff who are signed in send a feed: others are answered before it is read', async () => {
    const nobody = browsing(app);
    expect((await send('preview', { text: FIRST }, nobody)).to).toMatch(/^\/signin/);
    const auditor = await signedInAs(app, await invite(app, ['auditor']));
    expect((await send('preview', { text: FIRST }, auditor)).status).toBe(403);
    expect((await auditor.get(PAGE)).status).toBe(403);
  });

  it('A feed of 1,200 products is imported in several calls', async () => {
    const rows = Array.from({ length: 1_200 }, (_, row) => `B-${row},Row ${row},1.00 GBP,1`);
    const shown = await preview(Buffer.from(feedOf(...rows)), { source: 'bulk' });
    expect(shown.text).toContain('The first 100 of 1,200 new');
    const done = await confirm(shown.text);
    expect(done.text).toContain('<dd>1,200</dd>');
    expect((await priceOf('B-1199')).status).toBe('published');
  });

  it('A file that was sent after the session had ended is asked for again after the sign-in, once', async () => {
    const person = await invite(app, ['staff']);
    const browser = await signedInAs(app, person);
    const hidden = await opened(browser);
    await browser.press('/me', '/signout');
    const sent = await send('preview', { ...hidden, feed: Buffer.from(FIRST) }, browser);
    expect(sent.to).toBe(`/signin?to=${encodeURIComponent(PAGE)}`);
    expect((await signInByMail(app, browser, person.mailbox, PAGE)).to).toBe(PAGE);
    const said = 'Your session had ended, so the file was not read.';
    expect((await browser.get(PAGE)).text).toContain(said);
    expect((await browser.get(PAGE)).text).not.toContain(said);
  });
});
