/** The pages of people who sign in, in a real browser: by keyboard, with and without script, on a phone. */
import { env } from 'node:process';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { testApp, type TestApp } from '../../support/world/app.ts';
import { invite, mailedPaths, settled } from '../../support/world/browsing.ts';
import { configure, post, proposed } from '../../support/world/outreach.ts';
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

/** A directory for pictures of all pages; without it, none are taken. */
const PICTURES = env['PICTURES'];

let app: TestApp;
let browser: Browser;
let origin: string;
beforeAll(async () => {
  app = await testApp({ PUBLIC_URL: '' });
  const [at, chromium] = await Promise.all([app.service.listen(), launchChromium()]);
  browser = chromium;
  origin = at.replace('127.0.0.1', 'localhost');
  app.service.dispatcher.start();
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

const heading = (page: Page, name: string) => page.getByRole('heading', { name }).waitFor();
const press = async (page: Page, name: string): Promise<void> => {
  await page.getByRole('button', { name, exact: true }).focus();
  await page.keyboard.press('Enter');
};
const picture = async (page: Page, name: string): Promise<void> => {
  if (PICTURES === undefined) return;
  for (const [width, scheme] of [
    [1280, 'light'],
    [390, 'dark'],
    [390, 'light'],
  ] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 844 });
    await page.screenshot({ path: `${PICTURES}/${name}-${width}-${scheme}.png`, fullPage: true });
  }
};
const isFine = async (page: Page, name: string, hasScript = true): Promise<void> => {
  expect(await misfits(page), name).toEqual([]);
  // Axe is a script.
  if (hasScript) expect(await violations(page), name).toEqual([]);
  await picture(page, name);
};

const proposal = async (owner: string, content = post()): Promise<string> => {
  await configure(app, owner, { mode: 'admin_approved' });
  const { key } = await app.agent(owner);
  const { id } = await proposed(app, key, 'requestSocialPost', content);
  await settled(app);
  return id;
};

describe.skipIf(!hasChromium)(`The pages of people who sign in, ${IN_CHROMIUM}`, () => {
  it.each([true, false])(
    'A person signs in by keyboard, decides with a fresh sign-in, and signs out, with script: %s',
    async (javaScriptEnabled) => {
      const id = await proposal(javaScriptEnabled ? 'scripts' : 'plain');
      const person = await invite(app, ['staff']);
      const options = { ...DESKTOP, javaScriptEnabled };
      const { page, context, faults } = await visitor(browser, origin, options);
      const fine = (name: string) => isFine(page, name, javaScriptEnabled);
      await page.goto(`/approvals/${id}`);
      await heading(page, 'Sign in');
      await fine('sign-in');
      await page.getByLabel('E-mail address').fill('ada');
      await press(page, 'Mail me a link');
      await heading(page, 'The link was not sent');
      await fine('sign-in-fault');
      await page.getByLabel('E-mail address').fill(person.mailbox);
      await press(page, 'Mail me a link');
      await heading(page, 'Look into your mailbox');
      await fine('sign-in-mailed');
      await page.getByLabel('Code').fill('1');
      await press(page, 'Sign in with the code');
      await heading(page, 'The code does not work');
      await fine('code-fault');

      const [link = ''] = await mailedPaths(app, person.mailbox);
      const phone = await visitor(browser, origin, { ...PHONE, javaScriptEnabled });
      await phone.page.goto(link);
      await heading(phone.page, 'Your code');
      await isFine(phone.page, 'code', javaScriptEnabled);
      const code = (await phone.page.locator('.code').textContent()) ?? '';
      await phone.context.close();
      await page.goto(link);
      await heading(page, `Sign in as ${person.name}`);
      await fine('sign-in-link');
      await page.goto('/signin/code');
      await page.getByLabel('Code').fill(code);
      await press(page, 'Sign in with the code');
      await heading(page, 'Social post of');
      await fine('approval');

      app.clock.advance(LIMITS.FRESH_SIGN_IN_MINUTES * 60_000);
      await page.getByLabel('Note').fill('As agreed');
      await press(page, 'Approve exactly this');
      await heading(page, 'Sign in again');
      await fine('sign-in-again');
      await page.getByLabel('E-mail address').fill(person.mailbox);
      await press(page, 'Mail me a link');
      await heading(page, 'Look into your mailbox');
      const [fresh = ''] = await mailedPaths(app, person.mailbox);
      await page.goto(fresh);
      await press(page, 'Sign in');
      await heading(page, 'Social post of');
      await fine('approval-kept');
      expect(await page.getByLabel('Note').inputValue()).toBe('As agreed');
      await press(page, 'Approve exactly this');
      await page.getByText('approved it on').waitFor();
      await fine('approval-decided');

      for (const [path, name] of [
        ['/home', 'home'],
        ['/me', 'me'],
        ['/approvals', 'approvals'],
      ] as const) {
        await page.goto(path);
        await fine(name);
      }
      await page.goto('/me');
      await press(page, 'Sign out');
      await heading(page, 'Sign in');
      await page.goBack();
      await heading(page, 'Sign in');
      expect(faults).toEqual([]);
      await context.close();
    },
    120_000,
  );

  it('An invited person signs in on a phone, and a second tab sees the same session', async () => {
    await proposal('tabs');
    const person = await invite(app, ['staff', 'operator', 'auditor', 'privacy']);
    const { page, context, faults } = await visitor(browser, origin, PHONE);
    await page.goto(person.link);
    await heading(page, 'You are invited');
    await isFine(page, 'invitation');
    await press(page, 'Accept and sign in');
    await heading(page, `Hello, ${person.name}`);
    await isFine(page, 'home-roles');
    await page.goto('/approvals');
    await isFine(page, 'approvals-list');
    const second = await context.newPage();
    await second.goto('/me');
    await heading(second, person.name);
    await press(second, 'Sign out here');
    await heading(second, 'Sign in');
    await page.goto('/me');
    await heading(page, 'Sign in');
    expect(faults).toEqual([]);
    await context.close();
  }, 60_000);
});
