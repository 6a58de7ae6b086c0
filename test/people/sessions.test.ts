/** Sessions of people: their cookies, their end, what needs a fresh one, and forms that others send. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { streamOfSession } from '#src/writing/streams.ts';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';
import {
  type Browsing,
  browsing,
  invite,
  type Invited,
  settled,
  signedInAs,
  signInByMail,
} from '../support/world/browsing.ts';
import { configure, post, proposed } from '../support/world/outreach.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  app.service.dispatcher.start();
});
afterAll(() => app.close());

const staff = async (): Promise<{ person: Invited; browser: Browsing }> => {
  const person = await invite(app, ['staff']);
  return { person, browser: await signedInAs(app, person) };
};
const isOut = async (browser: Browsing): Promise<boolean> => {
  await settled(app);
  return (await browser.get('/me')).status === 303;
};
const sessionIdOf = (browser: Browsing): string =>
  /^trbs_(.{12})_/.exec(browser.cookies.get('__Host-session') ?? '')?.[1] ?? '';
/** A proposal of a promoter whom staff control. */
const proposal = async (owner: string) => {
  await configure(app, owner, { mode: 'admin_approved' });
  const { key } = await app.agent(owner);
  return proposed(app, key, 'requestSocialPost', post());
};
const csrfOn = (text: string): string => /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? '';

describe('The cookie of a session', () => {
  it('The cookie of a session is bound to its host, hidden from scripts, and not sent by other sites', async () => {
    const person = await invite(app, ['staff']);
    const { headers } = await browsing(app).post(person.link);
    const cookie = [headers['set-cookie']].flat().find((one) => one?.includes('session='));
    expect(cookie).toMatch(/^__Host-session=trbs_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}; /);
    for (const part of ['Path=/', 'HttpOnly', 'Secure', 'SameSite=Lax'])
      expect(cookie?.split('; ')).toContain(part);
    expect(cookie).not.toContain('Domain');
  });

  it('A session is stored as a hash, and its person, device and place are not readable in its events', async () => {
    const { browser } = await staff();
    const secret = browser.cookies.get('__Host-session') ?? '';
    const events = await app.service.deps.log.readStream(streamOfSession(sessionIdOf(browser)));
    const text = JSON.stringify(events);
    for (const hidden of [secret, secret.slice(18), 'Firefox', '198.51.100'])
      expect(text).not.toContain(hidden);
  });

  it('Over https a cookie with the name that is used over http signs nobody in', async () => {
    const { browser } = await staff();
    const value = browser.cookies.get('__Host-session') ?? '';
    const other = browsing(app);
    other.cookies.set('session', value);
    expect(await isOut(other)).toBe(true);
  });

  it('The secret of a browser is no token for the desk, and a desk token is no cookie', async () => {
    const { browser } = await staff();
    const value = browser.cookies.get('__Host-session') ?? '';
    expect((await app.send({ method: 'GET', url: '/api/desk/v1/me', key: value })).status).toBe(
      401,
    );
    const other = browsing(app);
    other.cookies.set('__Host-session', app.deskToken);
    expect(await isOut(other)).toBe(true);
  });

  it('Pages of people are not stored, and the sign-out empties what the browser stored', async () => {
    const { browser } = await staff();
    for (const page of ['/home', '/me', '/approvals', '/signin', '/signin/code'])
      expect((await browser.get(page)).headers['cache-control']).toBe('no-store');
    const out = await browser.press('/me', '/signout');
    expect(out).toMatchObject({ status: 303, to: '/signin' });
    expect(out.headers['clear-site-data']).toBe('"cache"');
    expect(await isOut(browser)).toBe(true);
  });
});

