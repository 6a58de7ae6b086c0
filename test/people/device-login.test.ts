/** A command line asks to be signed in, and a person allows or denies it on a page. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { DEVICE_LOGIN } from '#contracts/places.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { type Browsing, browsingPerson } from '../support/world/browsing-person.ts';

const MINUTE_MS = 60_000;

let app: TestApp;
let ann: Browsing;
beforeAll(async () => {
  app = await testApp();
  ann = await browsingPerson(app, { name: 'Ann Lee', roles: ['staff'] });
});
afterAll(() => app.close());

type Asked = { device_code: string; user_code: string; interval: number; expires_in: number };

/** Each from an address of its own, unless it is named. */
let addresses = 0;
const ask = async (device = 'ann-laptop', over = app): Promise<Asked> => {
  const { status, body, text } = await over.send({
    method: 'POST',
    url: DEVICE_LOGIN.ask,
    payload: { device },
    remoteAddress: `10.0.${(addresses += 1) >> 8}.${addresses & 255}`,
  });
  expect(status, text).toBe(200);
  return body;
};
const poll = async (device_code: string, over = app) => {
  const { status, body } = await over.send({
    method: 'POST',
    url: DEVICE_LOGIN.token,
    payload: { device_code },
  });
  return { http: status, ...(body as { status?: string; token?: string; code?: string }) };
};
const type = (code: string, by = ann) => by.press('/device', { code });
const whoAmI = (token: string) => app.send({ url: '/api/desk/v1/me', key: token });

const eventsOf = (pattern: RegExp): Promise<StoredEvent[]> =>
  Array.fromAsync(all()).then((events) => events.filter(({ type: name }) => pattern.test(name)));
async function* all(): AsyncGenerator<StoredEvent> {
  const { log } = app.service.deps;
  const { position } = await log.head();
  yield* (await log.readBack({ upTo: position, limit: 1_000 })).toReversed();
}

describe('A login of a command line', () => {
  it('A person who types its code and allows it gives it a token of their own, with their roles', async () => {
    const { device_code, user_code, expires_in } = await ask();
    expect(user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(expires_in).toBe(600);
    expect(await poll(device_code)).toEqual({ http: 200, status: 'pending' });
    const question = await type(user_code.toLowerCase().replace('-', ' '));
    expect(question.text).toContain('ann-laptop');
    expect(question.text).toContain('the local network');
    expect(await poll(device_code)).toEqual({ http: 200, status: 'pending' });
    const allowed = await ann.press('/device/allow', { code: user_code });
    expect(allowed.text).toContain('ann-laptop is signed in as Ann Lee');
    const { token = '', ...rest } = await poll(device_code);
    expect(rest).toEqual({ http: 200, status: 'allowed' });
    expect((await whoAmI(token)).body).toMatchObject({
      acts_as: 'person',
      id: ann.personId,
      roles: ['staff'],
      session: { used_in: 'command_line', way: 'device', device: 'ann-laptop', is_current: true },
    });
    // An answer that was lost is asked for again.
    expect((await poll(device_code)).token).toBe(token);
  });

  it('Nothing of a login is stored that could be used: neither its code, nor its device code, nor its token', async () => {
    const { device_code, user_code } = await ask('bea-laptop');
    await type(user_code);
    await ann.press('/device/allow', { code: user_code });
    const { token = '' } = await poll(device_code);
    const stored = JSON.stringify(await eventsOf(/./));
    for (const secret of [
      device_code,
      device_code.split('.')[1] ?? '',
      token,
      token.slice(18),
      user_code,
      user_code.replace('-', ''),
      'bea-laptop',
    ])
      expect(stored).not.toContain(secret);
  });

  it('Who allowed it, in which session and on which page is on record, and so is who denied one or typed a wrong code', async () => {
    const denied = await ask();
    await type(denied.user_code);
    expect((await ann.press('/device/deny', { code: denied.user_code })).text).toContain('Denied');
    expect(await poll(denied.device_code)).toEqual({ http: 200, status: 'denied' });
    await type('BCDF-GHJK');
    for (const name of ['DeviceLoginAllowed', 'DeviceLoginDenied']) {
      const meta = (await eventsOf(new RegExp(`^${name}$`))).at(-1)?.meta;
      const by = { actor: `desk:${ann.personId}`, session: ann.sessionId, page: '/device' };
      expect(meta, name).toMatchObject(by);
    }
    await app.service.deps.audit.flush();
    const audited = JSON.stringify(await eventsOf(/^CallsAudited$/));
    expect(audited).toMatch(
      /"operation":"readDeviceLogin"[^}]*"code":"resource_not_found"[^}]*"page":"\/device"/,
    );
  });

  it('Its session is listed on the page of the person, who ends it within a second', async () => {
    const { device_code, user_code } = await ask('old-laptop');
    await ann.press('/device/allow', { code: user_code });
    const { token = '' } = await poll(device_code);
    expect((await whoAmI(token)).status).toBe(200);
    const id = token.slice(5, 17);
    expect((await ann.get('/me')).text).toContain('Command line: old-laptop');
    await ann.press(`/me/sessions/${id}/end`);
    expect((await whoAmI(token)).body).toMatchObject({ code: 'credential_revoked' });
  });

  it('The end of the person ends it', async () => {
    const bob = await browsingPerson(app, { name: 'Bob Ode', roles: ['auditor'] });
    const { device_code, user_code } = await ask();
    await bob.press('/device/allow', { code: user_code });
    const { token = '' } = await poll(device_code);
    expect((await whoAmI(token)).status).toBe(200);
    await app.desk('POST', `/people/${bob.personId}/end`, { reason: 'Left' });
    expect((await whoAmI(token)).body).toMatchObject({ code: 'credential_revoked' });
    const { status, headers } = await bob.get('/device');
    expect([status, headers['location']]).toEqual([303, '/signin?to=%2Fdevice']);
  });

  it('The use of its token from another network is noted, with the name of its machine', async () => {
    const { device_code, user_code } = await ask('travel-laptop');
    await ann.press('/device/allow', { code: user_code });
    const { token = '' } = await poll(device_code);
    const from = { url: '/api/desk/v1/me/sessions', key: token, remoteAddress: '198.51.100.7' };
    await app.send(from);
    const { data } = (await app.send(from)).body as { data: { is_current: boolean }[] };
    expect(data.find(({ is_current }) => is_current)).toMatchObject({
      device: 'travel-laptop',
      place: 'the network 198.51.100.0/24',
      places: 2,
    });
  });
});

