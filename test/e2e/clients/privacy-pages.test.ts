/** The pages of people about their own data, in a real browser on a phone, with and without script. */
import { LIMITS } from '#contracts/limits.ts';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, testApp, type TestApp } from '../../support/world/app.ts';
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
  await app.publish([feedProduct('MUG-1')]);
  app.service.dispatcher.start();
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

describe.skipIf(!hasChromium)(`The pages of /privacy, ${IN_CHROMIUM}`, () => {
  it.each([true, false])(
    'The pages of /privacy lead from the form to the erasure, and pass axe, with script: %s',
    async (javaScriptEnabled) => {
      const world = people(app);
      const { key } = await app.agent('acme');
      const name = `person${javaScriptEnabled ? 1 : 2}`;
      const email = `${name}.a@gmail.com`;
      const id = await world.lead(key, email);
      const folded = await world.rfq(key, `${name}a@gmail.com`);
      await world.caughtUp();
      // The confirmation of the RFQ went to another spelling of the same mailbox.
      await app.service.dispatcher.idle();
      app.clock.advance(LIMITS.CONFIRMATION_WAIT_MINUTES * 60_000);
      const options = { ...PHONE, javaScriptEnabled };
      const { page, context, faults } = await visitor(browser, origin, options);
      const isFine = async (): Promise<void> => {
        expect(await misfits(page)).toEqual([]);
        // Axe is a script.
        if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
      };
      await page.goto('/privacy');
      await isFine();
      await page.getByLabel('E-mail address').fill(email);
      await page.getByRole('button', { name: 'Mail me a link' }).click();
      await page.getByRole('heading', { name: 'Look into your mailbox' }).waitFor();
      await isFine();

      await page.goto(await world.mailedPath(email));
      await page.getByText(id).waitFor();
      await isFine();
      await page.getByRole('button', { name: 'Refuse contact' }).click();
      await page.getByText('Contact is refused.').waitFor();
      await isFine();
      await page.getByLabel(folded).last().check();
      await page.getByRole('button', { name: 'Erase my data' }).click();
      await page.getByRole('heading', { name: 'Erase your data?' }).waitFor();
      await isFine();
      await page.getByRole('button', { name: 'Erase for good' }).click();
      await page.getByText('Records erased: 2').waitFor();
      await isFine();
      expect(faults).toEqual([]);
      await context.close();
    },
  );
});
