/** Sign-in at an OpenID provider, which runs in the test. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { type Config, ConfigError, readConfig } from '#src/config.ts';
import { MINUTE_MS } from '#src/shared/time.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import {
  type Claims,
  openIdWorld,
  type OpenIdWorld,
  OTHER_CLIENT,
} from '../support/world/openid-provider.ts';
import { type Answered, signedInPerson, type Surfer, surfer } from '../support/world/signed-in.ts';

const REDIRECT = 'https://t.example/signin/openid/callback';

let world: OpenIdWorld;
let app: TestApp;
beforeAll(async () => {
  world = await openIdWorld(REDIRECT);
  app = await testApp({
    ...world.settings,
    OIDC_CREATE: 'crew.example=staff, audit.example=auditor',
    OIDC_ROLES: 'groups ops=operator, privacy-team=privacy',
  });
});
afterAll(async () => {
  await app.close();
  await world.stop();
});
beforeEach(() => {
  delete world.lie.claims;
  delete world.lie.isUnsigned;
});

/** Goes to the provider as a browser does; returns the address with which the provider sends it back. */
const toProvider = async (browser: Surfer, subject?: string, to = ''): Promise<string> => {
  const query = to === '' ? '' : `?to=${encodeURIComponent(to)}`;
  const gone = await browser.get(`/signin/openid${query}`);
  expect(gone.status, gone.text).toBe(303);
  world.next.subject = subject;
  const back = await world.visit(gone.headers['location'] ?? '');
  expect(back.startsWith(`${REDIRECT}?`), back).toBe(true);
  return back.slice('https://t.example'.length);
};

/** Signs in with an account of these claims. */
const signIn = async (
  subject: string,
  claims: Claims,
  { browser = surfer(app), to = '' } = {},
): Promise<Answered & { browser: Surfer }> => {
  world.accounts.set(subject, claims);
  return { ...(await browser.get(await toProvider(browser, subject, to))), browser };
};

const verified = (email: string, more: Claims = {}): Claims => ({
  email,
  email_verified: true,
  ...more,
});

const hasSession = ({ cookies }: Surfer): boolean =>
  [...cookies.keys()].some((name) => name.endsWith('session'));

/** Refused: a page with a text and the other ways in, no session, and no failure. */
const expectRefused = (
  answer: Answered & { browser: Surfer },
  text: string,
  status = 409,
): void => {
  expect(answer.status, answer.text).toBe(status);
  expect(answer.text).toContain(text);
  expect(answer.text).toContain('All ways to sign in');
  expect(hasSession(answer.browser)).toBe(false);
};

const invite = async (name: string, mailbox: string, roles = ['staff']): Promise<string> => {
  const invited = await app.desk('POST', '/people', { name, mailbox, roles });
  expect(invited.status, invited.text).toBe(201);
  return (invited.body as { id: string }).id;
};

const eventsOf = async (personId: string): Promise<string[]> => {
  const stream = `desk-person_${personId.slice(personId.indexOf('_') + 1)}`;
  return (await app.service.deps.log.readStream(stream)).map(({ type }) => type);
};

const peopleNamed = async (name: string): Promise<{ id: string; roles: string[] }[]> => {
  const listed = await app.desk('GET', '/people?limit=100');
  const { data } = listed.body as { data: { id: string; name: string; roles: string[] }[] };
  return data.filter((person) => person.name === name);
};

