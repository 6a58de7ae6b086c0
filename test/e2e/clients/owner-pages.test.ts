/** The pages of promoters, in a real browser on a phone, with and without script. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testApp, type TestApp } from '../../support/world/app.ts';
import { people } from '../../support/world/people.ts';
import {
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
beforeAll(async () => {
  app = await testApp({ PUBLIC_URL: '' });
  [origin, browser] = await Promise.all([app.service.listen(), launchChromium()]);
  app.service.dispatcher.start();
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

describe.skipIf(!hasChromium)(`The pages of promoters, ${IN_CHROMIUM}`, () => {
  it.each([true, false])(
    'The pages of promoters lead by keyboard from the application to the key, and pass axe, with script: %s',
    async (javaScriptEnabled) => {
      const world = people(app);
      const owner = `shop${javaScriptEnabled ? 1 : 2}`;
      const mailbox = `ada@${owner}.example`;
      const { page, context, faults } = await visitor(browser, origin, {
        ...PHONE,
        javaScriptEnabled,
      });
      const isFine = async (): Promise<void> => {
        expect(await misfits(page)).toEqual([]);
        // Axe is a script.
        if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
      };
      const press = async (name: string): Promise<void> => {
        await page.getByRole('button', { name }).focus();
        await page.keyboard.press('Enter');
      };
      const heading = (name: string) => page.getByRole('heading', { name }).waitFor();
      await page.goto('/apply');
      await isFine();
      await press('Apply');
      await heading('The application was not sent');
      await isFine();
      await page.getByLabel('Name of the person or company').fill('Ada');
      await page.getByLabel('Postal address').fill('1 High Street\nLondon');
      await page.getByLabel('E-mail address').fill(mailbox);
      await page.getByLabel('Short name').fill(owner);
      await page.getByLabel('Name of the agent').fill('Letter agent');
      await page.getByLabel('What it does').fill('Writes our letter.\nEach month.');
      await page.getByLabel('(products:read)').focus();
      await page.keyboard.press('Space');
      await press('Apply');
      await heading('Look into your mailbox');
      await isFine();

      const link = await world.mailedPath(mailbox);
      await page.goto(link);
      await heading('Confirm your application');
      await isFine();
      await page.getByLabel('Short name').fill('desk');
      await press('Confirm the application');
      await heading('The application is not confirmed');
      await isFine();
      await page.getByLabel('Short name').fill(owner);
      await press('Confirm the application');
      await heading('Staff have your application');
      await isFine();
      const { body } = await app.desk('GET', `/access-requests?owner_id=${owner}`);
      const [request] = (body as { data: { agent_id: string }[] }).data;
      await app.desk('POST', `/agents/${request?.agent_id}/approve`, { reason: 'Known' });
      await page.goto(link);
      await isFine();
      await press('Issue the key');
      await page.getByText('trb_live_').waitFor();
      await isFine();

      const other = { name: 'Ada', postal_address: 'P', mailbox: `new@${owner}.example` };
      await app.desk('POST', `/owners/${owner}/profile`, other);
      await page.goto(await world.mailedPath(other.mailbox));
      await isFine();
      await press('Confirm the mailbox');
      await heading('Your mailbox is confirmed');
      await isFine();
      expect(faults.filter((fault) => !fault.includes('422'))).toEqual([]);
      await context.close();
    },
  );
});
