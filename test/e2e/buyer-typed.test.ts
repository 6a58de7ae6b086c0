/** What a buyer has typed goes along with whatever is pressed, with script and without. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApp } from '../support/app.ts';
import { feedProduct, freshKey, testApp } from '../support/app.ts';
import {
  answered,
  DESKTOP,
  hasChromium,
  IN_CHROMIUM,
  launchChromium,
  overflow,
  PHONE,
  violations,
  visitor,
} from '../support/browser.ts';

const LINES = [
  { sku: 'MUG-1', quantity: 4 },
  { sku: 'MUG-2', quantity: 5 },
];

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
    feedProduct('MUG-2', { title: 'Red mug' }),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

type List = { id: string; review_url: string };
const list = async (): Promise<List> => {
  const answer = await app.send({
    method: 'POST',
    url: '/api/affiliate/v1/handoffs',
    key,
    payload: { title: 'Mugs for the shop', line_items: LINES },
    headers: { 'idempotency-key': freshKey() },
  });
  return answer.body;
};
const events = async ({ id }: List) =>
  (await app.service.deps.log.readStream(`acme-handoff_${id.slice(4)}`)).map(({ type }) => type);

/** Opens a list in a browser of its own, which must end without one complaint. */
const open = async (
  run: (page: Page, made: List) => Promise<void>,
  options: BrowserContextOptions,
): Promise<void> => {
  const made = await list();
  const { page, context, faults } = await visitor(browser, origin, options);
  try {
    await page.goto(made.review_url);
    await run(page, made);
    expect(faults).toEqual([]);
  } finally {
    await context.close();
  }
};

const quantity = (page: Page, title: string) =>
  page.getByLabel(`Quantity of ${title}`, { exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const heading = (page: Page) => page.getByRole('heading', { level: 1 }).textContent();
const sending = (page: Page) => page.getByRole('region', { name: 'Ask for a quotation' });
const email = (page: Page) => page.getByLabel('E-mail');
const fillContact = async (page: Page): Promise<void> => {
  await page.getByLabel('Your name').fill('Bea Buyer');
  await email(page).fill('bea@shop.example');
  await page.getByLabel('I ask for a quotation').check();
};
const enter = (page: Page): Promise<number> => answered(page, () => page.keyboard.press('Enter'));

const SETTINGS: [string, BrowserContextOptions][] = [
  ['on a phone without script', { ...PHONE, javaScriptEnabled: false }],
  ['with script', DESKTOP],
];

describe.skipIf(!hasChromium)(`what a buyer typed, ${IN_CHROMIUM}`, () => {
  it.each(SETTINGS)('is what “Ask for a quotation” sends, %s', async (_name, options) => {
    const run = async (page: Page, made: List) => {
      await quantity(page, 'Blue mug').fill('48');
      await quantity(page, 'Red mug').fill('0');
      await fillContact(page);
      expect(await answered(page, () => button(page, 'Ask for a quotation').click())).toBe(200);
      expect(await heading(page)).toBe('Your request was sent');
      expect(await page.getByRole('table').textContent()).toContain('£95.52');
      expect(await page.getByRole('table').textContent()).not.toContain('Red mug');
      expect(await events(made)).toEqual([
        'HandoffCreated',
        'HandoffOpenedByBuyer',
        'HandoffListRevisedByBuyer',
        'RfqSubmittedByBuyer',
      ]);
    };
    await open(run, options);
  });

  it.each(SETTINGS)('is saved and shown first when Enter ends it, %s', async (_name, options) => {
    const run = async (page: Page, made: List) => {
      await quantity(page, 'Blue mug').fill('48');
      await fillContact(page);
      await email(page).focus();
      expect(await enter(page)).toBe(200);
      expect(await page.getByRole('status').first().textContent()).toContain('Nothing was sent');
      expect(await quantity(page, 'Blue mug').inputValue()).toBe('48');
      expect(await sending(page).textContent()).toContain('£108.02');
      expect(await email(page).inputValue()).toBe('bea@shop.example');
      expect(await page.getByLabel('I ask for a quotation').isChecked()).toBe(true);
      expect(await events(made)).not.toContain('RfqSubmittedByBuyer');
      await email(page).focus();
      expect(await enter(page)).toBe(200);
      expect(await heading(page)).toBe('Your request was sent');
    };
    await open(run, options);
  });

  it.each(SETTINGS)(
    'stays where something is wrong, and changes nothing, %s',
    async (_, options) => {
      const run = async (page: Page, made: List) => {
        await quantity(page, 'Blue mug').fill('48');
        await fillContact(page);
        await email(page).fill('bea@shop');
        expect(await answered(page, () => button(page, 'Ask for a quotation').click())).toBe(422);
        expect(await quantity(page, 'Blue mug').inputValue()).toBe('48');
        expect(await email(page).inputValue()).toBe('bea@shop');
        expect(await events(made)).toEqual(['HandoffCreated', 'HandoffOpenedByBuyer']);

        await quantity(page, 'Red mug').fill('99999999999');
        await quantity(page, 'Red mug').focus();
        expect(await enter(page)).toBe(422);
        expect(await quantity(page, 'Blue mug').inputValue()).toBe('48');
        expect(await email(page).inputValue()).toBe('bea@shop');
        await quantity(page, 'Red mug').fill('6');
        expect(await answered(page, () => button(page, 'Update quantities').click())).toBe(200);
        expect(await email(page).inputValue()).toBe('bea@shop');
        expect(await overflow(page)).toBe(0);
      };
      await open(run, options);
    },
  );

  it('is shown as it would be sent while it is typed', async () => {
    const run = async (page: Page) => {
      await quantity(page, 'Blue mug').fill('48');
      expect(await sending(page).textContent()).toContain('£108.02');
      await quantity(page, 'Red mug').fill('0');
      expect(await sending(page).textContent()).toMatch(/1 line,\s+£95\.52/);
    };
    await open(run, DESKTOP);
  });

  it('passes axe where it was saved', async () => {
    const run = async (page: Page) => {
      await quantity(page, 'Blue mug').fill('48');
      await fillContact(page);
      expect(await answered(page, () => button(page, 'Update quantities').click())).toBe(200);
      expect(await violations(page)).toEqual([]);
    };
    await open(run, DESKTOP);
  });
});