describe('An account of the OpenID provider', () => {
  it('An account with the verified mailbox of an invited person joins and signs in as that person, and goes on', async () => {
    const id = await invite('Ada Invited', 'ada@house.example');
    const first = await signIn('sub-ada', verified('ADA@house.example'), { to: '/me' });
    expect(first).toMatchObject({ status: 303, headers: { location: '/me' } });
    const { text } = await first.browser.get('/me');
    expect(text).toContain('Signed in with an OpenID account');
    expect(text).toContain(new URL(world.issuer).host);
    expect(await eventsOf(id)).toEqual(['PersonInvited', 'PersonJoined', 'AccountLinked']);
  });

  it('An account stays that of its person, whatever mailbox it has later', async () => {
    const id = await invite('Bruno Moved', 'bruno@house.example');
    await invite('Cleo Other', 'cleo@house.example');
    expect((await signIn('sub-bruno', verified('bruno@house.example'))).status).toBe(303);
    for (const claims of [{}, { email: 'x@y.example' }, verified('cleo@house.example')]) {
      const again = await signIn('sub-bruno', claims);
      expect(again.status).toBe(303);
      expect((await again.browser.get('/me')).text).toContain('<h1>Bruno Moved</h1>');
    }
    expect(await eventsOf(id)).toEqual(['PersonInvited', 'PersonJoined', 'AccountLinked']);
  });

  it('A person who signs in by a link and with an account is one record', async () => {
    const person = await signedInPerson(app, { name: 'Dora Both', mailbox: 'dora@house.example' });
    expect((await signIn('sub-dora', verified('dora@house.example'))).status).toBe(303);
    expect((await peopleNamed('Dora Both')).map(({ id }) => id)).toEqual([person.personId]);
  });

  it.each([
    ['no mailbox', {}],
    ['a mailbox without a word on its verification', { email: 'egon@house.example' }],
    ['a mailbox that is not verified', { email: 'egon@house.example', email_verified: false }],
    ['a verification in words', { email: 'egon@house.example', email_verified: 'true' }],
    ['a verification as a number', { email: 'egon@house.example', email_verified: 1 }],
    ['a mailbox that is none', { email: 'egon', email_verified: true }],
    ['a mailbox that is a list', { email: ['egon@house.example'], email_verified: true }],
  ])('An account with %s is nobody, and changes nothing', async (_name, claims) => {
    if ((await peopleNamed('Egon Unproved')).length === 0)
      await invite('Egon Unproved', 'egon@house.example');
    const [person] = await peopleNamed('Egon Unproved');
    expectRefused(await signIn('sub-egon', claims), 'mailbox is verified');
    expect(await eventsOf(person?.id ?? '')).toEqual(['PersonInvited']);
  });

  it('A verified mailbox of a domain that no setting names makes nobody', async () => {
    for (const domain of ['elsewhere.example', 'sub.crew.example', 'crew.example.evil.example'])
      expectRefused(
        await signIn(`sub-at-${domain}`, verified(`fay@${domain}`, { name: 'Fay Unknown' })),
        'Nobody with the mailbox of this account is invited',
      );
    expect(await peopleNamed('Fay Unknown')).toEqual([]);
  });

  it.each([
    ['the role of the domain', 'gus@crew.example', undefined, ['staff']],
    ['the role of the other domain', 'hedy@AUDIT.example', undefined, ['auditor']],
    ['the role of a claim', 'ivo@crew.example', ['ops'], ['operator']],
    ['the roles of a claim', 'jana@crew.example', ['ops', 'privacy-team'], ['operator', 'privacy']],
    ['the role of a claim that is a text', 'kurt@crew.example', 'ops', ['operator']],
    ['no role of an unknown value', 'lena@crew.example', ['root', 7, null], ['staff']],
  ])('A new person gets %s', async (_name, mailbox, groups, roles) => {
    const name = `${mailbox.slice(0, mailbox.indexOf('@'))} New`;
    const claims = verified(mailbox, { name, ...(groups !== undefined && { groups }) });
    expect((await signIn(`sub-${mailbox}`, claims)).status).toBe(303);
    expect((await peopleNamed(name)).map((person) => person.roles)).toEqual([roles]);
  });

  it('A claim gives no role to a person who is there', async () => {
    await invite('Mona Staff', 'mona@house.example');
    const claims = verified('mona@house.example', { groups: ['ops'] });
    expect((await signIn('sub-mona', claims)).status).toBe(303);
    expect((await peopleNamed('Mona Staff')).map(({ roles }) => roles)).toEqual([['staff']]);
  });

  it('A new person without a name, and with one that looks like another, is refused', async () => {
    await invite('Nora Known', 'nora@house.example');
    for (const name of [undefined, '', 'Nora Known', 'Nоra Known', 'ada@crew.example'])
      expectRefused(
        await signIn(`sub-nora-${name}`, verified('other@crew.example', { name })),
        'no name that can be used',
      );
  });

  it('A second account of the provider does not sign in as the same person', async () => {
    await invite('Otto Twice', 'otto@house.example');
    expect((await signIn('sub-otto', verified('otto@house.example'))).status).toBe(303);
    const second = await signIn('sub-otto-2', verified('otto@house.example'));
    expectRefused(second, 'Another account signs in as this person');
  });

  it('An account of a person who was ended is refused, until a new invitation', async () => {
    const id = await invite('Paul Ended', 'paul@house.example');
    const claims = verified('paul@house.example');
    expect((await signIn('sub-paul', claims)).status).toBe(303);
    await app.desk('POST', `/people/${id}/end`, { reason: 'Left' });
    expectRefused(await signIn('sub-paul', claims), 'was ended');
    expectRefused(await signIn('sub-paul-2', claims), 'was ended');
    expect(await invite('Paul Ended', 'paul@house.example')).toBe(id);
    expect((await signIn('sub-paul', claims)).status).toBe(303);
  });

  it('An account that its person unlinked at /me signs in no more', async () => {
    const id = await invite('Quin Leaver', 'quin@house.example');
    const claims = verified('quin@house.example');
    const { browser } = await signIn('sub-quin', claims);
    await browser.get('/me');
    const unlinked = await browser.post('/me/accounts/unlink', { issuer: world.issuer });
    expect(unlinked.status, unlinked.text).toBe(303);
    expect((await browser.get('/me')).text).not.toContain('Unlink');
    expectRefused(await signIn('sub-quin', claims), 'You unlinked this account');
    expectRefused(await signIn('sub-quin-2', claims), 'You unlinked this account');
    expect((await eventsOf(id)).at(-1)).toBe('AccountUnlinked');
  });

  it('An account is unlinked only after a fresh sign-in', async () => {
    await invite('Rosa Stale', 'rosa@house.example');
    const { browser } = await signIn('sub-rosa', verified('rosa@house.example'));
    await browser.get('/me');
    app.clock.advance(LIMITS.FRESH_SIGN_IN_MINUTES * MINUTE_MS);
    const unlinked = await browser.post('/me/accounts/unlink', { issuer: world.issuer });
    expect(unlinked.headers['location']).toContain('again=1');
  });
});

