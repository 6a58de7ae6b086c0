/** The pages of staff in a real browser: by keyboard, without script, at two widths and in both themes. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { productIdOfSku } from '#src/catalog/import-products.ts';
import { referenceOf } from '#src/ports/reference.ts';
import { quotationPath, quotationTokenOf } from '#src/shared/signing.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../../support/world/app.ts';
import { invite, type Invited, settled } from '../../support/world/browsing.ts';
import { quoteFor } from '../../support/world/deals.ts';
import { people } from '../../support/world/people.ts';
import { buyerOver } from '../../support/world/server-over.ts';
import {
  DESKTOP,
  hasChromium,
  IN_CHROMIUM,
  launchChromium,
  misfits,
  PHONE,
  violations,
  visitor,
} from '../../support/clients/browser.ts';

let app: TestApp;
let browser: Browser;
let origin: string;
let list: string;
let agentId: string;
let agentKey: string;
let token: string;
let guest: Invited;

/** Names that break layouts: without a place to break, and from right to left. */
const COMPANY = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft';
const TITLE = 'رف المطبخ للخريف';

const HOUSE = {
  HOUSE_NAME: 'Tin & Wire',
  HOUSE_ADDRESS: '1 Quay Street, Whitby',
  HOUSE_MAILBOX: 'sales@house.example',
};
const LINES = 30;