describe('A code', () => {
  it('A code works once: neither allowed nor denied again, nor by another person', async () => {
    const bea = await browsingPerson(app, { name: 'Bea Orr', roles: ['staff'] });
    for (const first of ['allow', 'deny'] as const) {
      const { user_code } = await ask();
      expect((await ann.press(`/device/${first}`, { code: user_code })).status).toBe(200);
      for (const person of [ann, bea])
        for (const second of ['', '/allow', '/deny']) {
          const again = await person.press(`/device${second}`, { code: user_code });
          expect([again.status, again.text], first + second).toEqual([
            422,
            expect.stringContaining('No command line waits for this code'),
          ]);
        }
    }
  });

  it('A code that is sent twice with one form is allowed once, and both answers say so', async () => {
    const { user_code, device_code } = await ask();
    const fields = { code: user_code, key: freshKey() };
    for (const answer of [
      await ann.press('/device/allow', fields),
      await ann.press('/device/allow', fields),
    ])
      expect(answer.text).toContain('is signed in as Ann Lee');
    expect((await poll(device_code)).status).toBe('allowed');
  });

  it.each([
    '',
    ' ',
    'BCDF-GHJK',
    'aeiou',
    'B'.repeat(39),
    'B'.repeat(500),
    '../..',
    '<script>',
    '🙂',
  ])(
    'A code that no command line shows, like "%s", is refused on the page, and never shown again there',
    async (code) => {
      const { status, text } = await type(code);
      expect(status).toBe(422);
      expect(text).toContain('No command line waits for this code');
      expect(text).toMatch(/<input id="code"[^>]* value="">/);
    },
  );

  it('A code is never taken from the address of the page', async () => {
    const { user_code } = await ask();
    const { text } = await ann.get(`/device?user_code=${user_code}&code=${user_code}`);
    expect(text).not.toContain(user_code);
    expect(text).toMatch(/<input id="code"[^>]* value="">/);
  });

  it('A code in full-width letters, with another dash and with spaces is the same code', async () => {
    const { user_code } = await ask();
    const wide = Array.from(user_code.replace('-', ''), (letter) =>
      String.fromCodePoint((letter.codePointAt(0) ?? 0) + 0xfe_e0),
    );
    expect((await type(` ${wide.slice(0, 4).join('')} – ${wide.slice(4).join('')} `)).status).toBe(
      200,
    );
  });

  it('A code is kept while the person signs in again, and then asked about once more', async () => {
    const cat = await browsingPerson(app, { name: 'Cat Ray', roles: ['staff'] });
    app.clock.advance(LIMITS.FRESH_SIGN_IN_MINUTES * MINUTE_MS);
    const later = await ask();
    const stale = await cat.press('/device/allow', { code: later.user_code });
    expect([stale.status, stale.headers['location']]).toEqual([
      303,
      '/signin?to=%2Fdevice&again=1',
    ]);
    const kept = [stale.headers['set-cookie'] ?? []].flat().find((one) => one.includes('kept='));
    const again = await browsingPerson(app, { name: 'Cat Ray Two', roles: ['staff'] });
    const { text } = await again.get('/device', kept?.split(';')[0]);
    expect(text).toContain('Allow this machine?');
    expect(text).toContain(later.user_code);
    expect((await poll(later.device_code)).status).toBe('pending');
  });
});

