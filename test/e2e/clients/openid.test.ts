/** Sign-in at an OpenID provider in a real browser. The provider runs in the test. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../support/processes/free-port.ts';
import { testApp, type TestApp } from '../../support/world/app.ts';
import { openIdWorld, type OpenIdWorld } from '../../support/world/openid-provider.ts';
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
let world: OpenIdWorld;
let origin: string;
beforeAll(async () => {
  const port = await freePort();
  origin = `http://localhost:${port}`;
  world = await openIdWorld(`${origin}/signin/openid/callback`);
  app = await testApp({ PUBLIC_URL: '', PORT: String(port), ...world.settings });
  [, browser] = await Promise.all([app.service.listen(), launchChromium()]);
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
  await world?.stop();
});

describe.skipIf(!hasChromium)(`The OpenID provider, ${IN_CHROMIUM}`, () => {
  it.each([true, false])(
    'A person signs in with an account, unlinks it at /me, links it, unlinks it again, and is refused with the other ways, with script: %s',
    async (javaScriptEnabled) => {
      const name = javaScriptEnabled ? 'Ada Account' : 'Bruno Account';
      const mailbox = `${name.slice(0, 3)}@house.example`;
      const subject = `sub-${javaScriptEnabled}`;
      await app.desk('POST', '/people', { name, mailbox, roles: ['staff'] });
      world.accounts.set(subject, { email: mailbox, email_verified: true });
      world.next.subject = subject;
      const { page } = await visitor(browser, origin, { ...PHONE, javaScriptEnabled });
      const isFine = async (): Promise<void> => {
        expect(await misfits(page)).toEqual([]);
        // Axe is a script.
        if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
      };
      const withAccount = () =>
        page.getByRole('link', { name: `Sign in with ${new URL(world.issuer).host}` });
      const heading = (text: string) => page.getByRole('heading', { name: text, exact: true });
      await page.goto('/me');
      await heading('Sign in').waitFor();
      await isFine();
      await withAccount().focus();
      await page.keyboard.press('Enter');
      await heading(name).waitFor();
      expect(new URL(page.url()).pathname).toBe('/me');
      await page.getByText('Signed in with an OpenID account').waitFor();
      await isFine();
      const button = (text: RegExp) => page.getByRole('button', { name: text });
      await button(/^Unlink/).click();
      // The page between leads on by itself, without script, too.
      await button(/^Link your account/).click();
      await button(/^Unlink/).waitFor();
      expect(new URL(page.url()).pathname).toBe('/me');
      await button(/^Unlink/).click();
      await button(/^Link your account/).waitFor();
      await isFine();
      await page.getByRole('button', { name: 'Sign out', exact: true }).click();
      await heading('Sign in').waitFor();
      await withAccount().click();
      await heading('You are not signed in').waitFor();
      await isFine();
      await page.getByRole('link', { name: 'All ways to sign in' }).click();
      await heading('Sign in').waitFor();
    },
  );
});