describe('The answer of the OpenID provider', () => {
  const claims = verified('sven@crew.example', { name: 'Sven Attacked' });

  it('An answer works once, also with its cookie in another browser', async () => {
    world.accounts.set('sub-sven', claims);
    const browser = surfer(app);
    const back = await toProvider(browser, 'sub-sven');
    const stolen = new Map(browser.cookies);
    expect((await browser.get(back)).status).toBe(303);
    const thief = surfer(app);
    for (const [name, value] of stolen) thief.cookies.set(name, value);
    expectRefused({ ...(await thief.get(back)), browser: thief }, 'was used before');
  });

  it('A code that was used is refused, in a sign-in that was begun anew', async () => {
    world.accounts.set('sub-sven', claims);
    const browser = surfer(app);
    const used = new URL(await toProvider(browser, 'sub-sven'), REDIRECT).searchParams.get('code');
    const other = surfer(app);
    const back = new URL(await toProvider(other, 'sub-sven'), REDIRECT);
    back.searchParams.set('code', used ?? '');
    const answer = await other.get(`${back.pathname}${back.search}`);
    expectRefused({ ...answer, browser: other }, 'does not fit');
  });

  it('An answer in another browser, without a cookie, and with another state is refused', async () => {
    const back = await toProvider(surfer(app), 'sub-sven');
    const other = surfer(app);
    await other.get('/signin/openid');
    expectRefused({ ...(await other.get(back)), browser: other }, 'does not fit');
    const bare = surfer(app);
    expectRefused({ ...(await bare.get(back)), browser: bare }, 'begun in another browser');
    const own = surfer(app);
    const changed = new URL(await toProvider(own, 'sub-sven'), REDIRECT);
    changed.searchParams.set('state', 'x');
    const answer = await own.get(`${changed.pathname}${changed.search}`);
    expectRefused({ ...answer, browser: own }, 'does not fit');
  });

  it('An answer after the time is refused, also with a cookie whose time was changed', async () => {
    const browser = surfer(app);
    const back = await toProvider(browser, 'sub-sven');
    const [[name = '', value = ''] = []] = browser.cookies;
    app.clock.advance(LIMITS.SIGN_IN_MINUTES * MINUTE_MS);
    const later = value.replace(/\.\d+/, `.${app.clock.now() + MINUTE_MS}`);
    expectRefused({ ...(await browser.get(back)), browser }, 'took longer');
    browser.cookies.set(name, later);
    expectRefused({ ...(await browser.get(back)), browser }, 'does not fit');
  });

  it.each([
    ['for another client', { aud: OTHER_CLIENT }],
    ['for several clients, made by another one', { aud: ['tributary', 'x'], azp: 'x' }],
    ['of another issuer', { iss: 'https://evil.example' }],
    ['with the nonce of another attempt', { nonce: 'x' }],
    ['that is over', { exp: 1_000_000_000 }],
  ])('A token %s is refused', async (_name, lie) => {
    world.lie.claims = lie;
    expectRefused(await signIn('sub-sven', claims), 'does not fit');
  });

  it('A token whose signature is not that of the provider is refused', async () => {
    world.lie.isUnsigned = true;
    expectRefused(await signIn('sub-sven', claims), 'does not fit');
  });

  it('A code that the provider made for another client is refused', async () => {
    const browser = surfer(app);
    const gone = await browser.get('/signin/openid');
    const url = new URL(gone.headers['location'] ?? '');
    url.searchParams.set('client_id', OTHER_CLIENT);
    world.next.subject = 'sub-sven';
    const back = await world.visit(url.href);
    const answer = await browser.get(back.slice('https://t.example'.length));
    expectRefused({ ...answer, browser }, 'does not fit');
  });

  it('A sign-in that the provider or its user denies says so', async () => {
    const browser = surfer(app);
    const answer = await browser.get(await toProvider(browser));
    expectRefused({ ...answer, browser }, 'did not allow the sign-in');
  });

  it('An address of the way back without an answer is refused, and not a failure', async () => {
    for (const query of ['', '?', '?code=', '?code=a&code=b', '?state=%', '?error=x', '?error=']) {
      const browser = surfer(app);
      await browser.get('/signin/openid');
      const { status, text } = await browser.get(`/signin/openid/callback${query}`);
      expect([409, 503], `${query}: ${text}`).toContain(status);
      expect(text).toContain('All ways to sign in');
    }
  });

  it('A sign-in never goes on with a page of another site', async () => {
    for (const to of ['https://evil.example/', '//evil.example', '/\\evil.example']) {
      const { headers } = await signIn('sub-sven', claims, { to });
      expect(headers['location'], to).toBe('/home');
    }
  });
});

