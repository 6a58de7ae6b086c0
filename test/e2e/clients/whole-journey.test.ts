/** One story from a posted link to the promoter's numbers, in a real browser and over a real SMTP server. */
import { referenceOf } from '#src/ports/reference.ts';
import PostalMime from 'postal-mime';
import type { Browser } from 'playwright-core';
import { quoteFor } from '../../support/world/deals.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, freshKey, testApp, type TestApp } from '../../support/world/app.ts';
import { createShortLink } from '../../support/world/links.ts';
import { endMailServers, mailServer } from '../../support/dispatch/mail-server.ts';
import { HANG_MS } from '../../support/hang.ts';
import {
  answered,
  hasChromium,
  IN_CHROMIUM,
  launchChromium,
  misfits,
  PHONE,
  violations,
  visitor,
} from '../../support/clients/browser.ts';

const MINUTE_MS = 60_000;
const GBP = (amount: number) => [{ amount, currency: 'GBP' }];

let app: TestApp;
let browser: Browser;
let origin: string;
let server: Awaited<ReturnType<typeof mailServer>>;
const tokens: Record<string, string> = {};

beforeAll(async () => {
  server = await mailServer();
  app = await testApp({
    PUBLIC_URL: '',
    MAIL_URL: server.url,
    MAIL_FROM: 'no-reply@house.example',
    STAFF_MAIL: 'sales@house.example',
    APPROVAL_ABOVE: '50 GBP',
  });
  [origin, browser] = await Promise.all([app.service.listen(), launchChromium()]);
  await app.publish([feedProduct('MUG-1', { title: 'Blue mug' })]);
  for (const name of ['Ann', 'Ben']) {
    const { body } = await app.desk('POST', '/desk-tokens', { name, roles: ['staff'] });
    tokens[name] = (body as { token: string }).token;
  }
  app.service.dispatcher.start();
});
afterAll(async () => {
  await browser?.close();
  await app?.close();
  await endMailServers();
});

/** The text of the newest message to an address, whose subject matches. Waits until the server has it. */
const mailTo = async (address: string, subject: RegExp): Promise<string> => {
  const find = async (): Promise<string | undefined> => {
    for (const { to, raw } of server.received.toReversed()) {
      const mail = to.includes(address) ? await PostalMime.parse(raw) : undefined;
      if (subject.test(mail?.subject ?? '')) return mail?.text;
    }
    return undefined;
  };
  await expect.poll(find, { timeout: HANG_MS }).toBeDefined();
  return (await find()) ?? '';
};
const linkIn = (text: string, path: string): string =>
  new RegExp(`${origin}/${path}/\\S+`).exec(text)?.[0] ?? 'no link';

/** Acts of one person of staff on the RFQ of a list. */
const staff = (name: string, id: string) => async (act: string, payload: object) => {
  const { status, body } = await app.send({
    method: 'POST',
    url: `/api/desk/v1/handoffs/${id}/rfq/${act}`,
    key: tokens[name],
    payload,
    headers: { 'idempotency-key': freshKey() },
  });
  return { status, state: (body as { state?: string }).state };
};

const metricsOf = async (key: string, campaign: string): Promise<object> => {
  const { body } = await app.send({
    method: 'GET',
    url: `/api/affiliate/v1/performance?granularity=total&group_by=campaign`,
    key,
  });
  const { data } = body as { data: { dimensions: { campaign: string }; metrics: object }[] };
  return data.find(({ dimensions }) => dimensions.campaign === campaign)?.metrics ?? {};
};

/** A browser context of a phone, which must report no fault and keep no cookie. */
const phone = async (javaScriptEnabled: boolean) => {
  const { page, context, faults } = await visitor(browser, origin, { ...PHONE, javaScriptEnabled });
  const isFine = async (): Promise<void> => {
    expect(await misfits(page)).toEqual([]);
    // Axe is a script.
    if (javaScriptEnabled) expect(await violations(page)).toEqual([]);
    await page.setViewportSize(PHONE.viewport);
  };
  return {
    page,
    async open(address: string): Promise<void> {
      await page.goto(address);
      await isFine();
    },
    async press(name: string): Promise<void> {
      const button = page.getByRole('button', { name, exact: true });
      expect(await answered(page, () => button.tap())).toBe(200);
      await isFine();
    },
    async end(): Promise<void> {
      expect(faults).toEqual([]);
      expect(await context.cookies()).toEqual([]);
      await context.close();
    },
  };
};
type Phone = Awaited<ReturnType<typeof phone>>;

/** Makes a list behind the short link and sends it; returns the id of the list. */
const sendList = async ({ page, open, press }: Phone, short_url: string, email: string) => {
  await open(short_url);
  await page.getByLabel('Quantity').fill('48');
  await press('Add to my list');
  await press('Review');
  await page.getByLabel('Your name').fill('Bea Buyer');
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('I ask for a quotation').check();
  await press('Ask for a quotation');
  await page.getByText('Look into your mailbox').waitFor();
  const shown = await page.getByRole('main').innerText();
  const events = await app.service.deps.log.readAll({ after: 0, limit: 10_000 });
  const sent = events.findLast(({ type }) => type === 'RfqSubmittedByBuyer');
  const { handoff_id = '' } = (sent?.data ?? {}) as { handoff_id?: string };
  expect(shown).toContain(referenceOf(handoff_id));
  return handoff_id;
};

