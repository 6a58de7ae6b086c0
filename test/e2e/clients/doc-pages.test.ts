/** The pages of documentation and problems, in a real browser. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROBLEM_CODES } from '#contracts/problems.ts';
import { DOC_PAGES } from '#src/interfaces/documents/docs.ts';
import { testApp, type TestApp } from '../../support/world/app.ts';
import {
  hasChromium,
  IN_CHROMIUM,
  launchChromium,
  misfits,
  PHONE,
  type Visitor,
  violations,
  visitor,
} from '../../support/clients/browser.ts';

let app: TestApp;
let browser: Browser;
/** One reader for all pages. */
let phone: Visitor;

beforeAll(async () => {
  app = await testApp({ PUBLIC_URL: '' });
  const [origin, launched] = await Promise.all([app.service.listen(), launchChromium()]);
  browser = launched;
  phone = await visitor(browser, origin, PHONE);
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

const PAGES = [
  '/',
  '/docs',
  ...DOC_PAGES.map(({ slug }) => `/docs/${slug}`),
  '/problems',
  ...PROBLEM_CODES.map((code) => `/problems/${code}`),
];

describe.skipIf(!hasChromium)(`Every page of documentation, ${IN_CHROMIUM}`, () => {
  it.each(PAGES)(
    'A page of documentation passes axe, and does not overflow on a phone: %s',
    async (path) => {
      const { page, faults } = phone;
      faults.length = 0;
      await page.setViewportSize(PHONE.viewport);
      await page.goto(path);
      expect(await misfits(page)).toEqual([]);
      expect(await violations(page)).toEqual([]);
      expect(faults).toEqual([]);
    },
  );

  it('A page of documentation shows each field of a table with its type, and reaches wide code with the keyboard', async () => {
    const { page } = phone;
    await page.setViewportSize(PHONE.viewport);
    await page.goto('/docs/rest');
    const row = page.getByRole('row').filter({ hasText: 'line_items[].sku' }).first();
    const place = row.getByRole('cell', { name: 'body' });
    const label = await place.evaluate((cell) => getComputedStyle(cell, '::before').content);
    expect(label).toContain('In');
    const code = page.locator('pre').first();
    await code.focus();
    expect(await code.evaluate((element) => element === document.activeElement)).toBe(true);
  });
});