describe('An account that somebody who is signed in links', () => {
  const person = (name: string) =>
    signedInPerson(app, { name, mailbox: `${name.split(' ')[0]}@link.example` });
  /** Presses the button of `/me`; returns where the provider is. */
  const begin = async (browser: Surfer): Promise<string> => {
    await browser.get('/me');
    const sent = await browser.post('/me/accounts/link');
    expect(sent.status, sent.text).toBe(200);
    const { refresh = '' } = sent.headers;
    return refresh.slice('0; url='.length);
  };
  /** Comes back from the provider with an account; returns the address with which the account is linked. */
  const comeBack = async (browser: Surfer, url: string, subject?: string): Promise<string> => {
    world.next.subject = subject;
    const back = (await world.visit(url)).slice('https://t.example'.length);
    const { status, headers, text } = await browser.get(back);
    expect(status, text).toBe(303);
    return headers['location'] ?? '';
  };
  const link = async (browser: Surfer, subject: string, claims: Claims = {}) => {
    world.accounts.set(subject, claims);
    return browser.get(await comeBack(browser, await begin(browser), subject));
  };
  const expectNotLinked = async (
    browser: Surfer,
    { status, text }: Answered,
    why: string,
    expected = 409,
  ) => {
    expect(status, text).toBe(expected);
    expect(text).toContain('The account is not linked');
    expect(text).toContain(why);
    expect((await browser.get('/me')).text).not.toContain('Unlink');
    expect(await eventsOf(browser.personId)).not.toContain('AccountLinked');
  };

  it('An account that a person links signs in as that person, with whatever mailbox, until it is unlinked and linked again', async () => {
    const browser = await person('Tilda Linker');
    const linked = await link(browser, 'sub-tilda', { email: 'tilda@private.example' });
    expect(linked).toMatchObject({ status: 303, headers: { location: '/me' } });
    expect((await browser.get('/me')).text).toContain('Unlink');
    const asTilda = async () => {
      const { browser: other } = await signIn('sub-tilda', verified('other@elsewhere.example'));
      return (await other.get('/me')).text.includes('<h1>Tilda Linker</h1>');
    };
    expect(await asTilda()).toBe(true);
    await browser.get('/me');
    await browser.post('/me/accounts/unlink', { issuer: world.issuer });
    expect(await asTilda()).toBe(false);
    expect((await link(browser, 'sub-tilda')).status).toBe(303);
    expect(await asTilda()).toBe(true);
    expect((await eventsOf(browser.personId)).slice(2)).toEqual([
      'AccountLinked',
      'AccountUnlinked',
      'AccountLinked',
    ]);
  });

  it('An account that signs in as another person, or has the mailbox of one, is refused, also after it was unlinked', async () => {
    const uma = await person('Uma Owner');
    expect((await link(uma, 'sub-uma')).status).toBe(303);
    const vito = await person('Vito Taker');
    await expectNotLinked(vito, await link(vito, 'sub-uma'), 'another person');
    await uma.get('/me');
    await uma.post('/me/accounts/unlink', { issuer: world.issuer });
    await expectNotLinked(vito, await link(vito, 'sub-uma'), 'another person');
    await invite('Wanda Invited', 'wanda@link.example');
    const claims = verified('WANDA@link.example');
    await expectNotLinked(vito, await link(vito, 'sub-wanda', claims), 'another person');
    expect((await signIn('sub-wanda', claims)).status).toBe(303);
  });

  it('A second account of the provider is refused until the first one is unlinked, and the same one changes nothing', async () => {
    const browser = await person('Xenia Twice');
    await link(browser, 'sub-xenia');
    const second = await link(browser, 'sub-xenia-2');
    expect(second.text).toContain('Another account of yours is linked already');
    expect((await link(browser, 'sub-xenia')).status).toBe(303);
    const linked = (await eventsOf(browser.personId)).filter((type) => type === 'AccountLinked');
    expect(linked).toHaveLength(1);
  });

  it('An account is linked only after a fresh sign-in, at its beginning and at its end', async () => {
    const browser = await person('Yara Stale');
    app.clock.advance((LIMITS.FRESH_SIGN_IN_MINUTES - 1) * MINUTE_MS);
    const url = await begin(browser);
    app.clock.advance(2 * MINUTE_MS);
    world.accounts.set('sub-yara', {});
    const late = await browser.get(await comeBack(browser, url, 'sub-yara'));
    expect(late.headers['location']).toBe('/signin?to=%2Fme%2Faccounts%2Flinked&again=1');
    expect((await browser.get('/me/accounts/linked')).headers['location']).toBe('/me');
    const begun = await browser.post('/me/accounts/link');
    expect(begun.headers['location']).toContain('again=1');
    expect(await eventsOf(browser.personId)).not.toContain('AccountLinked');
  });

  it('An account is not linked by a form of another site, nor by an address alone', async () => {
    const browser = await person('Zoltan Forged');
    await browser.get('/me');
    expect((await browser.post('/me/accounts/link', { csrf: 'x' })).status).toBe(403);
    expect((await browser.get('/me/accounts/link')).headers['location']).toBe('/me');
    const answer = await browser.get('/me/accounts/linked?code=x&state=y');
    await expectNotLinked(browser, answer, 'took longer');
  });

  it('An answer of the provider links an account once, in the session that began, and to nobody else', async () => {
    const ada = await person('Adele First');
    const bob = await person('Bodo Second');
    world.accounts.set('sub-adele', {});
    const address = await comeBack(ada, await begin(ada), 'sub-adele');
    const begun = ada.cookies.get('__Host-openid') ?? '';
    bob.cookies.set('__Host-openid', begun);
    await expectNotLinked(bob, await bob.get(address), 'does not fit');
    const changed = address.replace(/state=[^&]+/, 'state=x');
    const other = surfer(app, ada.personId);
    for (const [name, value] of ada.cookies) other.cookies.set(name, value);
    await expectNotLinked(other, await other.get(changed), 'does not fit');
    expect((await ada.get(address)).status).toBe(303);
    expect((await ada.get(address)).text).toContain('took longer');
    ada.cookies.set('__Host-openid', begun);
    expect((await ada.get(address)).text).toContain('does not fit');
  });

  it('An answer to a sign-in links nothing, and an answer to a link signs nobody in', async () => {
    const browser = await person('Cora Mixed');
    world.accounts.set('sub-cora', verified('cora@crew.example', { name: 'Cora Made' }));
    const toSignIn = await toProvider(browser, 'sub-cora');
    const crossed = toSignIn.replace('/signin/openid/callback', '/me/accounts/linked');
    await expectNotLinked(browser, await browser.get(crossed), 'does not fit');
    const address = await comeBack(browser, await begin(browser), 'sub-cora');
    const thief = surfer(app);
    const [asked = ''] = (browser.cookies.get('__Host-openid') ?? '').split('~');
    thief.cookies.set('__Host-openid', asked);
    const answer = await thief.get(
      address.replace('/me/accounts/linked', '/signin/openid/callback'),
    );
    expectRefused({ ...answer, browser: thief }, 'does not fit');
    expect(await peopleNamed('Cora Made')).toEqual([]);
  });

  it('A provider that is down, or denies it, links nothing and says so', async () => {
    const down = await openIdWorld(REDIRECT);
    const other = await testApp(down.settings);
    const browser = await signedInPerson(other, { name: 'Dirk Down', mailbox: 'dirk@x.example' });
    await browser.get('/me');
    await down.stop();
    const before = await browser.post('/me/accounts/link');
    expect(before).toMatchObject({ status: 503, headers: { 'retry-after': '60' } });
    expect(before.text).toContain('The account is not linked');
    await down.restart();
    const { headers } = await browser.post('/me/accounts/link');
    down.next.subject = 'sub-dirk';
    const back = await down.visit(headers['refresh']?.slice('0; url='.length) ?? '');
    await down.stop();
    const { headers: sent } = await browser.get(back.slice('https://t.example'.length));
    expect((await browser.get(sent['location'] ?? '')).status).toBe(503);
    await other.close();
    const denied = await person('Elma Denied');
    await expectNotLinked(
      denied,
      await denied.get(await comeBack(denied, await begin(denied))),
      'did not allow',
    );
  });

  it('Without a provider there is nothing to link', async () => {
    const other = await testApp();
    const browser = await signedInPerson(other, { name: 'Falk None', mailbox: 'falk@x.example' });
    expect((await browser.get('/me')).text).not.toContain('Link your account');
    expect((await browser.post('/me/accounts/link')).status).toBe(404);
    await other.close();
  });
});

