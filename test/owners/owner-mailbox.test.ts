/** The mailbox of an owner's profile is confirmed with a link that is mailed to it. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listStoredMail } from '#src/delivery/mail.ts';
import { LIMITS } from '#contracts/limits.ts';
import { linkToken } from '#src/sending/mail.ts';
import { mailboxPath, profileStream } from '#src/owners/profile.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import { people } from '../support/world/people.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

let app: TestApp;
let world: ReturnType<typeof people>;
beforeAll(async () => {
  app = await testApp();
  world = people(app);
  app.service.dispatcher.start();
});
afterAll(() => app.close());

const profileOf = (owner: string, over: object = {}) => ({
  name: `Ada of ${owner}`,
  postal_address: '1 High Street\nLondon',
  mailbox: `ada@${owner}.example`,
  ...over,
});
const set = async (owner: string, over: object = {}): Promise<void> => {
  const answer = await app.desk('POST', `/owners/${owner}/profile`, profileOf(owner, over));
  expect(answer.status).toBe(200);
};
/** Sets a profile after the least time between two messages; resolves to the path of the link that is mailed. */
const mailedTo = async (owner: string, over: { mailbox?: string } = {}): Promise<string> => {
  app.clock.advance(LIMITS.CONFIRMATION_WAIT_MINUTES * MINUTE_MS);
  await set(owner, over);
  return world.mailedPath(profileOf(owner, over).mailbox);
};
const hex = (text: string): string => Buffer.from(text).toString('hex');
const read = async (owner: string) => (await app.desk('GET', `/owners/${owner}/profile`)).body;
const press = (path: string, button: string, headers: Record<string, string> = {}) =>
  app.send({
    method: 'POST',
    url: `${path}/${button}`,
    payload: '',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });
const eventsOf = (owner: string) => app.service.deps.log.readStream(profileStream(owner));
const types = async (owner: string) => (await eventsOf(owner)).map(({ type }) => type);

describe('The link to the mailbox of a profile', () => {
  it("The link to a profile's mailbox confirms it with its button, once, and changes nothing when it is opened", async () => {
    const path = await mailedTo('acme');
    for (const method of ['GET', 'HEAD'] as const)
      expect((await app.send({ method, url: path })).status).toBe(200);
    const { text, headers } = await app.send({ method: 'GET', url: path });
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
    for (const shown of ['ada@acme.example', 'Ada of acme', 'Confirm the mailbox'])
      expect(text).toContain(shown);
    expect(text).not.toContain('High Street');
    expect((await app.send({ method: 'GET', url: `${path}/confirm` })).headers['location']).toBe(
      path,
    );
    expect(await types('acme')).toEqual(['OwnerProfileSet']);
    for (let times = 0; times < 2; times += 1)
      expect((await press(path, 'confirm')).status).toBe(303);
    const [, confirmed, ...more] = await eventsOf('acme');
    expect(confirmed).toMatchObject({ type: 'OwnerMailboxConfirmed', data: {} });
    expect(confirmed?.data).not.toHaveProperty('sealed_reason');
    expect(more).toEqual([]);
    expect(await read('acme')).toHaveProperty('mailbox_confirmed_at');
    const shown = await app.send({ method: 'GET', url: path });
    expect(shown.text).toContain('Your mailbox is confirmed');
    expect((await press(path, 'not-me')).status).toBe(303);
    expect(await read('acme')).toHaveProperty('mailbox_confirmed_at');
  });

  it("The link to a profile's mailbox is mailed in our own words, and not for a mailbox that is confirmed already", async () => {
    const queued = async () =>
      (await app.service.deps.log.readAll({ after: 0, limit: 10_000 })).filter(
        ({ owner, type }) => owner === 'plain' && type === 'MailQueued',
      );
    const path = await mailedTo('plain', { mailbox: 'ada@other.example' });
    const { text } =
      (await listStoredMail(join(app.directory, 'mail'))).find(
        ({ to }) => to === 'ada@other.example',
      ) ?? {};
    expect(text).toContain(path);
    expect(text).not.toMatch(/Ada of|plain|High Street/);
    await press(path, 'confirm');
    await set('plain', { mailbox: 'ada@other.example', name: 'Plain Ltd' });
    expect(await queued()).toHaveLength(1);
    await set('plain');
    expect(await queued()).toHaveLength(2);
    expect(await read('plain')).not.toHaveProperty('mailbox_confirmed_at');
  });

  it("The link to a profile's mailbox is void once the profile is set again, and after seven days", async () => {
    const first = await mailedTo('again');
    const second = await mailedTo('again');
    expect(second).not.toBe(first);
    expect((await app.send({ method: 'GET', url: first })).status).toBe(404);
    expect((await press(first, 'confirm')).status).toBe(404);
    app.clock.advance(LIMITS.MAILED_LINK_DAYS * DAY_MS);
    for (const button of ['confirm', 'not-me'])
      expect((await press(second, button)).status).toBe(404);
    expect(await types('again')).toEqual(['OwnerProfileSet', 'OwnerProfileSet']);
  });

  it("The link to a profile's mailbox removes the profile of somebody who entered another person's address, and blocks such mail", async () => {
    const path = await mailedTo('wrong');
    const [before] = await eventsOf('wrong');
    const { sealed_for = '' } = (before?.data ?? {}) as { sealed_for?: string };
    expect((await press(path, 'not-me')).text).toContain('Your address is removed');
    expect(await types('wrong')).toEqual(['OwnerProfileSet', 'OwnerProfileRemoved']);
    expect(await app.service.deps.vault.knows(sealed_for)).toBe('destroyed');
    expect((await press(path, 'confirm')).status).toBe(404);
    app.clock.advance(DAY_MS);
    const { position: after } = await app.service.deps.log.head();
    await set('wrong');
    await world.caughtUp();
    await app.service.dispatcher.idle();
    const later = await app.service.deps.log.readAll({ after, limit: 100 });
    expect(later.find(({ type }) => type === 'MailFailed')?.data).toMatchObject({
      reason: 'blocked',
    });
  });

  it("The link to a profile's mailbox is the only credential: no guess, no link of another owner and no API key opens the page", async () => {
    const path = await mailedTo('guess');
    await set('rival');
    const { key } = await app.agent('guess');
    const { secrets } = app.service.deps;
    const guesses = [
      mailboxPath(linkToken(secrets, { subject: 'guess' })),
      path.replace(hex('guess'), hex('rival')),
      path.replace(hex('guess'), hex('a-b')),
      `${path.slice(0, -1)}${path.endsWith('0') ? '1' : '0'}`,
      path.slice(0, -1),
      '/mailbox/guess',
      '/mailbox/00.x',
    ];
    for (const guess of guesses) {
      expect((await app.send({ method: 'GET', url: guess })).status, guess).toBe(404);
      expect((await press(guess, 'confirm')).status, guess).toBe(404);
    }
    expect((await app.send({ method: 'GET', url: path, key })).status).toBe(403);
    expect((await press(path, 'confirm', { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    for (const owner of ['guess', 'rival']) expect(await types(owner)).toEqual(['OwnerProfileSet']);
  });
});
