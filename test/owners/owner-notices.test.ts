/** The profile of an owner, and the notices to its mailbox. */
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listStoredMail } from '#src/delivery/mail.ts';
import { openService } from '../support/world/open-service.ts';
import { HANG_MS } from '../support/hang.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import { atDesk } from '../support/world/desk-scenes.ts';

const PROFILE = {
  name: 'Ada Byron',
  postal_address: '1 High Street\nLondon',
  mailbox: 'ada@acme.example',
};

let app: TestApp;
beforeEach(async () => {
  app = await testApp();
  app.service.dispatcher.start();
});
afterEach(() => app.close());

const set = (over: object = {}) =>
  app.desk('POST', '/owners/acme/profile', { ...PROFILE, ...over });
const read = () => app.desk('GET', '/owners/acme/profile');
const confirm = (mailbox = PROFILE.mailbox) =>
  app.desk('POST', '/owners/acme/mailbox/confirm', { mailbox, reason: 'Ada called' });
const request = async (): Promise<string> => {
  const asked = { owner_id: 'acme', name: 'Letter <b>agent</b>', purpose: 'Tests' };
  const scopes = ['products:read', 'links:write'];
  return ((await app.desk('POST', '/agents', { ...asked, scopes })).body as { id: string }).id;
};
const approve = async () =>
  atDesk(app, { path: `/agents/${await request()}/approve`, body: { reason: 'Known' } });
const mails = async () => {
  const { dispatcher, deps } = app.service;
  await dispatcher.idle();
  await deps.following.passed((await deps.log.head()).position, HANG_MS);
  await dispatcher.idle();
  return listStoredMail(join(app.directory, 'mail'));
};

describe('The profile of an owner', () => {
  it("An owner's profile is set, read and confirmed by staff, and stored in sealed form", async () => {
    expect(await read()).toMatchObject({ status: 404, body: { code: 'resource_not_found' } });
    expect((await set()).body).toMatchObject({ owner_id: 'acme', mailbox_confirmed: false });
    expect((await read()).body).toMatchObject({ ...PROFILE, owner_id: 'acme' });
    expect((await read()).body).not.toHaveProperty('mailbox_confirmed_at');
    expect((await confirm()).body).toMatchObject({ mailbox_confirmed: true });
    expect((await read()).body).toHaveProperty('mailbox_confirmed_at');
    const log = JSON.stringify(await app.service.deps.log.readAll({ after: 0, limit: 1_000 }));
    for (const text of [PROFILE.name, PROFILE.mailbox, 'High Street', 'Ada called'])
      expect(log).not.toContain(text);
  });

  it("An owner's profile keeps its confirmation with the same mailbox, and needs another one for another", async () => {
    await set();
    await confirm();
    expect((await set({ name: 'Acme Ltd' })).body).toMatchObject({ mailbox_confirmed: true });
    const other = { mailbox: 'büro@acme.example' };
    expect((await set(other)).body).toMatchObject({ mailbox_confirmed: false });
    expect(await confirm()).toMatchObject({ status: 409, body: { code: 'state_conflict' } });
    expect((await confirm(other.mailbox)).body).toMatchObject({ mailbox_confirmed: true });
  });

  it('A profile with an invalid mailbox or name is refused', async () => {
    for (const over of [{ mailbox: 'ada' }, { mailbox: 'a@b.example, c@d.example' }, { name: '' }])
      expect(await set(over)).toMatchObject({ status: 422, body: { code: 'validation_failed' } });
  });

  it("An owner's profile is removed with the key of its texts and of earlier texts", async () => {
    await set();
    await confirm();
    await set({ name: 'Acme Ltd' });
    const remove = { reason: 'The contract ended' };
    expect((await app.desk('POST', '/owners/acme/profile/remove', remove)).status).toBe(200);
    expect(await read()).toMatchObject({ status: 404 });
    const { log, vault } = app.service.deps;
    const events = await log.readStream('acme-owner_profile');
    const subjects = events.flatMap(
      ({ data }) => (data as { sealed_for?: string }).sealed_for ?? [],
    );
    expect(subjects).toHaveLength(2);
    for (const subject of subjects) expect(await vault.knows(subject)).toBe('destroyed');
    expect((await set()).status).toBe(200);
  });

  it("An owner's profile is read by its owner, and by no other owner", async () => {
    await set();
    const tokenOf = async (owner_id: string): Promise<string> => {
      const issued = { name: 'Ada', roles: ['owner'], owner_id };
      return ((await app.desk('POST', '/desk-tokens', issued)).body as { token: string }).token;
    };
    const url = '/api/desk/v1/owners/acme/profile';
    const own = await app.send({ method: 'GET', url, key: await tokenOf('acme') });
    expect(own.body).toMatchObject(PROFILE);
    const rival = await app.send({ method: 'GET', url, key: await tokenOf('rival') });
    expect(rival).toMatchObject({ status: 404 });
  });
});

describe('The decision on a request for access', () => {
  it('The decision on a request for access is mailed to the confirmed mailbox of the owner: granted, granted in part or denied', async () => {
    await set();
    await confirm();
    const agents = [await request(), await request(), await request()];
    const decide = (n: number, verb: string, body: object = {}) =>
      atDesk(app, {
        path: `/agents/${agents[n]}/${verb}`,
        body: { reason: 'Known since 2019', ...body },
      });
    await decide(0, 'approve');
    await decide(1, 'approve', { scopes: ['products:read'] });
    await decide(2, 'deny');
    await decide(2, 'deny');
    const all = (await mails()).filter(({ subject }) => subject.startsWith('Access'));
    expect(all.map(({ to, subject }) => `${to} ${subject}`).toSorted()).toEqual(
      ['granted', 'granted in part', 'denied']
        .map((outcome, n) => `${PROFILE.mailbox} Access of ${agents[n]}: ${outcome}`)
        .toSorted(),
    );
    const [partial] = all.filter(({ subject }) => subject.endsWith('in part'));
    expect(partial?.text).toContain('Its scopes now: products:read.');
    expect(partial?.text).toContain('Reason: Known since 2019');
  });

  it('The decision on a request for access is mailed to nobody while the mailbox is not confirmed, or after the profile is removed', async () => {
    await approve();
    await set();
    await approve();
    await confirm();
    await app.desk('POST', '/owners/acme/profile/remove', { reason: 'Left' });
    expect((await approve()).status).toBe(200);
    const sent = (await mails()).filter(({ subject }) => subject.startsWith('Access'));
    expect(sent).toEqual([]);
  });

  it('The decision on a request for access is removed from the mail directory with the profile, by the next start at the latest', async () => {
    await set();
    await confirm();
    await approve();
    expect((await mails()).map(({ to }) => to)).toEqual([PROFILE.mailbox, PROFILE.mailbox]);
    await app.desk('POST', '/owners/acme/profile/remove', { reason: 'Left' });
    const { config } = app.service;
    await app.service.close();
    const again = await openService(config, { clock: app.clock, log: pino({ level: 'silent' }) });
    again.dispatcher.start();
    await again.dispatcher.idle();
    await again.close();
    expect(await listStoredMail(join(app.directory, 'mail'))).toEqual([]);
  });
});
