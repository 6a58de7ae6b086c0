/** The buyer's pages of a listening service in a real browser. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, freshKey, testApp, type TestApp } from '../../support/world/app.ts';
import { mailedPath } from '../../support/world/confirmation.ts';
import type { Visitor } from '../../support/clients/browser.ts';
import {
  answered,
  DESKTOP,
  descriptionOf,
  hasChromium,
  IN_CHROMIUM,
  launchChromium,
  misfits,
  PHONE,
  tab,
  violations,
  visitor,
  weight,
} from '../../support/clients/browser.ts';
import { verifies } from '../../support/source/verifies.ts';

const V1 = '/api/affiliate/v1';
const LONG = 'Enamelware'.repeat(9);
const LINES = [
  { sku: 'MUG-1', quantity: 4, note: 'for the window' },
  { sku: 'MUG-2', quantity: 5 },
  { sku: 'LONG-1', quantity: 4 },
];
const KILOBYTE = 1_000;
const PAGE_BYTES_MAX = 1_500 * KILOBYTE;
const BIG = 700;
/** Lines that the review page shows at once. */
const LINES_PER_PAGE = 100;
const MANY = Array.from({ length: BIG }, (_, n) => feedProduct(`SKU-${n + 1}`));

let app: TestApp;
let browser: Browser;
let origin: string;
let key: string;

