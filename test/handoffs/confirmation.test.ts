/** The confirmation of an RFQ by mail: the page behind the link, what the review link does not do, and the mail itself. */
import { referenceOf } from '#src/ports/reference.ts';
import { quote } from '../support/world/deals.ts';
import { quotationOver } from '../support/world/server-over.ts';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { contactSubjectOf } from '#src/handoffs/render-handoff.ts';
import { expireConfirmations } from '#src/handoffs/confirm-rfq.ts';
import { systemCall } from '#src/calls/handlers.ts';
import { mcpAgent } from '../support/clients/mcp.ts';
import { confirmationPath } from '../support/world/confirmation.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { reviews } from '../support/world/reviews.ts';

const DAY_MS = 86_400_000;
const V1 = '/api/affiliate/v1';

let app: TestApp;
let key: string;
beforeAll(async () => {
  // More than this file sends from one address.
  app = await testApp({ RFQS_PER_DAY: '1000' });
  key = (await app.agent('acme')).key;
  await app.publish([feedProduct('MUG-1'), feedProduct('MUG-2')]);
});
afterAll(() => app.close());

const { handoff, get, post, events, confirm } = reviews({ app: () => app, key: () => key });

const CONTACT = {
  name: 'Bea Buyer',
  email: 'bea@shop.example',
  company: 'Corner Shop',
  country: 'IE',
  // As a browser sends a line break.
  message: 'Two pallets,\r\nplease.',
  consent: 'yes',
};
type Sent = { id: string; path: string; link: string };

/** Sends a list; `link` is that of the mail. */
const sendList = async (over: Record<string, string> = {}): Promise<Sent> => {
  const { id, path } = await handoff();
  const answer = await post(`${path}/send`, { list_revision: '1', ...CONTACT, ...over });
  expect(answer.status).toBe(303);
  return { id, path, link: await confirmationPath(app, { id }) };
};
const sendAgain = async (
  { id, path }: Sent,
  over: Record<string, string> = {},
): Promise<string> => {
  const answer = await post(`${path}/send`, { list_revision: '1', ...CONTACT, ...over });
  expect(answer.status).toBe(303);
  return confirmationPath(app, { id });
};
const press = (link: string, button: string, fields: Record<string, string> = {}) =>
  post(`${link}/${button}`, button === 'confirm' ? { list_revision: '1', ...fields } : fields);
const numbers = async (id: string) => {
  const url = `${V1}/performance?from=2026-11-01&granularity=total&handoff_id=${id}`;
  const { body } = await app.send({ method: 'GET', url, key });
  const { rfqs_submitted, rfqs_unconfirmed, rfqs_confirmed_by_staff, rfq_value } = (
    body as { totals: Record<string, unknown> }
  ).totals;
  return { rfqs_submitted, rfqs_unconfirmed, rfqs_confirmed_by_staff, rfq_value };
};
const rfq = (id: string) => app.desk('GET', `/handoffs/${id}/rfq`);
const knows = ({ id }: Sent, number = 1) =>
  app.service.deps.vault.knows(contactSubjectOf(id, number));
const expire = (): Promise<number> => {
  const { deps } = app.service;
  const by = { ownerId: 'desk', signal: new AbortController().signal };
  return expireConfirmations(deps, systemCall(deps, 'expireConfirmations', by));
};
const NONE = { rfqs_submitted: 0, rfqs_confirmed_by_staff: 0 };

