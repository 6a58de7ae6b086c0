/** A person sees, copies and erases the own data, and refuses contact, with a link in a message to the address. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { people } from '../support/world/people.ts';
import { buyerOver } from '../support/world/server-over.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

let app: TestApp;
let acme: string;
let world: ReturnType<typeof people>;
beforeAll(async () => {
  app = await testApp();
  world = people(app);
  await app.publish([feedProduct('MUG-1')]);
  acme = (await app.agent('acme')).key;
  app.service.dispatcher.start();
});
afterAll(() => app.close());

const post = (url: string, payload: string, headers: Record<string, string> = {}) =>
  app.send({
    method: 'POST',
    url,
    payload,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    remoteAddress: '198.51.100.7',
  });
const ask = (mailbox: string, address = `198.51.100.${(asked += 1)}`) =>
  app.send({
    method: 'POST',
    url: '/privacy',
    payload: `mailbox=${encodeURIComponent(mailbox)}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    remoteAddress: address,
  });
let asked = 0;

const linkFor = async (email: string): Promise<string> => {
  // The mailbox may get the confirmation of an RFQ just before.
  await world.caughtUp();
  await app.service.dispatcher.idle();
  app.clock.advance(LIMITS.CONFIRMATION_WAIT_MINUTES * MINUTE_MS);
  const { status } = await ask(email);
  expect(status).toBe(200);
  return world.mailedPath(email);
};
const get = (url: string) => app.send({ method: 'GET', url });
const head = async (): Promise<number> => (await app.service.deps.log.head()).position;

describe('The form of /privacy', () => {
  it('The form of /privacy answers the same, and appends the same events, for a known, an unknown and a suppressed mailbox', async () => {
    await world.lead(acme, 'known@shop.example');
    await world.act('withdraw', 'suppressed@shop.example');
    await world.caughtUp();
    const { log } = app.service.deps;
    const answers = [];
    for (const name of ['known', 'unknown', 'suppressed']) {
      await app.service.dispatcher.idle();
      const after = await head();
      const { status, text, headers } = await ask(`${name}@shop.example`);
      const written = await log.readAll({ after, limit: 10 });
      const types = written.flatMap(({ type, meta }) =>
        meta.operation === 'requestPrivacyLink' ? [type] : [],
      );
      answers.push({ status, text, names: Object.keys(headers).toSorted(), types });
    }
    expect(answers[0]?.types).toEqual(['PrivacyLinkRequested', 'MailQueued']);
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
  });

  it('The form of /privacy refuses an invalid address, the key of an agent, a page of another site, and a network that asks too often', async () => {
    expect((await ask('nobody')).status).toBe(422);
    const key = { authorization: `Bearer ${acme}` };
    expect((await post('/privacy', 'mailbox=a%40shop.example', key)).status).toBe(403);
    const foreign = { 'sec-fetch-site': 'cross-site' };
    expect((await post('/privacy', 'mailbox=a%40shop.example', foreign)).status).toBe(403);
    const statuses = [];
    for (let n = 0; n <= 20; n += 1)
      statuses.push((await ask(`${n}.many@shop.example`, '203.0.113.9')).status);
    expect(statuses).toEqual([...Array<number>(20).fill(200), 429]);
  });
});

describe('A second message to a mailbox', () => {
  it('A second message to a mailbox waits for ten minutes, which the page does not say', async () => {
    await app.service.dispatcher.idle();
    const after = await head();
    const first = await ask('again@shop.example');
    expect((await ask('again@shop.example')).text).toBe(first.text);
    await app.service.dispatcher.idle();
    await world.caughtUp();
    const { log } = app.service.deps;
    const events = await log.readAll({ after, limit: 20 });
    const ends = events.filter(({ type }) => type === 'MailSent' || type === 'MailDeferred');
    expect(ends.map(({ data }) => ('reason' in data ? data.reason : 'sent')).toSorted()).toEqual([
      'mailbox_limit',
      'sent',
    ]);
  });
});

describe('The link in the message', () => {
  it('The link in the message shows the records, changes nothing when it is opened, and works for an hour', async () => {
    const id = await world.lead(acme, 'look@shop.example');
    await world.caughtUp();
    const path = await linkFor('look@shop.example');
    const before = await head();
    const page = await get(path);
    expect([page.status, page.headers['cache-control']]).toEqual([200, 'no-store']);
    expect(page.text).toContain(id);
    for (const act of ['export', 'refuse', 'allow', 'erase'])
      expect((await get(`${path}/${act}`)).status).toBe(303);
    expect(await head()).toBe(before);
    app.clock.advance(HOUR_MS);
    expect((await get(path)).status).toBe(404);
    expect((await post(`${path}/erase`, '')).status).toBe(404);
    expect(await app.service.deps.vault.knows(id)).toBe('key');
  });

  it('The link in the message downloads a copy with the contact', async () => {
    const id = await world.rfq(acme, 'copy@shop.example');
    await world.caughtUp();
    const { headers, text } = await post(`${await linkFor('copy@shop.example')}/export`, '');
    expect(headers['content-disposition']).toContain('attachment');
    expect(JSON.parse(text)).toMatchObject({
      data: [{ id, contact: { email: 'copy@shop.example' } }],
    });
  });

  it('The link in the message refuses contact by one promoter, and allows it again', async () => {
    const email = 'mute@shop.example';
    const id = await world.rfq(acme, email);
    await world.caughtUp();
    const path = await linkFor(email);
    const contact = async (): Promise<unknown> =>
      ((await app.desk('GET', `/handoffs/${id}/rfq`)).body as { contact: unknown }).contact;
    expect((await post(`${path}/refuse`, 'owner=acme')).status).toBe(200);
    expect(await contact()).toBe('[withdrawn]');
    expect((await get(path)).text).toContain('You refuse contact by acme');
    expect((await post(`${path}/allow`, 'owner=acme')).status).toBe(200);
    expect(await contact()).toMatchObject({ email });
  });

  it('The link in the message erases only the request of a list whose unconfirmed request has the address', async () => {
    const email = 'typed@shop.example';
    const { id, review_url } = await world.handoff(acme, { email: 'buyer@shop.example' });
    const contact = { name: 'Bob', email };
    const { deps } = app.service;
    await buyerOver(deps, review_url).send({ list_revision: 1, consent: true, contact });
    const { status, text } = await post(`${await linkFor(email)}/erase`, 'confirmed=yes');
    expect(status).toBe(200);
    expect(text).toContain('Records erased: 0. Unconfirmed requests erased: 1; their lists stay.');
    expect(await deps.vault.knows(id)).toBe('key');
  });

  it('The link in the message says that a key was destroyed where the only one is that of an unconfirmed request', async () => {
    const { id, review_url } = await world.handoff(acme);
    const contact = { name: 'Bob', email: 'only@shop.example' };
    const { deps } = app.service;
    await buyerOver(deps, review_url).send({ list_revision: 1, consent: true, contact });
    const { body } = await app.desk('POST', `/subjects/${id}/erase`, { reason: 'Asked' });
    expect(body).toMatchObject({ subject: id, key: 'destroyed' });
  });

  it('The link in the message erases the records of the exact address and those that are ticked, and ends itself', async () => {
    const mine = await world.lead(acme, 'me.too@gmail.com');
    const ticked = await world.rfq(acme, 'metoo+shop@gmail.com');
    const other = await world.rfq(acme, 'metoo+other@gmail.com');
    const stranger = await world.lead(acme, 'stranger@shop.example');
    const path = await linkFor('me.too@gmail.com');
    const { vault } = app.service.deps;
    const asked = await post(`${path}/erase`, `folded=${ticked}&folded=${stranger}`);
    expect(asked.status).toBe(200);
    for (const shown of ['Erase your data?', mine, ticked, 'cannot be undone'])
      expect(asked.text).toContain(shown);
    for (const not of [other, stranger])
      expect(asked.text.split('What is erased')[1]).not.toContain(`${not}</li>`);
    expect(await vault.knows(mine)).toBe('key');
    const erased = await post(`${path}/erase`, `folded=${ticked}&folded=${stranger}&confirmed=yes`);
    expect([erased.status, erased.text.includes('Records erased: 2')]).toEqual([200, true]);
    const states = await Promise.all([mine, ticked, other, stranger].map((id) => vault.knows(id)));
    expect(states.map((state) => state === 'destroyed')).toEqual([true, true, false, false]);
    expect((await get(path)).status).toBe(404);
    const { body } = await world.submitLead(acme, 'me.too@gmail.com');
    expect(body).toMatchObject({ state: 'rejected' });
  });
});
