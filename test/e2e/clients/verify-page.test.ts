/** The page /verify in a real browser: it finds what the command finds, sends nothing, and works without a network. */
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exported } from '../../support/audit/export.ts';
import { randomHistory } from '../../support/audit/random-history.ts';
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
import { testApp, type TestApp } from '../../support/world/app.ts';

let app: TestApp;
let browser: Browser;
let origin: string;
let text: string;
let key: string;
beforeAll(async () => {
  app = await testApp({ PUBLIC_URL: '' });
  const history = await randomHistory(app, 'acme', 7);
  for (let act = 0; act < 20; act += 1) await history.act();
  text = readFileSync(await exported(app, 'acme'), 'utf8');
  key = app.service.deps.proof().signers[0].text;
  [origin, browser] = await Promise.all([app.service.listen(), launchChromium()]);
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

const verdictOf = async (page: Page, content: string, keys = ''): Promise<string> => {
  const file = { name: 'acme.audit', mimeType: 'application/jsonl', buffer: Buffer.from(content) };
  await page.getByLabel('File').setInputFiles(file);
  await page.getByLabel('Keys that you trust').fill(keys);
  await page.getByRole('button', { name: 'Verify' }).click();
  const verdict = page.locator('#verdict.good, #verdict.bad');
  await verdict.waitFor();
  return verdict.innerText();
};

describe.skipIf(!hasChromium)(`The page /verify, ${IN_CHROMIUM}`, () => {
  it.each([
    ['a phone', PHONE],
    ['a desktop', DESKTOP],
  ])(
    'The page /verify on %s tells a good file from others, without a network',
    async (_name, options) => {
      const { page, context, faults } = await visitor(browser, origin, options);
      await page.goto('/verify');
      expect(await violations(page)).toEqual([]);
      await context.setOffline(true);
      const good = await verdictOf(page, text, key);
      expect(good).toMatch(/^Intact: \d+ records of acme, nothing altered or missing/);
      expect(good).toContain(`with ${key}`);
      expect(await verdictOf(page, text)).toMatch(/^The key was not checked/);
      const lines = text.split('\n');
      const altered = lines.with(6, lines[6]?.replace(/"at":1/, '"at":2') ?? '').join('\n');
      expect(await verdictOf(page, altered, key)).toMatch(
        /^Altered: line 7: record 6 was changed/m,
      );
      expect(await verdictOf(page, text.slice(0, -30), key)).toMatch(/: the last line is cut\./);
      expect(await verdictOf(page, 'PK no export', key)).toMatch(/^Malformed: line 1: /m);
      expect(await misfits(page)).toEqual([]);
      expect(await violations(page)).toEqual([]);
      expect(faults).toEqual([]);
      await context.close();
    },
  );
});