describe('A request that was sent', () => {
  it('An RFQ that was sent waits for its mailbox, and counts as unconfirmed without a value', async () => {
    const { id, path } = await sendList();
    const { text } = await get(path);
    expect(text).toContain('Look into your mailbox');
    expect(text).toContain('Send again');
    expect(text).not.toMatch(/bea@|Bea Buyer|Corner Shop|pallets/);
    expect(await numbers(id)).toMatchObject({ ...NONE, rfqs_unconfirmed: 1, rfq_value: [] });
    expect((await rfq(id)).body).toMatchObject({
      state: 'unconfirmed',
      contact: { country: 'IE' },
    });
  });

  it('An RFQ that was sent is confirmed by the button behind the link, which GET does not press', async () => {
    const { id, path, link } = await sendList();
    for (const method of ['GET', 'HEAD'] as const)
      expect((await app.send({ method, url: link })).status).toBe(200);
    expect((await get(`${link}/confirm`)).headers['location']).toBe(link);
    const { text, headers } = await get(link);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
    });
    for (const part of [
      'Confirm your request',
      'Bea Buyer',
      'Ireland',
      'Two pallets,',
      referenceOf(id),
    ])
      expect(text).toContain(part);
    expect(await events(id)).not.toContain('RfqConfirmedByBuyer');
    for (let times = 0; times < 2; times += 1)
      expect((await press(link, 'confirm')).status).toBe(303);
    expect((await events(id)).filter((type) => type.startsWith('Rfq'))).toEqual([
      'RfqSubmittedByBuyer',
      'RfqConfirmedByBuyer',
    ]);
    expect((await get(link)).text).toContain('Your request is with staff');
    expect((await get(path)).text).toContain('Your request was sent');
    expect((await rfq(id)).body).toMatchObject({ state: 'confirmed', confirmed_by: 'mailbox' });
    expect(await numbers(id)).toMatchObject({ rfqs_submitted: 1, rfqs_unconfirmed: 0 });
  });

  it('An RFQ that was sent seals no message when its confirmation is repeated or refused', async () => {
    const [{ link }, { link: refused }] = [await sendList(), await sendList()];
    const seal = vi.spyOn(app.service.deps.vault, 'seal');
    try {
      expect((await press(link, 'confirm')).status).toBe(303);
      expect(seal).toHaveBeenCalledTimes(1);
      expect((await press(link, 'confirm')).status).toBe(303);
      expect((await press(refused, 'confirm', { list_revision: '2' })).status).toBe(409);
      expect(seal).toHaveBeenCalledTimes(1);
    } finally {
      seal.mockRestore();
    }
  });

  it('An RFQ that was sent is confirmed only for the list that the page showed', async () => {
    const { id, path, link } = await sendList();
    const changed = { list_revision: '1', 'quantity.1': '8', 'quantity.2': '5' };
    expect((await post(`${path}/quantities`, changed)).status).toBe(303);
    const late = await press(link, 'confirm');
    expect(late.status).toBe(409);
    expect(late.text).toMatch(/Nothing was changed[^]*name="list_revision" value="2"/);
    expect((await press(link, 'confirm', { list_revision: '2' })).status).toBe(303);
    expect((await rfq(id)).body).toMatchObject({ list_revision: 2, state: 'confirmed' });
  });

  it('An RFQ that is sent again with another address voids the earlier link, and forgets its contact', async () => {
    const sent = await sendList();
    const link = await sendAgain(sent, { email: 'bea@corner.example' });
    expect(link).not.toBe(sent.link);
    const replaced = await get(sent.link);
    expect(replaced.text).toContain('This link was replaced');
    expect(replaced.text).not.toMatch(/bea@|Bea Buyer/);
    expect((await press(sent.link, 'confirm')).status).toBe(409);
    expect((await press(sent.link, 'not-me')).status).toBe(409);
    expect(await knows(sent)).toBe('destroyed');
    expect(await numbers(sent.id)).toMatchObject({ rfqs_unconfirmed: 1 });
    expect((await press(link, 'confirm')).status).toBe(303);
    expect((await rfq(sent.id)).body).toMatchObject({ contact: { email: 'bea@corner.example' } });
  });

  it('An RFQ that is sent again at once with the same fields keeps its link', async () => {
    const sent = await sendList();
    expect(await sendAgain(sent)).toBe(sent.link);
    app.clock.advance(LIMITS.CONFIRMATION_WAIT_MINUTES * 60_000);
    expect(await sendAgain(sent)).not.toBe(sent.link);
  });

  it('An RFQ that was sent ends when the holder of the mailbox says that it was somebody else', async () => {
    const sent = await sendList({ email: `${freshKey()}@shop.example` });
    for (let times = 0; times < 2; times += 1)
      expect((await press(sent.link, 'not-me')).status).toBe(303);
    expect((await get(sent.link)).text).toContain('This request is over');
    expect(await knows(sent)).toBe('destroyed');
    expect((await rfq(sent.id)).status).toBe(404);
    expect((await press(sent.link, 'confirm')).status).toBe(409);
    const { text } = await get(sent.path);
    expect(text).toContain('Ask for a quotation');
    expect(text).not.toContain('Look into your mailbox');
  });

  it('An RFQ ends with a list that its owner withdraws, and with an erasure', async () => {
    const [withdrawn, erased] = [await sendList(), await sendList()];
    const request = { owner_id: 'acme', reason: 'Sold out' };
    expect((await app.desk('POST', `/handoffs/${withdrawn.id}/withdraw`, request)).status).toBe(
      200,
    );
    expect((await app.desk('POST', `/subjects/${erased.id}/erase`, request)).status).toBe(200);
    for (const sent of [withdrawn, erased]) {
      expect(await knows(sent)).toBe('destroyed');
      expect((await press(sent.link, 'confirm')).status).toBe(409);
      expect((await rfq(sent.id)).status).toBe(404);
    }
  });
});