describe('The way to a provider', () => {
  it('A sign-in while the provider is down answers with a page and the other ways, before and after the visit', async () => {
    const down = await openIdWorld(REDIRECT);
    const other = await testApp(down.settings);
    const browser = surfer(other);
    await down.stop();
    const before = await browser.get('/signin/openid?to=/me');
    expectRefused({ ...before, browser }, 'does not answer', 503);
    expect(before.text).toContain('href="/signin?to=%2Fme"');
    expect(before.headers['retry-after']).toBe('60');
    await down.restart();
    const gone = await browser.get('/signin/openid');
    down.next.subject = 'sub-x';
    const back = await down.visit(gone.headers['location'] ?? '');
    await down.stop();
    const after = await browser.get(back.slice('https://t.example'.length));
    expectRefused({ ...after, browser }, 'does not answer', 503);
    expect((await browser.get('/signin')).status).toBe(200);
    await other.close();
  });

  it('Attempts to sign in with an account are limited for each network', async () => {
    const limited = await testApp(world.settings);
    const browser = surfer(limited);
    const statuses = new Set<number>();
    for (let time = 0; time <= LIMITS.SIGN_INS_PER_NETWORK_PER_HOUR; time += 1)
      statuses.add((await browser.get('/signin/openid/callback?code=x')).status);
    await limited.close();
    expect([...statuses]).toEqual([409, 429]);
  });

  it('Without a provider the sign-in has no button, and its addresses are not found', async () => {
    const other = await testApp();
    const browser = surfer(other);
    expect((await browser.get('/signin')).text).not.toContain('/signin/openid');
    for (const path of ['/signin/openid', '/signin/openid/callback?code=x'])
      expect((await browser.get(path)).status).toBe(404);
    await other.close();
  });
});