describe('A login that was not allowed in time', () => {
  it('A login that was not allowed in time is over for its command line and for the person, but one allowed in its last moment still answers', async () => {
    const dan = await browsingPerson(app, { name: 'Dan Poe', roles: ['staff'] });
    const [late, lost] = [await ask(), await ask()];
    app.clock.advance(LIMITS.SIGN_IN_MINUTES * MINUTE_MS - 1);
    expect((await dan.press('/device/allow', { code: late.user_code })).status).toBe(200);
    app.clock.advance(1);
    expect((await dan.press('/device/allow', { code: lost.user_code })).status).toBe(422);
    expect(await poll(lost.device_code)).toEqual({ http: 200, status: 'expired' });
    expect((await poll(late.device_code)).status).toBe('allowed');
    app.clock.advance(LIMITS.SIGN_IN_MINUTES * MINUTE_MS);
    expect(await poll(late.device_code)).toEqual({ http: 200, status: 'expired' });
  });
});

describe('Bad questions of a command line', () => {
  const send = (url: string, payload: unknown) =>
    app.send({ method: 'POST', url, payload: payload as object });

  it.each([
    [DEVICE_LOGIN.ask, {}, '/device'],
    [DEVICE_LOGIN.ask, { device: 1 }, '/device'],
    [DEVICE_LOGIN.ask, { device: '' }, '/device'],
    [DEVICE_LOGIN.ask, { device: 'x'.repeat(201) }, '/device'],
    [DEVICE_LOGIN.ask, { device: 'a', other: 1 }, '/other'],
    [DEVICE_LOGIN.ask, [], ''],
    [DEVICE_LOGIN.token, {}, '/device_code'],
    [DEVICE_LOGIN.token, { device_code: 7 }, '/device_code'],
    [DEVICE_LOGIN.token, null, ''],
  ])('%s with %o names its fault', async (url, payload, pointer) => {
    const { status, body } = await send(url, payload);
    expect(status).toBe(422);
    expect((body as { errors: object[] }).errors).toMatchObject([{ pointer }]);
  });

  it('An unknown, foreign or damaged device code is no login', async () => {
    const { device_code } = await ask();
    const other = await ask();
    const mixed = `${device_code.split('.')[0]}.${other.device_code.split('.')[1]}`;
    for (const code of ['', 'x', 'a.b', `${device_code}0`, device_code.slice(0, -1), mixed])
      expect(await poll(code), code).toMatchObject({ http: 404, code: 'resource_not_found' });
  });

  it('A desk token, the token of a command line, and a foreign site allow nothing', async () => {
    const first = await ask();
    await ann.press('/device/allow', { code: first.user_code });
    const { user_code, device_code } = await ask();
    const fresh = await browsingPerson(app, { name: 'Eve Fay', roles: ['staff'] });
    await fresh.press('/device', { code: user_code });
    const { token = '' } = await poll(first.device_code);
    for (const key of [app.deskToken, token].filter(Boolean))
      for (const [method, path] of [
        ['GET', ''],
        ['POST', '/allow'],
        ['POST', '/deny'],
      ] as const) {
        const { body } = await app.send({
          method,
          url: `/api/desk/v1/me/device-logins/${user_code}${path}`,
          key,
          ...(method === 'POST' && { payload: {}, headers: { 'idempotency-key': freshKey() } }),
        });
        expect((body as { code: string }).code).toBe('role_missing');
      }
    expect((await fresh.press('/device/allow', { code: user_code, csrf: 'x' })).status).toBe(403);
    expect((await poll(device_code)).status).toBe('pending');
  });

  it('Logins that are asked for too often from one network are refused with the time to wait, and cost nothing', async () => {
    const other = await testApp();
    const question = () =>
      other.send({ method: 'POST', url: DEVICE_LOGIN.ask, payload: { device: 'a' } });
    const codes = new Set<number>();
    const max = LIMITS.SIGN_INS_PER_NETWORK_PER_HOUR;
    for (let asked = 0; asked < max; asked += 1) codes.add((await question()).status);
    const { position } = await other.service.deps.log.head();
    const refused = await question();
    expect([...codes, refused.status]).toEqual([200, 429]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await other.service.deps.log.head()).position).toBe(position);
    await other.close();
  });

  it('A person who guesses codes is stopped, from whatever network', async () => {
    const guesser = await browsingPerson(app, { name: 'Guy Orb', roles: ['auditor'] });
    const { user_code } = await ask();
    const guess = (path: string, code: string, network: number) =>
      guesser.press(path, { code }, `10.9.${network}.1`);
    const statuses: number[] = [];
    for (let typed = 0; typed < LIMITS.SIGN_INS_PER_NETWORK_PER_HOUR; typed += 1)
      statuses.push((await guess('/device', 'BCDF-GHJK', typed)).status);
    expect(new Set(statuses)).toEqual(new Set([422]));
    for (const path of ['/device', '/device/allow', '/device/deny'])
      expect((await guess(path, user_code, 200)).status, path).toBe(429);
  });
});