beforeAll(async () => {
  app = await testApp({ PUBLIC_URL: '', ...HOUSE });
  const [at, chromium] = await Promise.all([app.service.listen(), launchChromium()]);
  browser = chromium;
  origin = at.replace('127.0.0.1', 'localhost');
  app.service.dispatcher.start();
  await app.publish([feedProduct('MUG-1'), feedProduct('MUG-2')]);
  const agent = await app.agent('acme');
  const { key } = agent;
  ({ agentId } = agent);
  agentKey = key;
  guest = await invite(app, ['owner'], { owners: ['acme'] });
  const issued = await app.desk('POST', '/desk-tokens', { name: 'Nightly', roles: ['staff'] });
  token = (issued.body as { id: string }).id;
  await people(app).lead(key, 'ada@shop.example');
  const made = await app.send({
    method: 'POST',
    url: '/api/affiliate/v1/handoffs',
    key,
    payload: {
      title: TITLE,
      buyer: { company: COMPANY },
      line_items: ['MUG-1', 'MUG-2'].map((sku) => ({ sku, quantity: 48 })),
    },
    headers: { 'idempotency-key': freshKey() },
  });
  const { id, review_url } = made.body as { id: string; review_url: string };
  const contact = { name: 'Bea Buyer', email: 'bea@shop.example', message: 'Before Easter?' };
  await buyerOver(app.service.deps, review_url).request({
    list_revision: 1,
    consent: true,
    contact,
  });
  list = id;
  await settled(app);
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

/** A list of several sheets that was sent, and quoted. */
const quotedList = async () => {
  const skus = Array.from({ length: LINES }, (_, at) => `PAPER-${at}`);
  await app.publish(skus.map((sku) => feedProduct(sku)));
  const made = await app.send({
    method: 'POST',
    url: '/api/affiliate/v1/handoffs',
    key: agentKey,
    payload: { title: 'Long list', line_items: skus.map((sku) => ({ sku, quantity: 4 })) },
    headers: { 'idempotency-key': freshKey() },
  });
  const { id, review_url } = made.body as { id: string; review_url: string };
  const contact = { name: 'Bea Buyer', email: 'bea@shop.example' };
  const sent = { list_revision: 1, consent: true, contact };
  await buyerOver(app.service.deps, review_url).request(sent);
  const unit_price = { amount: 250, currency: 'GBP' };
  const lines = skus.map((_, at) => ({ line_id: String(at + 1), quantity: 4, unit_price }));
  const quote = quoteFor(app, unit_price.amount, { lines });
  const quoted = await app.desk('POST', `/handoffs/${id}/rfq/quote`, quote);
  if (quoted.status >= 300) throw new Error(quoted.text);
  await settled(app);
  return { handoff_id: id, review_url };
};

const staffPage = async (options: Parameters<typeof visitor>[2]) => {
  const person = await invite(app, ['staff', 'privacy', 'operator']);
  const opened = await visitor(browser, origin, options);
  await opened.page.goto(person.link);
  await opened.page.getByRole('button').first().click();
  await opened.page.waitForURL(/\/home/);
  return opened;
};

describe.skipIf(!hasChromium)(`The pages of staff, ${IN_CHROMIUM}`, () => {
  it('Every page fits a phone and a screen, and has no fault that axe finds', async () => {
    const { page, context, faults } = await staffPage(DESKTOP);
    for (const path of [
      '/desk',
      '/desk?others=1',
      '/desk?kind=access',
      `/desk/r/${list}`,
      '/desk/search',
      '/desk/catalog',
      '/desk/catalog/import',
      `/desk/catalog/${productIdOfSku('MUG-1')}`,
      '/desk/owners',
      '/desk/owners/acme',
      `/desk/r/${agentId}`,
      '/desk/people',
      `/desk/people/${guest.id}`,
      '/desk/tokens',
      `/desk/tokens/${token}`,
    ]) {
      for (const { viewport } of [DESKTOP, PHONE]) {
        await page.setViewportSize(viewport);
        await page.goto(path);
        expect(await misfits(page), path).toEqual([]);
      }
      await page.evaluate(
        'for (const act of document.querySelectorAll("details")) act.open = true',
      );
      expect(await misfits(page), `${path}, all open`).toEqual([]);
      expect(await violations(page), path).toEqual([]);
    }
    expect(faults).toEqual([]);
    await context.close();
  });

  it('The inbox is worked by keyboard, and the search finds a reference', async () => {
    const { page, context, faults } = await staffPage(DESKTOP);
    await page.goto('/desk');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/desk/r/${list}`);
    await page.keyboard.press('a');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('The request is taken up.').waitFor();
    await page.keyboard.press('i');
    await page.waitForURL('**/desk');
    await page.keyboard.press('/');
    await page.keyboard.type(referenceOf(list));
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/desk/r/${list}`);
    expect(faults).toEqual([]);
    await context.close();
  });

  it('Each key does what the help says, and only outside of fields', async () => {
    const { page, context, faults } = await staffPage({ viewport: { width: 1100, height: 300 } });
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await page.goto('/desk');
    const [first, second] = await page.locator('[data-item]').allTextContents();
    for (const [key, item] of [
      ['j', first],
      ['j', second],
      ['k', first],
      ['k', first],
    ] as const) {
      await page.keyboard.press(key);
      expect(await focused(), key).toBe(item);
    }
    const help = page.locator('.keys');
    const isSeen = async () => ((await help.boundingBox())?.y ?? 300) < 300;
    await page.evaluate(() => scrollTo(0, 0));
    expect(await isSeen()).toBe(false);
    await page.keyboard.press('?');
    expect(await isSeen()).toBe(true);
    const reloaded = page.waitForEvent('load');
    await page.keyboard.press('r');
    await reloaded;
    await page.keyboard.press('/');
    await page.keyboard.type('jkra?/');
    expect(await page.locator('#q').inputValue()).toBe('jkra?/');
    await page.goto('/desk');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/desk/r/*');
    const opened = page.url();
    await page.keyboard.press('a');
    expect(await page.locator('details.act').first().getAttribute('open')).toBe('');
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('SUMMARY');
    await page.keyboard.press('n');
    await page.waitForURL((url) => url.href !== opened && url.pathname.startsWith('/desk/r/'));
    await page.keyboard.press('i');
    await page.waitForURL('**/desk');
    expect(faults).toEqual([]);
    await context.close();
  });

  it('The counts of the inbox and of its title are reloaded every 15 s', async () => {
    const { page, context, faults } = await staffPage(DESKTOP);
    let asked = 0;
    page.on('request', (request) => (asked += Number(request.url().endsWith('/desk/counts'))));
    await page.clock.install({ time: 0 });
    await page.clock.pauseAt(1_000);
    await page.goto('/desk');
    const all = page.locator('[data-count="all"]');
    const before = Number(await all.textContent());
    await people(app).lead(agentKey, 'counted@shop.example');
    await settled(app);
    await page.clock.runFor(14_999);
    expect(asked).toBe(0);
    const counted = page.waitForResponse('**/desk/counts');
    await page.clock.runFor(1);
    await counted;
    await expect.poll(() => all.textContent()).toBe(String(before + 1));
    expect(await page.title()).toMatch(new RegExp(`^\\(${before + 1}\\) Inbox`));
    expect(faults).toEqual([]);
    await context.close();
  });

  it('Without script, the links of the inbox lead to a record, its acts, the next record and back, and the search finds', async () => {
    const { page, context, faults } = await staffPage({ ...DESKTOP, javaScriptEnabled: false });
    await page.goto('/desk');
    await page.locator('[data-item]').first().click();
    await page.waitForURL('**/desk/r/*');
    await page.locator('summary', { hasText: /^Note$/ }).click();
    await page.getByLabel('Note', { exact: true }).fill('Called them');
    await page.getByRole('button', { name: 'Add the note' }).click();
    await page.getByText('Called them').waitFor();
    await page.getByRole('link', { name: 'Next record' }).click();
    await page.waitForURL('**/desk/r/*');
    await page.getByRole('link', { name: 'Inbox' }).last().click();
    await page.waitForURL('**/desk');
    await page.getByRole('link', { name: /^Requests/ }).click();
    await page.waitForURL('**/desk?kind=*');
    await page.locator('#q').fill(referenceOf(list));
    await page.getByRole('button', { name: 'Search' }).click();
    await page.waitForURL(`**/desk/r/${list}`);
    expect(faults).toEqual([]);
    await context.close();
  });

  it('A quotation is made without script on a phone, and a refusal keeps what was typed', async () => {
    const { page, context } = await staffPage({ ...PHONE, javaScriptEnabled: false });
    await page.goto(`/desk/r/${list}#acts`);
    await page.getByLabel('Terms of payment and delivery').fill('Within 30 days');
    await page.locator('#quote-price-1').fill('much');
    await page.getByRole('button', { name: 'Make the quotation' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByLabel('Terms of payment and delivery').inputValue()).toBe(
      'Within 30 days',
    );
    await page.locator('#quote-price-1').fill('');
    await page.getByRole('button', { name: 'Make the quotation' }).click();
    await page.getByText('The quotation is made.').waitFor();
    await context.close();
  });

  it('On paper, a record, a list and a quotation have all lines, their sum and who sells, and nothing to press', async () => {
    const { handoff_id, review_url } = await quotedList();
    const open = (await people(app).handoff(agentKey)).review_url;
    const { page, context } = await staffPage(DESKTOP);
    const token = quotationTokenOf(app.service.deps.secrets, { handoffId: handoff_id, number: 1 });
    await page.emulateMedia({ media: 'print' });
    // A sheet of A4 without its margins.
    await page.setViewportSize({ width: 718, height: 1040 });
    for (const [url, lines] of [
      [`/desk/r/${handoff_id}`, 2 * LINES],
      [quotationPath(token), LINES],
      [new URL(review_url).pathname, LINES],
      [new URL(open).pathname, 1],
    ] as const) {
      await page.goto(url);
      const pressed = 'nav, button, summary, select, textarea, input:not(.quantity)';
      const shown = page.locator(pressed).filter({ visible: true });
      expect(await shown.evaluateAll((all) => all.map(({ outerHTML }) => outerHTML)), url).toEqual(
        [],
      );
      expect(await page.locator('tbody tr').filter({ visible: true }).count(), url).toBe(lines);
      expect(await page.locator('tfoot').filter({ visible: true }).count(), url).toBeGreaterThan(0);
      await page.getByText(HOUSE.HOUSE_NAME).waitFor();
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide, url).toBe(718);
      const display = (tag: string) =>
        page
          .locator(tag)
          .first()
          .evaluate((element) => getComputedStyle(element).display);
      // Rows are no cards, and the sum is not repeated on each sheet.
      expect(await display('tbody tr'), url).toBe('table-row');
      expect(await display('tfoot'), url).toBe('table-row-group');
    }
    await context.close();
  });

  it('A feed is uploaded, looked at and imported on a phone without script', async () => {
    const { page, context } = await staffPage({ ...PHONE, javaScriptEnabled: false });
    const rows = ['id,title,price,available_quantity', 'MUG-1,Mug with a longer name,2.75 GBP,9'];
    const upload = async (bytes: Buffer) => {
      await page.goto('/desk/catalog/import');
      const file = { name: 'feed.csv', mimeType: 'text/csv', buffer: bytes };
      await page.getByLabel('File', { exact: true }).setInputFiles(file);
      await page.getByRole('button', { name: 'Show what would change' }).click();
    };
    await upload(Buffer.alloc(9 * 1_048_576, 'x'));
    await page.getByText('The file is too large for this page').waitFor();
    await page.getByRole('link', { name: 'Back to the import' }).click();
    await page.waitForURL('**/desk/catalog/import');
    await upload(Buffer.from([...rows, 'NEW-1,New,1.00 GBP,1', 'BAD-1,,,'].join('\n')));
    await page.getByRole('heading', { name: 'What would change' }).waitFor();
    expect(await misfits(page)).toEqual([]);
    await page.getByRole('button', { name: 'Import exactly this' }).click();
    await page.getByText('The feed is imported.').waitFor();
    await context.close();
  });

  it('The preview of a feed and its result have no fault that axe finds', async () => {
    const { page, context, faults } = await staffPage(DESKTOP);
    await page.goto('/desk/catalog/import');
    const feed =
      'id,title,price,available_quantity\nMUG-1,Mug,2.25 GBP,9\nNEW-2,New,1.00 GBP,1\nBAD,,,';
    await page.getByLabel('Or its text').fill(feed);
    await page.getByRole('button', { name: 'Show what would change' }).click();
    for (const button of ['Import exactly this', undefined]) {
      expect(await violations(page)).toEqual([]);
      await page.setViewportSize(PHONE.viewport);
      expect(await misfits(page)).toEqual([]);
      if (button !== undefined) await page.getByRole('button', { name: button }).click();
      if (button !== undefined) await page.getByText('The feed is imported.').waitFor();
    }
    expect(faults).toEqual([]);
    await context.close();
  });
});
