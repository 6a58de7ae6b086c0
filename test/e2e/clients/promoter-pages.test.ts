/** The home of promoters, in a real browser: by keyboard, on a phone, in both themes, with and without script. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, testApp, type TestApp } from '../../support/world/app.ts';
import { invite, mailedPaths, settled, signedInAs } from '../../support/world/browsing.ts';
import { BROWSER, createShortLink } from '../../support/world/links.ts';
import { configure, post, proposed } from '../../support/world/outreach.ts';
import { people } from '../../support/world/people.ts';
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

/** Longer than a phone is wide, and without a place to break. */
const LONG = 'Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz';
const RIGHT_TO_LEFT = 'متجر الهدايا';

let app: TestApp;
let browser: Browser;
let origin: string;
beforeAll(async () => {
  app = await testApp({ PUBLIC_URL: '' });
  const [at, chromium] = await Promise.all([app.service.listen(), launchChromium()]);
  browser = chromium;
  origin = at.replace('127.0.0.1', 'localhost');
  app.service.dispatcher.start();
  await app.publish([feedProduct('MUG-1', { title: LONG })]);
  await configure(app, 'acme');
  const { key } = await app.agent('acme');
  const { code } = await createShortLink(app, key, { campaign: 'spring-sale' });
  for (let number = 0; number < 3; number += 1)
    await app.send({
      url: `/l/${code}`,
      headers: { 'user-agent': BROWSER },
      remoteAddress: `198.51.100.${number}`,
    });
  await people(app).rfq(key, 'bea@shop.example');
  await app.send({
    method: 'POST',
    url: '/api/affiliate/v1/handoffs',
    key,
    payload: {
      title: `${LONG} ${RIGHT_TO_LEFT}`,
      buyer: { company: RIGHT_TO_LEFT },
      line_items: [{ sku: 'MUG-1', quantity: 4 }],
    },
    headers: { 'idempotency-key': 'long' },
  });
  await proposed(app, key, 'requestSocialPost', post());
  await settled(app);
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

const isFine = async (page: Page, name: string, hasScript: boolean): Promise<void> => {
  expect(await misfits(page), name).toEqual([]);
  // Axe is a script.
  if (!hasScript) return;
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await violations(page), `${name} ${colorScheme}`).toEqual([]);
  }
};

const heading = (page: Page, name: string) =>
  page.getByRole('heading', { name, exact: true }).waitFor();
/** Follows a link by keyboard. */
const follow = async (page: Page, name: string | RegExp): Promise<void> => {
  await page.getByRole('link', { name }).first().focus();
  await page.keyboard.press('Enter');
};

describe.skipIf(!hasChromium)(`The home of promoters, ${IN_CHROMIUM}`, () => {
  it.each([
    [true, 'a desktop', DESKTOP],
    [true, 'a phone', PHONE],
    [false, 'a phone', PHONE],
  ])(
    'An owner goes from the sign-in to the numbers, a link, a key and an approval by keyboard, with script: %s, on %s',
    async (javaScriptEnabled, _device, options) => {
      const person = await invite(app, ['owner'], { owners: ['acme'] });
      const { page, context, faults } = await visitor(browser, origin, {
        ...options,
        javaScriptEnabled,
      });
      const fine = (name: string) => isFine(page, name, javaScriptEnabled);
      await page.goto(person.link);
      await page.getByRole('button', { name: 'Accept and sign in' }).focus();
      await page.keyboard.press('Enter');
      await heading(page, 'Overview');
      await page.getByText('3 visits in the last 30 days').waitFor();
      await fine('overview');
      await follow(page, 'This month');
      await heading(page, 'Numbers of this month so far');
      for (const tab of ['Links', 'Campaigns', 'Lists', 'RFQs', 'Leads', 'Approvals'] as const) {
        await page.getByRole('navigation', { name: 'acme' }).getByText(tab).click();
        await heading(page, tab);
        await fine(tab);
      }
      await page.goto('/o/acme/links');
      await follow(page, LONG);
      await heading(page, LONG);
      await fine('link');
      expect(await page.getByRole('button', { name: 'Copy' }).isVisible()).toBe(javaScriptEnabled);
      await page.goto('/o/acme/agents');
      await fine('agents');
      await follow(page, 'Test agent');
      await heading(page, 'Test agent');
      await page.getByText('Issue a key').focus();
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Issue the key' }).focus();
      await page.keyboard.press('Enter');
      await page.getByText('trb_live_').first().waitFor();
      await fine('issued');
      const keys = await page.getByText(/^trb_live_/).textContent();
      await follow(page, 'The agent');
      await follow(page, `…${keys?.slice(-4)}`);
      await page.getByText('Revoke this key').focus();
      await page.keyboard.press('Enter');
      await page.getByLabel('Reason').fill('Only a test');
      await page.keyboard.press('Enter');
      await page.getByText('The key is revoked.').waitFor();
      await fine('key');
      await page.goto('/o/acme/profile');
      await fine('profile');
      await page.goto('/o/acme');
      await follow(page, 'Decide');
      await page.getByRole('button', { name: 'Approve exactly this' }).waitFor();
      expect(faults).toEqual([]);
      await context.close();
    },
    120_000,
  );

  it('An owner signs in by mail, edits what waits, and a colleague on a phone approves the new text', async () => {
    const [ann, bea] = [
      await invite(app, ['owner'], { owners: ['acme'] }),
      await invite(app, ['owner'], { owners: ['acme'] }),
    ];
    await signedInAs(app, ann);
    const { key } = await app.agent('acme');
    const { id } = await proposed(app, key, 'requestSocialPost', post({ text: 'Before the edit' }));
    await settled(app);

    const desktop = await visitor(browser, origin, DESKTOP);
    await desktop.page.goto('/o/acme');
    await desktop.page.getByLabel('E-mail address').fill(ann.mailbox);
    await desktop.page.keyboard.press('Enter');
    await desktop.page.getByRole('button', { name: 'Sign in with the code' }).waitFor();
    const [link = ''] = await mailedPaths(app, ann.mailbox);
    await desktop.page.goto(link);
    await desktop.page.getByRole('button', { name: 'Sign in' }).click();
    await heading(desktop.page, 'Overview');
    await desktop.page.locator(`a[href="/approvals/${id}"]`).first().click();
    await desktop.page.getByText('Before the edit').first().waitFor();
    await desktop.page.getByText('Edit the text').click();
    await desktop.page.getByLabel('Text', { exact: true }).fill('After the edit');
    await desktop.page.getByRole('button', { name: 'Propose this text' }).click();
    await desktop.page.getByText('The new text is proposed.').waitFor();
    await desktop.page.getByText('wrote this text, and cannot approve it').waitFor();

    const phone = await visitor(browser, origin, PHONE);
    await phone.page.goto(bea.link);
    await phone.page.getByRole('button', { name: 'Accept and sign in' }).click();
    await heading(phone.page, 'Overview');
    await phone.page.locator(`a[href="/approvals/${id}"]`).first().click();
    await phone.page.locator('pre.exact').getByText('After the edit').waitFor();
    await phone.page.getByRole('button', { name: 'Approve exactly this' }).click();
    await phone.page.getByText('Your approval is recorded.').waitFor();
    for (const { context, faults } of [desktop, phone]) {
      expect(faults).toEqual([]);
      await context.close();
    }
  }, 120_000);
});
