/** The pages that short links lead to, in a real browser, with pictures of another server. */
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, testApp, type TestApp } from '../../support/world/app.ts';
import { createShortLink } from '../../support/world/links.ts';
import { endReceivers, receiver } from '../../support/world/receivers.ts';
import {
  answered,
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

const PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="640" height="480"/>';
const LONG = 'Enamelware'.repeat(9);

let app: TestApp;
let browser: Browser;
let origin: string;
let pictures: string;
let key: string;

beforeAll(async () => {
  const server = await receiver({
    answer: (_received, response) => {
      response.writeHead(200, { 'content-type': 'image/svg+xml' }).end(PICTURE);
    },
  });
  pictures = `http://${server.host}`;
  app = await testApp({ PUBLIC_URL: '', IMAGE_ORIGINS: pictures });
  [origin, browser] = await Promise.all([app.service.listen(), launchChromium()]);
  ({ key } = await app.agent('acme'));
  await app.publish([
    feedProduct('MUG-1', { title: 'Blue mug', image_url: `${pictures}/1.svg`, lead_time_days: 4 }),
    feedProduct('MUG-2', { title: LONG, category: LONG, image_url: `${pictures}/2.svg` }),
    feedProduct('MUG-3', { title: 'Red mug', image_url: 'https://other.example/3.png' }),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
  await endReceivers();
});

/** Runs in a separate browser context, which must report no fault but the requests for pictures. */
const visit = async (
  run: (page: Page) => Promise<void>,
  options: BrowserContextOptions = DESKTOP,
): Promise<void> => {
  const { page, context, faults } = await visitor(browser, origin, options);
  try {
    await run(page);
    expect(faults.filter((fault) => !fault.includes(`${pictures}/`))).toEqual([]);
    expect(await context.cookies()).toEqual([]);
  } finally {
    await context.close();
  }
};

const loaded = (page: Page): Promise<number[]> =>
  page.evaluate(() => [...document.images].map(({ naturalWidth }) => naturalWidth));

describe.skipIf(!hasChromium)(`A landing page, ${IN_CHROMIUM}`, () => {
  const targets = [
    { kind: 'product', ref: 'MUG-1' },
    { kind: 'category', ref: LONG },
    { kind: 'search', ref: 'mug' },
  ];

  it('A landing page passes axe in light and dark, and loads the pictures of IMAGE_ORIGINS', async () => {
    for (const [target, count] of [
      [targets[0], 1],
      [targets[1], 1],
      [targets[2], 2],
    ] as const) {
      const { short_url } = await createShortLink(app, key, { target });
      await visit(async (page) => {
        await page.goto(short_url);
        await page.getByText('Promoted by').waitFor();
        expect(await violations(page)).toEqual([]);
        // The browser loads the pictures of a list after the page.
        const widths = Array.from({ length: count }, () => 640);
        await expect.poll(() => loaded(page)).toEqual(widths);
      });
    }
  });

  it('A landing page works on a phone without scripts, and does not overflow horizontally', async () => {
    for (const target of targets) {
      const { short_url } = await createShortLink(app, key, { target });
      await visit(
        async (page) => {
          await page.goto(short_url);
          expect(await misfits(page)).toEqual([]);
          await page.getByRole('navigation', { name: 'Where this is' }).count();
          expect(await page.getByText('Promoted by').isVisible()).toBe(true);
        },
        { ...PHONE, javaScriptEnabled: false },
      );
    }
  });

  it('A landing page lets a person on a phone without scripts make, change and review a list', async () => {
    const { short_url } = await createShortLink(app, key, { target: targets[0] });
    const run = async (page: Page) => {
      const press = (name: string) =>
        answered(page, () => page.getByRole('button', { name, exact: true }).tap());
      await page.goto(short_url);
      await page.getByLabel('Quantity').fill('many');
      expect(await press('Add to my list')).toBe(422);
      expect(await misfits(page)).toEqual([]);
      await page.getByLabel('Quantity').fill('48');
      expect(await press('Add to my list')).toBe(200);
      expect(await misfits(page)).toEqual([]);
      await page.getByLabel('Search products').fill('red');
      expect(await press('Search')).toBe(200);
      await page.getByRole('link', { name: 'Red mug' }).tap();
      await page.getByRole('heading', { name: 'Red mug' }).waitFor();
      expect(await press('Add to my list')).toBe(200);
      expect(await page.getByRole('row').count()).toBe(4);
      expect(await answered(page, () => page.getByLabel('Remove Red mug').tap())).toBe(200);
      expect(await page.getByRole('row').count()).toBe(3);
      expect(await press('Review')).toBe(200);
      await page.getByText('You made this list').waitFor();
      expect(await page.locator('tfoot .total').textContent()).toBe('£95.52');
      expect(await misfits(page)).toEqual([]);
    };
    await visit(run, { ...PHONE, javaScriptEnabled: false });
  });

  it('A landing page leads to a list that passes axe and can be used with the keyboard', async () => {
    const { short_url } = await createShortLink(app, key, { target: targets[0] });
    await visit(async (page) => {
      await page.goto(short_url);
      await page.getByLabel('Quantity').fill('many');
      expect(await answered(page, () => page.getByLabel('Quantity').press('Enter'))).toBe(422);
      expect(await violations(page)).toEqual([]);
      await page.getByLabel('Quantity').fill('5');
      expect(await answered(page, () => page.getByLabel('Quantity').press('Enter'))).toBe(200);
      expect(await violations(page)).toEqual([]);
      const stops = [];
      for (let stop = await tab(page); stop.text !== 'Review'; stop = await tab(page))
        stops.push(stop);
      expect(stops.filter(({ isShown }) => !isShown)).toEqual([]);
      expect(await answered(page, () => page.keyboard.press('Space'))).toBe(200);
      await page.getByText('You made this list').waitFor();
      expect(await violations(page)).toEqual([]);
    });
  });

  it('A landing page shows each focused element to a person who uses the keyboard', async () => {
    const { short_url } = await createShortLink(app, key, { target: targets[2] });
    await visit(async (page) => {
      await page.goto(short_url);
      expect(await tab(page)).toMatchObject({ text: 'Skip to the content', isShown: true });
      const stops = [];
      for (let stop = await tab(page); stop.text !== 'Problems'; stop = await tab(page))
        stops.push(stop);
      expect(stops.filter(({ isShown }) => !isShown)).toEqual([]);
      expect(stops.map(({ text }) => text)).toContain('Blue mug');
    });
  });
});