beforeAll(async () => {
  app = await testApp({ PUBLIC_URL: '' });
  [origin, browser] = await Promise.all([app.service.listen(), launchChromium()]);
  ({ key } = await app.agent('acme'));
  await app.publish([
    feedProduct('MUG-1', { title: 'Blue mug' }),
    feedProduct('MUG-2', { title: 'Red mug' }, { available_quantity: 3 }),
    feedProduct('LONG-1', { title: LONG, category: LONG, description: LONG }),
    feedProduct('EURO-1', { currency: 'EUR' }),
  ]);
  for (let from = 0; from < BIG; from += 350) await app.publish(MANY.slice(from, from + 350));
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

type Made = { id: string; review_url: string; short_url: string };
const make = async (path: string, payload: object, as = key): Promise<Made> => {
  const headers = { 'idempotency-key': freshKey() };
  const answer = await app.send({ method: 'POST', url: V1 + path, key: as, payload, headers });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body;
};
const list = async (over: object = {}, as = key): Promise<string> => {
  const note_to_buyer = 'Dear Bea,\nas you asked.';
  const body = { title: 'Mugs for the shop', note_to_buyer, line_items: LINES, ...over };
  return (await make('/handoffs', body, as)).review_url;
};
const metricsOf = async (as: string): Promise<object> => {
  const answer = await app.send({
    method: 'GET',
    url: `${V1}/performance?granularity=total`,
    key: as,
  });
  return (answer.body as { data: { metrics: object }[] }).data[0]?.metrics ?? {};
};

/** Runs in a separate browser context, which must report no fault. */
const visit = async (
  run: (page: Page, visitor: Visitor) => Promise<void>,
  options: BrowserContextOptions = DESKTOP,
): Promise<void> => {
  const guest = await visitor(browser, origin, options);
  try {
    await run(guest.page, guest);
    expect(guest.faults).toEqual([]);
  } finally {
    await guest.context.close();
  }
};

const quantity = (page: Page, title: string) =>
  page.getByLabel(`Quantity of ${title}`, { exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const press = (page: Page, name: string): Promise<number> =>
  answered(page, () => button(page, name).click());
const heading = (page: Page) => page.getByRole('heading', { level: 1 }).textContent();
const fillContact = async (page: Page): Promise<void> => {
  await page.getByLabel('Your name').fill('Bea Buyer');
  await page.getByLabel('E-mail').fill('bea@shop.example');
  await page.getByLabel('I ask for a quotation').check();
};
const focusOn = (page: Page, id: string) =>
  page.waitForFunction((wanted) => document.activeElement?.id === wanted, id);

describe.skipIf(!hasChromium)(`A buyer with a review link, ${IN_CHROMIUM}`, () => {
  it('A buyer with a review link follows a link, changes the list and sends it, and performance shows it', async () => {
    verifies('service.6.buyer');
    const { key: as } = await app.agent('desktop');
    const link = await make('/links', { target: { kind: 'search', ref: 'mug' }, slug: 'mugs' }, as);
    const url = await list({ link_id: link.id }, as);
    await visit(async (page) => {
      await page.goto(link.short_url);
      expect(await heading(page)).toBe('Products for “mug”');
      await page.goto(url);
      const opened = page.waitForResponse((one) => one.url().endsWith('/open'));
      await quantity(page, 'Blue mug').click();
      expect((await opened).status()).toBe(204);
      await quantity(page, 'Blue mug').fill('48');
      const row = page.getByRole('row').filter({ has: quantity(page, 'Blue mug') });
      expect(await row.locator('.unit').textContent()).toBe('£1.99');
      expect(await row.locator('.sum').textContent()).toBe('£95.52');
      expect(await press(page, 'Update quantities')).toBe(200);
      await page.getByText('This is version 2 of the list').waitFor();
      await fillContact(page);
      expect(await press(page, 'Ask for a quotation')).toBe(200);
      await page.getByText('Look into your mailbox').waitFor();
      expect(await metricsOf(as)).toMatchObject({ rfqs_submitted: 0, rfqs_unconfirmed: 1 });
      await page.goto(await mailedPath(app, url));
      expect(await press(page, 'Confirm the request')).toBe(200);
      expect(await heading(page)).toBe('Your request is with staff');
      expect(await page.getByRole('main').textContent()).toContain('bea@shop.example');
      await page.goto(url);
      expect(await heading(page)).toBe('Your request was sent');
      await page.getByText('Nothing is ordered.').waitFor();
      expect(await page.getByRole('table').textContent()).toContain('£95.52');
      expect(await page.content()).not.toContain('bea@shop.example');
    });
    expect(await metricsOf(as)).toMatchObject({
      clicks_unique: 1,
      handoffs_created: 1,
      handoffs_opened: 1,
      rfqs_submitted: 1,
      // Its value counts when staff take it up.
      rfq_value: [],
    });
  });

  it('A buyer on a phone without scripts changes and sends a list, and no page overflows horizontally', async () => {
    const much = { sku: 'EURO-1', quantity: 900_000, note: LONG };
    const url = await list({ note_to_buyer: LONG, line_items: [...LINES, much] });
    const fits = async (page: Page) => expect(await misfits(page)).toEqual([]);
    const journey = async (page: Page) => {
      await page.goto(url);
      await fits(page);
      await quantity(page, 'Blue mug').fill('96');
      await quantity(page, 'Red mug').fill('0');
      expect(await answered(page, () => button(page, 'Update quantities').tap())).toBe(200);
      expect(await quantity(page, 'Blue mug').inputValue()).toBe('96');
      expect(await quantity(page, 'Red mug').count()).toBe(0);
      await fits(page);
      expect(await answered(page, () => button(page, 'Ask for a quotation').tap())).toBe(422);
      await fits(page);
      await fillContact(page);
      expect(await answered(page, () => button(page, 'Ask for a quotation').tap())).toBe(200);
      await fits(page);
      await page.goto(await mailedPath(app, url));
      await fits(page);
      expect(await answered(page, () => button(page, 'Confirm the request').tap())).toBe(200);
      expect(await page.getByRole('row').count()).toBe(LINES.length + 2);
      await fits(page);
      await page.goto(url);
      expect(await heading(page)).toBe('Your request was sent');
      expect(await page.getByRole('row').count()).toBe(LINES.length + 2);
      await fits(page);
    };
    await visit(journey, { ...PHONE, javaScriptEnabled: false });
  });

  it('A buyer with a review link can use only the keyboard: each focused element is visible, and Enter and Space activate', async () => {
    const url = await list();
    await visit(async (page) => {
      await page.goto(url);
      expect(await tab(page)).toMatchObject({ text: 'Skip to the content', isShown: true });
      await page.keyboard.press('Enter');
      await focusOn(page, 'main');
      // The number of lines to look at leads to the first of them.
      expect(await tab(page)).toMatchObject({ tag: 'a', isShown: true });
      expect(await tab(page)).toMatchObject({ text: 'Blue mug', isShown: true });
      expect(await tab(page)).toMatchObject({ id: 'quantity.1', isShown: true });
      await page.keyboard.type('8');
      expect(await answered(page, () => page.keyboard.press('Enter'))).toBe(200);
      expect(await quantity(page, 'Blue mug').inputValue()).toBe('8');

      const typed: Record<string, string> = { name: 'Bea Buyer', email: 'bea@shop.example' };
      const stops = [];
      for (
        let stop = await tab(page);
        stop.text !== 'Ask for a quotation';
        stop = await tab(page)
      ) {
        stops.push(stop);
        await page.keyboard.type(typed[stop.id] ?? '');
        if (stop.id === 'consent') await page.keyboard.press('Space');
      }
      expect(stops.filter(({ isShown }) => !isShown)).toEqual([]);
      const fields = ['q', 'name', 'email', 'company', 'phone', 'country', 'message', 'consent'];
      // The notice that the quantity was saved has the focus, below the list.
      expect(stops.map(({ id }) => id).filter(Boolean)).toEqual(fields);
      expect(await answered(page, () => page.keyboard.press('Space'))).toBe(200);
      await page.getByText('Look into your mailbox').waitFor();
    });
  });

  it('A buyer with a review link sees each fault at its field, and keeps the typed values', async () => {
    const url = await list();
    await visit(async (page) => {
      await page.goto(url);
      await page.getByLabel('E-mail').fill('bea@shop');
      await page.getByLabel('Company').fill('Shop & co');
      expect(await press(page, 'Ask for a quotation')).toBe(422);
      await focusOn(page, 'faults');
      expect(await page.getByRole('alert').textContent()).toContain('nothing was sent or changed');
      expect(await page.title()).toMatch(/^Please check: /);
      for (const [id, fault] of Object.entries({
        name: 'Enter your name',
        email: 'Enter an e-mail address',
        consent: 'Tick the box',
      })) {
        expect(await descriptionOf(page, id)).toContain(fault);
        expect(await page.locator(`#${id}`).getAttribute('aria-invalid')).toBe('true');
        await page.getByRole('alert').getByRole('link', { name: fault }).click();
        await focusOn(page, id);
      }
      expect(await page.getByLabel('E-mail').inputValue()).toBe('bea@shop');
      expect(await page.getByLabel('Company').inputValue()).toBe('Shop & co');

      await quantity(page, 'Red mug').fill('many');
      expect(await press(page, 'Update quantities')).toBe(422);
      await focusOn(page, 'faults');
      expect(await quantity(page, 'Red mug').inputValue()).toBe('many');
      expect(await descriptionOf(page, 'quantity.2')).toContain('Red mug: the quantity');
      await page.getByRole('alert').getByRole('link').click();
      await focusOn(page, 'quantity.2');
    });
  });

  it('A buyer with a review link declines the list, which is closed then', async () => {
    const { key: as } = await app.agent('declined');
    const url = await list({}, as);
    await visit(async (page) => {
      await page.goto(url);
      expect(await button(page, 'Decline').isVisible()).toBe(false);
      await page.getByText('Decline this list').press('Enter');
      await page.getByLabel('Reason').fill('Too many');
      expect(await press(page, 'Decline')).toBe(200);
      expect(await heading(page)).toBe('You declined this list');
      expect(await page.getByRole('main').textContent()).toContain('Too many');
      expect(await page.getByRole('main').getByRole('button').count()).toBe(0);
    });
    expect(await metricsOf(as)).toMatchObject({ handoffs_declined: 1, rfqs_submitted: 0 });
  });

  it('A buyer with a review link must confirm again when the list changed in another tab', async () => {
    const { key: as } = await app.agent('outrun');
    const url = await list({}, as);
    await visit(async (page, { context }) => {
      await page.goto(url);
      const other = await context.newPage();
      await other.goto(url);
      await quantity(other, 'Blue mug').fill('12');
      expect(await press(other, 'Update quantities')).toBe(200);
      await page.bringToFront();
      await fillContact(page);
      expect(await press(page, 'Ask for a quotation')).toBe(409);
      const alert = page.getByRole('alert');
      expect(await alert.textContent()).toContain('The list has changed');
      await page.waitForFunction(() => document.activeElement?.role === 'alert');
      expect(await metricsOf(as)).toMatchObject({ rfqs_submitted: 0 });
      expect(await quantity(page, 'Blue mug').inputValue()).toBe('12');
      expect(await page.getByLabel('Your name').inputValue()).toBe('Bea Buyer');
      expect(await page.getByLabel('I ask for a quotation').isChecked()).toBe(false);
      await page.getByLabel('I ask for a quotation').check();
      expect(await press(page, 'Ask for a quotation')).toBe(200);
      await page.getByText('Look into your mailbox').waitFor();
      await other.goto(await mailedPath(app, url));
      await quantity(page, 'Blue mug').fill('16');
      expect(await press(page, 'Update quantities')).toBe(200);
      expect(await press(other, 'Confirm the request')).toBe(409);
      expect(await other.getByRole('alert').textContent()).toContain('Nothing was changed');
      expect(await metricsOf(as)).toMatchObject({ rfqs_submitted: 0 });
      expect(await press(other, 'Confirm the request')).toBe(200);
    });
    expect(await metricsOf(as)).toMatchObject({ rfqs_submitted: 1 });
  });

  it(`A buyer with a review link changes and sends a list of ${BIG} lines`, async () => {
    const items = MANY.map(({ product }) => ({ sku: product.sku, quantity: 4 }));
    const url = await list({ title: 'Everything', line_items: items });
    await visit(async (page) => {
      await page.goto(url);
      const bytes = await weight(page);
      expect(bytes).toBeLessThan(PAGE_BYTES_MAX);
      expect(await page.getByRole('row').count()).toBe(LINES_PER_PAGE + 2);
      await page.goto(`${url}?page=${BIG / LINES_PER_PAGE}`);
      const last = quantity(page, `Product SKU-${BIG}`);
      await last.fill('6');
      await page.getByText('1 quantity not saved yet').waitFor();
      expect(await page.locator('tfoot .total').textContent()).toBe('£7,005.00');
      expect(await press(page, 'Update quantities')).toBe(200);
      expect(await last.inputValue()).toBe('6');
      // Going to another page saves the quantities of this one.
      await last.fill('8');
      expect(await press(page, `Page ${BIG / LINES_PER_PAGE - 1}`)).toBe(200);
      expect(await page.locator('tfoot .total').textContent()).toBe('£7,010.00');
      await fillContact(page);
      expect(await press(page, 'Ask for a quotation')).toBe(200);
      await page.getByText('Look into your mailbox').waitFor();
    });
  });
});

describe.skipIf(!hasChromium)(`The buyer's pages, ${IN_CHROMIUM}`, () => {
  const passes = async (page: Page) => expect(await violations(page)).toEqual([]);

  it("The buyer's pages pass axe in light and dark, from the open list to the receipt", async () => {
    const url = await list();
    await visit(async (page) => {
      await page.goto(url);
      await page.getByText('Decline this list').click();
      await passes(page);
      expect(await press(page, 'Ask for a quotation')).toBe(422);
      await passes(page);
      await quantity(page, 'Red mug').fill('many');
      expect(await press(page, 'Update quantities')).toBe(422);
      await passes(page);
      await quantity(page, 'Red mug').fill('4');
      expect(await press(page, 'Update quantities')).toBe(200);
      await fillContact(page);
      expect(await press(page, 'Ask for a quotation')).toBe(200);
      await passes(page);
      await page.goto(await mailedPath(app, url));
      await page.getByText('This was not me').click();
      await passes(page);
      expect(await press(page, 'Confirm the request')).toBe(200);
      await page.getByText('Withdraw the request').click();
      await passes(page);
      await page.goto(url);
      await passes(page);
    });
  });

  it("The buyer's pages pass axe outside of lists, with words of any length", async () => {
    const answer = await app.send({ method: 'GET', url: `${V1}/products?q=enamelware`, key });
    const [product] = (answer.body as { data: { id: string }[] }).data;
    const search = '/s?q=enamelware';
    const paths = ['/', `/p/${product?.id}`, search, '/problems', '/problems/scope_missing'];
    await visit(async (page) => {
      for (const path of paths) {
        await page.goto(path);
        await passes(page);
        expect(await misfits(page), path).toEqual([]);
      }
    });
  });

  it("The buyer's pages report a violation of their content security policy, and script errors", async () => {
    const { page, context, faults } = await visitor(browser, origin);
    await page.goto('/');
    await page.evaluate(() => {
      const script = document.createElement('script');
      script.textContent = 'void 0';
      document.body.append(script);
      queueMicrotask(() => {
        throw new Error('a fault of the page');
      });
    });
    await page.goto('/no-such-page');
    const seen = () => faults.join('\n');
    await expect.poll(seen).toMatch(/console: .*Content Security Policy/);
    await expect.poll(seen).toMatch(/script: a fault of the page/);
    await expect.poll(seen).toMatch(/404: /);
    await context.close();
  });
});