describe('A session ends', () => {
  it('A session ends after twelve hours without use, and lasts while it is used', async () => {
    const { browser } = await staff();
    for (let times = 0; times < 3; times += 1) {
      app.clock.advance((LIMITS.SESSION_IDLE_HOURS - 1) * HOUR_MS);
      expect(await isOut(browser)).toBe(false);
    }
    app.clock.advance(LIMITS.SESSION_IDLE_HOURS * HOUR_MS);
    expect(await isOut(browser)).toBe(true);
  });

  it('A session ends after seven days, however much it is used', async () => {
    const { browser } = await staff();
    for (let hours = 0; hours < LIMITS.SESSION_DAYS * 24 - 6; hours += 6) {
      app.clock.advance(6 * HOUR_MS);
      expect(await isOut(browser)).toBe(false);
    }
    app.clock.advance(6 * HOUR_MS);
    expect(await isOut(browser)).toBe(true);
  }, 60_000);

  it('A person sees where they are signed in, and ends one of the sessions', async () => {
    const { person, browser } = await staff();
    const phone = browsing(app, { from: '203.0.113.9', agent: 'Mozilla/5.0 (iPhone) Safari/605' });
    await signInByMail(app, phone, person.mailbox);
    await settled(app);
    const { text } = await browser.get('/me');
    expect(text).toContain('Firefox on Linux (this browser)');
    expect(text).toContain('Safari on an iPhone');
    expect(text).toContain('from the network 203.0.113.0/24');
    await browser.press('/me', `/me/sessions/${sessionIdOf(phone)}/end`);
    expect(await isOut(phone)).toBe(true);
    expect(await isOut(browser)).toBe(false);
  });

  it('Nobody ends the session of another person', async () => {
    const { browser } = await staff();
    const other = await staff();
    const csrf = csrfOn((await browser.get('/me')).text);
    const url = `/me/sessions/${sessionIdOf(other.browser)}/end`;
    expect((await browser.post(url, { csrf, key: freshKey() })).status).toBe(404);
    expect(await isOut(other.browser)).toBe(false);
  });

  it('A change of roles ends the sessions of before, and the next sign-in has the new roles', async () => {
    const { person, browser } = await staff();
    const changed = { roles: ['auditor'], reason: 'Moved' };
    expect((await app.desk('POST', `/people/${person.id}/roles`, changed)).status).toBe(200);
    expect(await isOut(browser)).toBe(true);
    app.clock.advance(MINUTE_MS);
    await signInByMail(app, browser, person.mailbox);
    await settled(app);
    expect((await browser.get('/home')).text).toContain('You are signed in as auditor');
  });

  it('The end of a person ends sessions and tokens, and an invitation later revives none of them', async () => {
    const { person, browser } = await staff();
    const issued = await app.desk('POST', '/desk-tokens', {
      name: person.name,
      person_id: person.id,
      roles: ['staff'],
    });
    const { token } = issued.body as { token: string };
    await settled(app);
    const me = () => app.send({ method: 'GET', url: '/api/desk/v1/me', key: token });
    expect((await me()).status).toBe(200);
    app.clock.advance(MINUTE_MS);
    expect((await app.desk('POST', `/people/${person.id}/end`, { reason: 'Left' })).status).toBe(
      200,
    );
    expect(await isOut(browser)).toBe(true);
    expect(await me()).toMatchObject({ status: 401, body: { code: 'credential_revoked' } });
    app.clock.advance(MINUTE_MS);
    await invite(app, ['staff'], { name: person.name, mailbox: person.mailbox });
    expect(await isOut(browser)).toBe(true);
    expect((await me()).status).toBe(401);
  });
});

describe('An act that needs a fresh sign-in', () => {
  it('An approval asks for a sign-in after fifteen minutes, and then shows what was typed', async () => {
    const { id } = await proposal('freshly');
    const { person, browser } = await staff();
    app.clock.advance(LIMITS.FRESH_SIGN_IN_MINUTES * MINUTE_MS);
    const page = `/approvals/${id}`;
    const asked = await browser.press(page, `${page}/approve`, { note: 'Ask "Ada" <first>' });
    expect(asked).toMatchObject({
      status: 303,
      to: `/signin?to=${encodeURIComponent(page)}&again=1`,
    });
    expect((await browser.get(asked.to ?? '')).text).toContain('Sign in again');
    const before = sessionIdOf(browser);
    expect(await signInByMail(app, browser, person.mailbox, page)).toMatchObject({ to: page });
    expect(sessionIdOf(browser)).not.toBe(before);
    await settled(app);
    const { text } = await browser.get(page);
    expect(text).toContain('What you typed is below');
    expect(text).toContain('Ask &quot;Ada&quot; &lt;first&gt;');
    expect((await browser.press(page, `${page}/approve`, { note: 'Done' })).to).toBe(
      `${page}?done=approve`,
    );
    expect((await browser.get(page)).text).toContain('approved it on');
  });

  it('A form that is sent after the session has ended comes back after the sign-in', async () => {
    const { id } = await proposal('endings');
    const { person, browser } = await staff();
    const page = `/approvals/${id}`;
    const csrf = csrfOn((await browser.get(page)).text);
    app.clock.advance(LIMITS.SESSION_IDLE_HOURS * HOUR_MS);
    const sent = await browser.post(`${page}/refuse`, {
      csrf,
      key: freshKey(),
      reason: 'Too loud',
      act: 'refuse',
    });
    expect(sent).toMatchObject({ status: 303, to: `/signin?to=${encodeURIComponent(page)}` });
    await signInByMail(app, browser, person.mailbox, page);
    await settled(app);
    expect((await browser.get(page)).text).toContain('Too loud');
  });

  it('The desk refuses nothing of a token for its age, and a query of a browser needs no fresh sign-in', async () => {
    const { browser } = await staff();
    app.clock.advance(HOUR_MS);
    expect((await browser.get('/approvals')).status).toBe(200);
  });
});