describe('A confirmed request', () => {
  it('A confirmed RFQ is withdrawn behind the link', async () => {
    const { id, link } = await sendList();
    expect((await press(link, 'withdraw')).status).toBe(409);
    expect((await press(link, 'confirm')).status).toBe(303);
    expect((await press(link, 'not-me')).status).toBe(409);
    for (let times = 0; times < 2; times += 1)
      expect((await press(link, 'withdraw')).status).toBe(303);
    const { text } = await get(link);
    expect(text).toContain('Your request has ended');
    expect(text).toContain('It was withdrawn');
    expect((await rfq(id)).body).toMatchObject({
      state: 'withdrawn',
      reason: 'withdrawn_by_buyer',
    });
  });

  it('An RFQ that staff confirmed needs a reason, counts apart, and is won with a second person or the word of its buyer', async () => {
    const { id } = await sendList();
    const move = (body: object) => app.desk('POST', `/handoffs/${id}/rfq/move`, body);
    expect((await move({ to: 'confirmed' })).body).toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: '/reason' }],
    });
    const known = { to: 'confirmed', reason: 'She called from the number we know' };
    expect((await move(known)).body).toMatchObject({ state: 'confirmed' });
    expect((await rfq(id)).body).toMatchObject({ confirmed_by: 'staff' });
    expect(await numbers(id)).toMatchObject({
      rfqs_submitted: 1,
      rfqs_unconfirmed: 0,
      rfqs_confirmed_by_staff: 1,
    });
    expect((await quote(app, id, 100)).status).toBe(200);
    expect((await move({ to: 'won' })).body).toMatchObject({
      state: 'quoted',
      proposed: { to: 'won' },
    });
    // The mailbox is seen to work when its holder agrees.
    const buyer = quotationOver(app.service.deps, { ownerId: 'acme', handoffId: id });
    expect(await buyer.agree()).toMatchObject({ ok: true });
    expect((await move({ to: 'won' })).body).toMatchObject({ state: 'won' });
  });

  it('A confirmed RFQ cannot be confirmed by staff after its outcome', async () => {
    const { id } = await sendList();
    await confirm({ id });
    const move = (body: object) => app.desk('POST', `/handoffs/${id}/rfq/move`, body);
    expect((await move({ to: 'lost' })).status).toBe(200);
    expect((await move({ to: 'confirmed', reason: 'x' })).status).toBe(409);
  });
});

describe('An agent', () => {
  it('An agent confirms nothing with its key, with the review link, or with both', async () => {
    const { id, path, link } = await sendList();
    const token = path.slice('/h/'.length);
    const headers = { authorization: `Bearer ${key}` };
    for (const button of ['confirm', 'not-me', 'withdraw']) {
      expect((await post(`/rfq/${token}/${button}`, { list_revision: '1' })).status).toBe(404);
      for (const with_ of [`/rfq/${token}`, link])
        expect((await post(`${with_}/${button}`, { list_revision: '1' }, headers)).status).toBe(
          403,
        );
      expect((await post(`${path}/${button}`, { list_revision: '1' })).status).toBe(404);
    }
    expect((await get(`/rfq/${token}`)).status).toBe(404);
    expect((await get(link, headers)).status).toBe(403);
    // The token of the mail opens no list.
    expect((await get(`/h/${link.slice('/rfq/'.length)}`)).status).toBe(404);
    expect((await events(id)).filter((type) => /^Rfq(Conf|Drop|With)/.test(type))).toEqual([]);
  });

  it('An agent sees a list in review until the buyer has confirmed', async () => {
    const { id } = await sendList();
    const uri = `tributary://handoffs/${id}`;
    const shown = async () => {
      const { body } = await mcpAgent(app, key).legacy('resources/read', { uri });
      return (body.result as unknown as { contents: { text: string }[] }).contents[0]?.text ?? '';
    };
    const before = JSON.parse(await shown()) as object;
    expect(before).toMatchObject({ status: 'in_review' });
    expect(before).not.toHaveProperty('rfq');
    await confirm({ id });
    expect(JSON.parse(await shown())).toMatchObject({
      status: 'rfq_submitted',
      rfq: { state: 'open' },
    });
  });
});

