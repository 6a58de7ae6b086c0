/** Passkeys in a real browser, with an authenticator of its own, by keyboard. */
import type { Browser, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onLocalhost } from '#src/shared/localhost.ts';
import { testApp, type TestApp } from '../../support/world/app.ts';
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

let app: TestApp;
let browser: Browser;
let origin: string;
beforeAll(async () => {
  app = await testApp({ PUBLIC_URL: '' });
  [origin, browser] = await Promise.all([app.service.listen(), launchChromium()]);
  origin = onLocalhost(origin);
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
});

/** Gives a page an authenticator in the device, which keeps passkeys and checks who holds it. */
const withAuthenticator = async (page: Page): Promise<{ cdp: CDPSession; id: string }> => {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId: id } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { cdp, id };
};

const invite = async (name: string, mailbox: string): Promise<string> => {
  const invited = await app.desk('POST', '/people', { name, mailbox, roles: ['staff'] });
  expect(invited.status, invited.text).toBe(201);
  return new URL((invited.body as { invitation_url: string }).invitation_url).pathname;
};

const press = async (page: Page, name: string): Promise<void> => {
  await page.getByRole('button', { name, exact: true }).focus();
  await page.keyboard.press('Enter');
};
const heading = (page: Page, name: string): Promise<void> =>
  page.getByRole('heading', { name, exact: true }).waitFor();

describe.skipIf(!hasChromium)(`Passkeys, ${IN_CHROMIUM}`, () => {
  it('A person adds a passkey at /me, signs out, and signs in with it, with no word typed', async () => {
    const { page, faults } = await visitor(browser, origin, PHONE);
    await withAuthenticator(page);
    const isFine = async (): Promise<void> => {
      expect(await misfits(page)).toEqual([]);
      expect(await violations(page)).toEqual([]);
    };
    await page.goto(await invite('Ada Passkey', 'ada@house.example'));
    await press(page, 'Accept and sign in');
    await heading(page, 'Hello, Ada Passkey');
    await page.goto('/me');
    await isFine();
    await page.getByRole('link', { name: 'Add a passkey' }).click();
    await heading(page, 'Add a passkey');
    await isFine();
    await page.getByLabel('Name').fill('My phone');
    await press(page, 'Add the passkey');
    await heading(page, 'My phone');
    await isFine();
    await press(page, 'Sign out');
    await heading(page, 'Sign in');
    await isFine();
    await press(page, 'Use a passkey');
    await heading(page, 'Hello, Ada Passkey');
    await page.goto('/me');
    await expect.poll(() => page.getByText('Signed in with a passkey').count()).toBe(1);
    expect(faults).toEqual([]);
  });

  it('A copy of an authenticator is refused, and the person sees it at /me', async () => {
    const { page, faults } = await visitor(browser, origin, DESKTOP);
    const { cdp, id } = await withAuthenticator(page);
    await page.goto(await invite('Bea Copied', 'bea@house.example'));
    await press(page, 'Accept and sign in');
    await heading(page, 'Hello, Bea Copied');
    await page.goto('/me/passkeys/add');
    await press(page, 'Add the passkey');
    await page
      .getByRole('heading', { name: /^Chrome on Linux/, level: 3 })
      .first()
      .waitFor();
    await press(page, 'Sign out');
    const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId: id });
    const [passkey] = credentials;
    if (!passkey) throw new Error('the authenticator has no passkey');
    const setCount = async (signCount: number): Promise<void> => {
      await cdp.send('WebAuthn.clearCredentials', { authenticatorId: id });
      const credential = { ...passkey, signCount };
      await cdp.send('WebAuthn.addCredential', { authenticatorId: id, credential });
    };
    await setCount(100);
    await press(page, 'Use a passkey');
    await heading(page, 'Hello, Bea Copied');
    await press(page, 'Sign out');
    await setCount(50);
    await press(page, 'Use a passkey');
    await page.getByText('may have a copy of it').first().waitFor();
    expect(await violations(page)).toEqual([]);
    await setCount(200);
    await press(page, 'Use a passkey');
    await heading(page, 'Hello, Bea Copied');
    await page.goto('/me');
    await page.getByText('there may be a copy of it').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('A device without a passkey for this site says so, and the mailed link stays', async () => {
    const { page, faults } = await visitor(browser, origin, DESKTOP);
    await withAuthenticator(page);
    await page.goto('/signin');
    await press(page, 'Use a passkey');
    await page.getByText('No passkey was used').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await page.getByRole('button', { name: 'Mail me a link' }).isEnabled()).toBe(true);
    expect(faults).toEqual([]);
  });

  it('Without script, the sign-in has no passkey, and the page that adds one says why', async () => {
    const { page } = await visitor(browser, origin, { ...PHONE, javaScriptEnabled: false });
    await page.goto('/signin');
    expect(await page.getByRole('button', { name: 'Use a passkey' }).count()).toBe(0);
    await page.goto(await invite('Cleo Plain', 'cleo@house.example'));
    await page.getByRole('button', { name: 'Accept and sign in' }).click();
    await heading(page, 'Hello, Cleo Plain');
    await page.goto('/me/passkeys/add');
    await page.locator('noscript p').waitFor();
    expect(await page.getByRole('button', { name: 'Add the passkey' }).count()).toBe(0);
  });
});