describe('A form that others send', () => {
  it.each([
    ['of another site', { 'sec-fetch-site': 'cross-site' }],
    ['of a sibling of the host', { 'sec-fetch-site': 'same-site' }],
    [
      'of another origin, from an old browser',
      { 'sec-fetch-site': '', origin: 'https://evil.example' },
    ],
    ['of a page without an origin', { 'sec-fetch-site': '', origin: 'null' }],
  ])('A form %s is refused, and nothing is done', async (_name, headers) => {
    const { browser } = await staff();
    const csrf = csrfOn((await browser.get('/me')).text);
    const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));
    const answer = await app.service.server.inject({
      method: 'POST',
      url: '/signout',
      headers: {
        host: 't.example',
        'content-type': 'application/x-www-form-urlencoded',
        cookie: `__Host-session=${browser.cookies.get('__Host-session')}`,
        ...sent,
      },
      payload: new URLSearchParams({ csrf }).toString(),
    });
    expect(answer.statusCode).toBe(403);
    expect(await isOut(browser)).toBe(false);
  });

  it('A form without the token of the session, or with that of another one, is refused', async () => {
    const { browser } = await staff();
    const { browser: other } = await staff();
    const foreign = csrfOn((await other.get('/me')).text);
    for (const form of [{}, { csrf: '' }, { csrf: foreign }])
      expect((await browser.post('/signout', form as Record<string, string>)).status).toBe(403);
    expect(await isOut(browser)).toBe(false);
  });

  it('Pages of people refuse every bearer token, and cannot be framed', async () => {
    const { browser } = await staff();
    const { status, headers } = await browser.get('/me');
    expect(status).toBe(200);
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    for (const page of ['/me', '/home', '/approvals', '/signin'])
      expect(
        (await browser.send('GET', page, { headers: { authorization: `Bearer ${app.deskToken}` } }))
          .status,
      ).toBe(403);
  });
});

it('A cookie that is used from another network is noted for its person, and not refused', async () => {
  const { browser } = await staff();
  const thief = browsing(app, { from: '203.0.113.50' });
  thief.cookies.set('__Host-session', browser.cookies.get('__Host-session') ?? '');
  expect((await thief.get('/home')).status).toBe(200);
  await settled(app);
  const { text } = await browser.get('/me');
  expect(text).toContain('used from 2 networks');
  const events = await app.service.deps.log.readStream(streamOfSession(sessionIdOf(browser)));
  expect(events.map(({ type }) => type)).toEqual(['SessionStarted', 'SessionUsed']);
  for (let times = 0; times < 20; times += 1) await thief.get('/home');
  expect(await app.service.deps.log.readStream(streamOfSession(sessionIdOf(browser)))).toHaveLength(
    2,
  );
});

it('An act on a page names person, session, page and surface in its event, and so does a refusal', async () => {
  const { id } = await proposal('named');
  const { person, browser } = await staff();
  const page = `/approvals/${id}`;
  await browser.press(page, `${page}/approve`, { note: 'Good' });
  const stored = await app.service.deps.log.readStream(`named-outbound_${id.slice(4)}`);
  expect(stored.find(({ type }) => type === 'OutboundApproved')?.meta).toMatchObject({
    actor: `desk:${person.id}`,
    session: sessionIdOf(browser),
    page,
    surface: 'portal',
  });
  const auditor = await invite(app, ['auditor']);
  const auditing = await signedInAs(app, auditor);
  const refused = await auditing.press(page, `${page}/approve`, {}).catch(() => undefined);
  expect(refused).toBeUndefined();
  const { id: open } = await proposal('refused');
  const csrf = csrfOn((await auditing.get('/me')).text);
  const forbidden = await auditing.post(`/approvals/${open}/approve`, { csrf });
  expect(forbidden.status).toBe(403);
  expect(forbidden.text).not.toContain('approveOutbound');
  expect(forbidden.text).toContain('<a href="/home">');
  await app.service.deps.audit.flush();
  const audited = await app.service.deps.log.readBack({ upTo: Number.MAX_SAFE_INTEGER, limit: 50 });
  const entries = audited.flatMap(({ type, meta, data }) =>
    type === 'CallsAudited' && meta.actor === `desk:${auditor.id}`
      ? (data as { entries: object[] }).entries
      : [],
  );
  expect(entries).toContainEqual(
    expect.objectContaining({
      operation: 'approveOutbound',
      decision: 'denied',
      session: sessionIdOf(auditing),
      page: `/approvals/${open}`,
    }),
  );
});