describe('The form of a list', () => {
  it('The form of a list accepts a limited number of requests of one network a day', async () => {
    const few = await testApp({ RFQS_PER_DAY: '2' });
    try {
      const own = (await few.agent('acme')).key;
      await few.publish([feedProduct('MUG-1'), feedProduct('MUG-2')]);
      const world = reviews({ app: () => few, key: () => own });
      const send = async () => {
        const { path } = await world.handoff();
        return world.post(`${path}/send`, { list_revision: '1', ...CONTACT });
      };
      expect((await send()).status).toBe(303);
      expect((await send()).status).toBe(303);
      const refused = await send();
      expect(refused.status).toBe(429);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_600);
      expect(refused.text).toContain('Too many requests from your network');
      expect(refused.text).toContain('value="bea@shop.example"');
    } finally {
      await few.close();
    }
  });

  it('The form of a list refuses an unknown country, and a long message', async () => {
    const { path } = await handoff();
    const typed = { list_revision: '1', ...CONTACT, country: 'QQ', message: 'x'.repeat(2_001) };
    const { status, text } = await post(`${path}/send`, typed);
    expect(status).toBe(422);
    expect(text).toContain('Choose a country, or none.');
    expect(text).toContain('The message must be plain text of at most 2,000 characters.');
  });
});

// The last one, because it advances the clock.
describe('A request that is not confirmed in time', () => {
  it('An RFQ that is not confirmed in time expires, its contact is forgotten, and an open list can be sent again', async () => {
    const sent = await sendList();
    app.clock.advance(LIMITS.CONFIRMATION_DAYS * DAY_MS - 1);
    await expire();
    expect((await rfq(sent.id)).status).toBe(200);
    app.clock.advance(1);
    expect((await press(sent.link, 'confirm')).status).toBe(409);
    expect(await expire()).toBeGreaterThan(0);
    expect((await events(sent.id)).at(-1)).toBe('RfqConfirmationExpired');
    expect(await knows(sent)).toBe('destroyed');
    expect((await get(sent.link)).text).toContain('This request is over');
    expect(await numbers(sent.id)).toMatchObject({ ...NONE, rfqs_unconfirmed: 1 });
    const link = await sendAgain(sent);
    expect((await press(link, 'confirm')).status).toBe(303);
    expect(await numbers(sent.id)).toMatchObject({ rfqs_submitted: 1, rfqs_unconfirmed: 1 });
  });

  it('An RFQ that is not confirmed in time keeps its list open for two weeks after the end of the list, however often it is sent', async () => {
    const days = (count: number) => app.clock.advance(count * DAY_MS);
    const list = await handoff();
    days(LIMITS.HANDOFF_DAYS_DEFAULT - 1);
    const sent = { ...list, link: '' };
    const links = [await sendAgain(sent)];
    for (const later of [10, 4]) {
      days(later);
      links.push(await sendAgain(sent));
      expect(await sendAgain(sent)).toBe(links.at(-1));
    }
    expect(new Set(links).size).toBe(3);
    expect((await get(list.path)).text).toContain('You can confirm it until');
    days(1);
    for (const url of [`${list.path}/send`, `${list.path}/quantities`])
      expect((await post(url, { list_revision: '1', ...CONTACT })).status).toBe(409);
    expect((await press(links.at(-1) ?? '', 'confirm')).status).toBe(409);
    expect((await get(list.path)).text).toContain('This list has expired');
  });
});