/**
 * Two people of staff find the RFQ and quote it; its buyer asks, declines, and agrees to a second quotation; one person wins
 * that.
 */
const winRfq = async (id: string, { page, open, press }: Phone, email: string): Promise<void> => {
  const { body } = await app.desk('GET', '/rfqs?state=confirmed');
  expect(body).toMatchObject({ data: [{ handoff_id: id }] });
  const [ann, ben] = [staff('Ann', id), staff('Ben', id)];
  const terms = 'Payment within 30 days.\nDelivery in one parcel.';
  const charges = [{ label: 'Shipping', amount: 500, currency: 'GBP' }];
  const offer = quoteFor(app, 9_100, { terms, charges });
  expect(await ann('quote', offer)).toEqual({ status: 200, state: 'in_progress' });
  expect((await ann('approve', { proposal: 1 })).status).toBe(403);
  expect(await ben('approve', { proposal: 1 })).toEqual({ status: 200, state: 'quoted' });

  const first = linkIn(await mailTo(email, /^Quotation 1/), 'quotation');
  await open(first);
  await page.getByLabel('Question to staff').fill('Are lids included?');
  await press('Ask staff');
  await page.getByText('Staff have not answered yet').waitFor();
  const answer = { question: 1, answer: 'They are.' };
  expect(await ben('answer', answer)).toEqual({ status: 200, state: 'quoted' });
  await open(linkIn(await mailTo(email, /^Answer to your question/), 'quotation'));
  await page.getByText('They are.').waitFor();
  await page.getByText('Not this', { exact: true }).click();
  await page.getByLabel('Reason').fill('Shipping is too dear');
  await press('I do not want this');
  await page.getByRole('heading', { name: 'You do not want quotation 1' }).waitFor();

  const second = quoteFor(app, 9_000, { replaces: 1 });
  expect(await ben('quote', second)).toEqual({ status: 200, state: 'declined' });
  expect(await ann('approve', { proposal: 2 })).toEqual({ status: 200, state: 'quoted' });
  await open(first);
  await page.getByRole('heading', { name: 'This quotation was replaced' }).waitFor();
  const link = linkIn(await mailTo(email, /^Quotation 2/), 'quotation');
  await open(link);
  await press('I want this');
  await page.getByRole('heading', { name: 'You want quotation 2' }).waitFor();
  expect(await ben('move', { to: 'won', quotation: 2 })).toEqual({ status: 200, state: 'won' });
  await open(`${link}?print=1`);
  await page.getByRole('heading', { name: 'Your request was agreed' }).waitFor();
};

const COUNTED = {
  clicks_unique: 1,
  lists_created: 1,
  rfqs_submitted: 1,
  rfqs_unconfirmed: 0,
  rfq_value: GBP(48 * 199),
  rfqs_won: 1,
  won_value: GBP(9_000),
};

describe.skipIf(!hasChromium)(`A buyer with nothing but a phone, ${IN_CHROMIUM}`, () => {
  it.each([true, false])(
    'A buyer with nothing but a phone goes from a posted link to a won RFQ that counts, and is forgotten, with script: %s',
    async (javaScriptEnabled) => {
      const owner = javaScriptEnabled ? 'acme' : 'borough';
      const email = `bea@${owner}-shop.example`;
      const { key } = await app.agent(owner);
      const { short_url } = await createShortLink(app, key, { campaign: 'spring' });
      const buyer = await phone(javaScriptEnabled);
      const { page, open, press } = buyer;

      const id = await sendList(buyer, short_url, email);
      const review = page.url();
      const unconfirmed = { lists_created: 1, rfqs_unconfirmed: 1, rfqs_submitted: 0 };
      expect(await metricsOf(key, 'spring')).toMatchObject(unconfirmed);
      expect((await staff('Ann', id)('move', { to: 'in_progress' })).status).toBe(409);

      await open(linkIn(await mailTo(email, /^Confirm/), 'rfq'));
      await press('Confirm the request');
      await page.getByRole('heading', { name: 'Your request is with staff' }).waitFor();
      expect(await mailTo(email, /^Your request/)).toContain(referenceOf(id));
      expect(await mailTo('sales@house.example', new RegExp(referenceOf(id)))).not.toContain(email);
      await winRfq(id, buyer, email);
      expect(await metricsOf(key, 'spring')).toMatchObject(COUNTED);

      // A mailbox gets one message with a link in ten minutes.
      app.clock.advance(11 * MINUTE_MS);
      await open('/privacy');
      await page.getByLabel('E-mail address').fill(email);
      await press('Mail me a link');
      await open(linkIn(await mailTo(email, /^Your data/), 'privacy'));
      await press('Erase my data');
      await press('Erase for good');
      await page.getByText('Records erased: 1').waitFor();
      await open(review);
      expect(await page.content()).not.toContain('Bea');
      const { body, text } = await app.desk('GET', `/handoffs/${id}/rfq`);
      expect(body).toMatchObject({ state: 'won' });
      expect(text).not.toContain(email);
      expect(await metricsOf(key, 'spring')).toMatchObject(COUNTED);
      await buyer.end();
    },
  );
});
