/** Every button of the buyer's page submits all typed values, with and without scripts. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, freshKey, testApp, type TestApp } from '../../support/world/app.ts';
import {
  answered,
  descriptionOf,
  DESKTOP,
  hasChromium,
  IN_CHROMIUM,
  launchChromium,
  misfits,
  PHONE,
  tab,
  violations,
  visitor,
} from '../../support/clients/browser.ts';

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
    feedProduct('JUG-1', { title: 'Tin jug' }),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

type List = { id: string; review_url: string };
const list = async (line_items = LINES): Promise<List> => {
  const answer = await app.send({
    method: 'POST',
    url: '/api/affiliate/v1/handoffs',
    key,
    payload: { title: 'Mugs for the shop', line_items },
    headers: { 'idempotency-key': freshKey() },
  });
  return answer.body;
};
const events = async ({ id }: List) =>
  (await app.service.deps.log.readStream(`acme-handoff_${id.slice(4)}`)).map(({ type }) => type);

/** Opens a list in a separate browser context, which must report no fault. */
const open = async (
  run: (page: Page, made: List) => Promise<void>,
  options: BrowserContextOptions,
  known?: List,
): Promise<void> => {
  const made = known ?? (await list());
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
const sending = (page: Page) => page.getByRole('region', { name: 'Ask for a quotation' });
const email = (page: Page) => page.getByLabel('E-mail');
const fillContact = async (page: Page): Promise<void> => {
  await page.getByLabel('Your name').fill('Bea Buyer');
  await email(page).fill('bea@shop.example');
  await page.getByLabel('I ask for a quotation').check();
};
/** Whether the element of this id has the focus, and no other element covers it. */
const isInSight = (page: Page, id: string): Promise<boolean> =>
  page.evaluate((wanted) => {
    const element = document.activeElement;
    if (element?.id !== wanted) return false;
    const { x, y, width, height } = element.getBoundingClientRect();
    return document.elementFromPoint(x + width / 2, y + height / 2) === element;
  }, id);
const enter = (page: Page): Promise<number> => answered(page, () => page.keyboard.press('Enter'));

const NARROW = { ...PHONE, viewport: { width: 360, height: 740 } };
const SETTINGS: [string, BrowserContextOptions][] = [
  ['on a phone without scripts', { ...PHONE, javaScriptEnabled: false }],
  ['with scripts', DESKTOP],
];

describe.skipIf(!hasChromium)(`What a buyer typed, ${IN_CHROMIUM}`, () => {
  it.each(SETTINGS)(
    'A quantity that a buyer typed is what “Ask for a quotation” sends, %s',
    async (_name, options) => {
      const run = async (page: Page, made: List) => {
        await quantity(page, 'Blue mug').fill('48');
        await quantity(page, 'Red mug').fill('0');
        await fillContact(page);
        const send = () => answered(page, () => button(page, 'Ask for a quotation').click());
        if (options.javaScriptEnabled === false) {
          // Without scripts the buyer has not seen the new total yet.
          expect(await send()).toBe(409);
          expect(await page.getByRole('alert').textContent()).toContain('nothing was sent yet');
          expect(await events(made)).toEqual(['HandoffCreated', 'HandoffOpenedByBuyer']);
          expect(await sending(page).textContent()).toMatch(/1\s+line,\s+£95\.52/);
          expect(await quantity(page, 'Blue mug').inputValue()).toBe('48');
          expect(await email(page).inputValue()).toBe('bea@shop.example');
          expect(await misfits(page)).toEqual([]);
        }
        expect(await send()).toBe(200);
        await page.getByText('Look into your mailbox').waitFor();
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
    },
  );

  it.each(SETTINGS)(
    'A quantity that a buyer typed is saved and shown first when the buyer presses Enter, %s',
    async (_name, options) => {
      const run = async (page: Page, made: List) => {
        await quantity(page, 'Blue mug').fill('48');
        await fillContact(page);
        await email(page).focus();
        expect(await enter(page)).toBe(200);
        expect(await page.locator('#notice').textContent()).toContain('Nothing was sent');
        expect(await quantity(page, 'Blue mug').inputValue()).toBe('48');
        expect(await sending(page).textContent()).toContain('£108.02');
        expect(await email(page).inputValue()).toBe('bea@shop.example');
        expect(await page.getByLabel('I ask for a quotation').isChecked()).toBe(true);
        expect(await events(made)).not.toContain('RfqSubmittedByBuyer');
        await email(page).focus();
        expect(await enter(page)).toBe(200);
        await page.getByText('Look into your mailbox').waitFor();
      };
      await open(run, options);
    },
  );

  it.each(SETTINGS)(
    'A quantity that a buyer typed stays in the form after a fault, and changes nothing, %s',
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
        expect(await misfits(page)).toEqual([]);
      };
      await open(run, options);
    },
  );

  it.each(SETTINGS)(
    'A quantity that a buyer typed is kept when lines are put back, found and added, %s',
    async (_, options) => {
      const run = async (page: Page, made: List) => {
        const press = async (name: string): Promise<void> => {
          expect(await answered(page, () => button(page, name).click())).toBe(200);
          expect(await page.getByLabel('Your name').inputValue()).toBe('Bea Buyer');
          expect(await email(page).inputValue()).toBe('bea@shop');
          expect(await misfits(page)).toEqual([]);
        };
        await page.getByLabel('Your name').fill('Bea Buyer');
        await email(page).fill('bea@shop');
        await quantity(page, 'Red mug').fill('0');
        await press('Update quantities');
        await quantity(page, 'Blue mug').fill('48');
        await press('Put back Red mug');
        expect(await isInSight(page, 'quantity.2')).toBe(true);
        expect(await quantity(page, 'Red mug').inputValue()).toBe('5');
        expect(await quantity(page, 'Blue mug').inputValue()).toBe('48');

        await quantity(page, 'Blue mug').fill('50');
        await page.getByLabel('Name or SKU of a product').fill('jug');
        await press('Search');
        expect(await isInSight(page, 'found')).toBe(true);
        expect(await quantity(page, 'Blue mug').inputValue()).toBe('50');
        await press('Add Tin jug');
        expect(await isInSight(page, 'quantity.3')).toBe(true);
        expect(await descriptionOf(page, 'quantity.3')).toContain('The product is on the list');
        expect(await page.getByRole('link', { name: 'On the list' }).count()).toBe(1);
        if (options.javaScriptEnabled !== false) {
          await quantity(page, 'Tin jug').fill('8');
          expect(await sending(page).textContent()).toMatch(/3 lines,\s+£132\.00/);
        }
        expect(await events(made)).not.toContain('RfqSubmittedByBuyer');
      };
      await open(run, options);
    },
  );

  it('A product that a buyer types is searched for with the keyboard and added once, on a narrow phone', async () => {
    const run = async (page: Page, { review_url }: List) => {
      const other = await page.context().newPage();
      await other.goto(review_url);
      for (const tab of [other, page]) {
        await tab.bringToFront();
        await tab.getByLabel('Name or SKU of a product').focus();
        await tab.keyboard.type('jug');
        expect(await enter(tab)).toBe(200);
      }
      expect(await isInSight(page, 'found')).toBe(true);
      expect(await tab(page)).toMatchObject({ text: 'Tin jug', isShown: true });
      expect(await tab(page)).toMatchObject({ text: 'Add', isShown: true });
      expect(await violations(page)).toEqual([]);
      await page.setViewportSize(NARROW.viewport);
      expect(await enter(page)).toBe(200);
      expect(await isInSight(page, 'quantity.3')).toBe(true);
      expect(await violations(page)).toEqual([]);
      await other.bringToFront();
      expect(await answered(other, () => button(other, 'Add Tin jug').tap())).toBe(422);
      await other.getByRole('alert').getByRole('link', { name: 'Tin jug' }).click();
      expect(await isInSight(other, 'quantity.3')).toBe(true);
      expect(await misfits(other)).toEqual([]);
      expect(await violations(other)).toEqual([]);
    };
    await open(run, NARROW);
  });

  it('A quantity that a buyer types updates the shown total meanwhile', async () => {
    const run = async (page: Page) => {
      await quantity(page, 'Blue mug').fill('48');
      expect(await sending(page).textContent()).toContain('£108.02');
      await quantity(page, 'Red mug').fill('0');
      expect(await sending(page).textContent()).toMatch(/1 line,\s+£95\.52/);
    };
    await open(run, DESKTOP);
  });

  it('A quantity that a buyer typed is priced as it is sent: all lines of a product together, in its current currency', async () => {
    const [sku, other] = ['LAMP-1', 'LAMP-2'];
    const at = (price: number, currency = 'GBP') => ({
      currency,
      moq: 6,
      price_tiers: [
        { min_quantity: 6, unit_price: price + 200 },
        { min_quantity: 48, unit_price: price },
      ],
    });
    const lamp = (title: string, over: object) => feedProduct(sku, { title, ...over });
    await app.publish([lamp('Lamp', at(800)), feedProduct(other, { title: 'Pot', ...at(500) })]);
    const lines = [48, 60].map((quantity) => ({ sku, quantity }));
    const run = async (page: Page, made: List) => {
      const [first, second] = [page.locator('#quantity\\.1'), page.locator('#quantity\\.2')];
      await page.getByText('The price is now £9.50').first().waitFor();
      await first.fill('54');
      await page.locator('#quantity\\.3').fill('50');
      expect(await page.locator('tbody .unit').allTextContents()).toEqual([
        '£9.50',
        '£9.50',
        '€5.00',
      ]);
      expect(await page.locator('tfoot .totals').textContent()).toBe('£1,083.00 + €250.00');
      await second.fill('0');
      expect(await sending(page).textContent()).toMatch(/2 lines, £513\.00 \+ €250\.00/);
      await first.fill('48');
      await second.fill('60');
      await page.locator('#quantity\\.3').fill('48');
      expect(await page.locator('tfoot .totals').textContent()).toBe('£1,104.00');
      await first.fill('54');
      await fillContact(page);
      expect(await answered(page, () => button(page, 'Ask for a quotation').click())).toBe(200);
      await page.getByText('Look into your mailbox').waitFor();
      expect(await page.locator('tfoot .totals').textContent()).toBe('£1,323.00');
      expect(await events(made)).toContain('RfqSubmittedByBuyer');
    };
    const made = await list([...lines, { sku: other, quantity: 48 }]);
    await app.publish([
      lamp('Lamp', at(950)),
      feedProduct(other, { title: 'Pot', ...at(500, 'EUR') }),
    ]);
    await open(run, DESKTOP, made);
  });

  it('A list with typed quantities must be confirmed again on a phone when prices change meanwhile, and passes axe', async () => {
    const pan = (unit_price: number) =>
      feedProduct('PAN-1', { title: 'Pan', price_tiers: [{ min_quantity: 4, unit_price }] });
    await app.publish([pan(300)]);
    const run = async (page: Page, made: List) => {
      await quantity(page, 'Pan').fill('6');
      await app.publish([pan(350)]);
      await fillContact(page);
      const send = () => answered(page, () => button(page, 'Ask for a quotation').tap());
      expect(await send()).toBe(409);
      await page.waitForFunction(() => document.activeElement?.role === 'alert');
      expect(await quantity(page, 'Pan').inputValue()).toBe('6');
      expect(await sending(page).textContent()).toContain('£21.00');
      expect(await misfits(page)).toEqual([]);
      expect(await violations(page)).toEqual([]);
      expect(await send()).toBe(200);
      await page.getByText('Look into your mailbox').waitFor();
      expect(await events(made)).toContain('RfqSubmittedByBuyer');
    };
    await open(run, NARROW, await list([{ sku: 'PAN-1', quantity: 4 }]));
  });

  it('The review page passes axe after typed quantities were saved', async () => {
    const run = async (page: Page) => {
      await quantity(page, 'Blue mug').fill('48');
      await fillContact(page);
      expect(await answered(page, () => button(page, 'Update quantities').click())).toBe(200);
      expect(await violations(page)).toEqual([]);
    };
    await open(run, DESKTOP);
  });
});