describe('The settings of the OpenID provider', () => {
  const OIDC = {
    OIDC_ISSUER: 'https://id.house.example',
    OIDC_CLIENT_ID: 'tributary',
    OIDC_CLIENT_SECRET: 'secret',
  };
  const read = (env: Record<string, string>): Config => readConfig({ ...OIDC, ...env });

  it('Roles by claim and by domain are read as they are documented', () => {
    const { openId } = read({
      OIDC_CREATE: 'House.example=staff, audit.example = auditor',
      OIDC_ROLES: 'https://house.example/groups crew=staff, a=b=operator',
    });
    if (!openId) throw new Error('no provider');
    expect([...openId.create]).toEqual([
      ['house.example', 'staff'],
      ['audit.example', 'auditor'],
    ]);
    expect(openId.roles?.claim).toBe('https://house.example/groups');
    expect([...(openId.roles?.byValue ?? [])]).toEqual([
      ['crew', 'staff'],
      ['a=b', 'operator'],
    ]);
  });

  it.each([
    ['OIDC_ISSUER', 'http://id.house.example'],
    ['OIDC_ISSUER', 'id.house.example'],
    ['OIDC_ISSUER', 'https://id.house.example?x=1'],
    ['OIDC_ISSUER', 'https://user:secret@id.house.example'],
    ['OIDC_CREATE', 'house.example'],
    ['OIDC_CREATE', 'house.example=owner'],
    ['OIDC_CREATE', '*=staff'],
    ['OIDC_CREATE', '=staff'],
    ['OIDC_CREATE', 'ada@house.example=staff'],
    ['OIDC_ROLES', 'groups'],
    ['OIDC_ROLES', 'groups crew'],
    ['OIDC_ROLES', 'groups crew=owner'],
    ['OIDC_ROLES', 'groups crew=king'],
  ])('%s=%s is refused by its name, with what it must be', (name, value) => {
    const env = { OIDC_CREATE: 'house.example=staff', [name]: value };
    expect(() => read(env)).toThrow(ConfigError);
    expect(() => read(env)).toThrow(new RegExp(`^${name}: must be`));
  });

  it.each(Object.keys(OIDC))('A provider without %s is refused', (name) => {
    expect(() => read({ [name]: '' })).toThrow(`${name}: is required with`);
  });

  it('Roles of a claim without domains that may become people are refused', () => {
    expect(() => read({ OIDC_ROLES: 'groups a=staff' })).toThrow('OIDC_CREATE: is required');
  });
});
