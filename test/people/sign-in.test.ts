/** People sign in by a mailed link, by its code, and by an invitation; and what happens with wrong ones. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { streamOfPerson } from '#src/writing/streams.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import {
  browsing,
  invite,
  mailedPaths,
  settled,
  signedInAs,
  signInByMail,
} from '../support/world/browsing.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  app.service.dispatcher.start();
});
afterAll(() => app.close());

const head = async (): Promise<number> => (await app.service.deps.log.head()).position;
const asked = async (mailbox: string) => {
  const browser = browsing(app);
  expect(await browser.post('/signin', { mailbox })).toMatchObject({
    status: 303,
    to: '/signin/code',
  });
  const [path = ''] = await mailedPaths(app, mailbox);
  return { browser, path };
};
const codeOn = (text: string): string => /class="code">([\d ]+)</.exec(text)?.[1] ?? '';
const wrongCode = (code: string): string =>
  code.replaceAll(/\d/g, (digit) => String((Number(digit) + 1) % 10));

describe('A mailed link', () => {
  it('A mailed link changes nothing when it is opened, and signs in once with its button', async () => {
    const person = await invite(app, ['staff']);
    const { browser, path } = await asked(person.mailbox);
    await settled(app);
    const before = await head();
    for (const method of ['GET', 'HEAD', 'GET'] as const)
      expect((await browser.send(method, path)).status).toBe(200);
    expect((await browser.get(path)).text).toContain(`Sign in as ${person.name}`);
    expect(await head()).toBe(before);
    expect(await browser.post(path)).toMatchObject({ status: 303, to: '/home' });
    expect((await browser.get('/home')).text).toContain(`Hello, ${person.name}`);
    expect((await browser.post(path)).status).toBe(404);
    const used = await browser.get(path);
    expect(used.status).toBe(404);
    expect(used.text).toContain('This link does not work');
    expect(used.text).toContain('<a href="/signin">');
  });

  it('A mailed link signs in once, however many times its button is pressed at the same time', async () => {
    const person = await invite(app, ['staff']);
    const { browser, path } = await asked(person.mailbox);
    const answers = await Promise.all([browser.post(path), browser.post(path), browser.post(path)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 404, 404]);
  });

  it('A mailed link that was opened in another browser shows a code there, which signs in where it was asked for', async () => {
    const person = await invite(app, ['staff']);
    const { browser, path } = await asked(person.mailbox);
    const phone = browsing(app);
    const opened = await phone.get(path);
    expect(opened.text).not.toContain('<button type="submit">Sign in</button>');
    expect((await phone.post(path)).status).toBe(409);
    const code = codeOn(opened.text);
    expect(code).toMatch(/^\d{3} \d{3}$/);
    expect((await phone.post('/signin/code', { code })).status).toBe(422);
    expect(await browser.post('/signin/code', { code })).toMatchObject({
      status: 303,
      to: '/home',
    });
    expect((await browser.post('/signin/code', { code })).status).toBe(422);
    expect((await phone.get('/home')).to).toBe('/signin?to=%2Fhome');
  });

  it('Five wrong codes end a link, and the right code after them signs nobody in', async () => {
    const person = await invite(app, ['staff']);
    const { browser, path } = await asked(person.mailbox);
    const code = codeOn((await browsing(app).get(path)).text);
    for (let times = 0; times < LIMITS.SIGN_IN_CODES_MAX; times += 1)
      expect((await browser.post('/signin/code', { code: wrongCode(code) })).status).toBe(422);
    expect((await browser.post('/signin/code', { code })).status).toBe(422);
  });

  it('Codes that are typed at the same time sign in no more often than one after the other', async () => {
    const person = await invite(app, ['staff']);
    const { browser, path } = await asked(person.mailbox);
    const code = codeOn((await browsing(app).get(path)).text);
    const wrong = Array.from({ length: 2 * LIMITS.SIGN_IN_CODES_MAX }, () => wrongCode(code));
    const answers = await Promise.all(
      [...wrong, code].map((each) => browser.post('/signin/code', { code: each })),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 422));
    expect((await browser.post(path)).status).toBe(404);
  });

  it.each([
    ['a cut link', (path: string) => path.slice(0, -1)],
    ['a changed link', (path: string) => `${path.slice(0, -1)}${path.endsWith('0') ? '1' : '0'}`],
    ['the link of nobody', () => `/signin/${'0'.repeat(80)}`],
    ['a link with a word', () => '/signin/hello'],
  ])('A sign-in with %s answers that there is no such link', async (_name, change) => {
    const person = await invite(app, ['staff']);
    const { browser, path } = await asked(person.mailbox);
    for (const method of ['GET', 'POST'] as const)
      expect((await browser.send(method, change(path))).status).toBe(404);
    expect((await browser.post(path)).status).toBe(303);
  });

  it('A mailed link is over after ten minutes, and a later one works', async () => {
    const person = await invite(app, ['staff']);
    const { browser, path } = await asked(person.mailbox);
    app.clock.advance(LIMITS.SIGN_IN_MINUTES * MINUTE_MS);
    expect((await browser.get(path)).status).toBe(404);
    expect((await browser.post(path)).status).toBe(404);
    expect((await signInByMail(app, browser, person.mailbox)).status).toBe(303);
  });

  it('A page says what it says of a mailbox that is nobody’s, of one that is somebody’s, and of one who was ended', async () => {
    const person = await invite(app, ['staff']);
    const gone = await invite(app, ['staff']);
    await app.desk('POST', `/people/${gone.id}/end`, { reason: 'Left' });
    await settled(app);
    const answers = [];
    for (const mailbox of [person.mailbox, 'nobody@mail.example', gone.mailbox]) {
      const browser = browsing(app);
      const { status, to } = await browser.post('/signin', { mailbox });
      const { text } = await browser.get('/signin/code');
      const wrong = await browser.post('/signin/code', { code: '000000' });
      answers.push({ status, to, text, wrong: [wrong.status, wrong.text] });
    }
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
    expect(await mailedPaths(app, person.mailbox)).toHaveLength(1);
    expect(await mailedPaths(app, 'nobody@mail.example')).toEqual([]);
    expect(await mailedPaths(app, gone.mailbox)).toEqual([]);
  });

  it('A link is mailed to the mailbox that is stored, however the mailbox is spelled', async () => {
    const person = await invite(app, ['staff'], { mailbox: 'Zoe.Bell@gmail.com' });
    const browser = browsing(app);
    await browser.post('/signin', { mailbox: 'zoebell+shop@gmail.com' });
    const [path = ''] = await mailedPaths(app, 'zoe.bell@gmail.com');
    expect((await browser.post(path)).status).toBe(303);
    expect((await browser.get('/me')).text).toContain(person.name);
  });

  it.each([['ada'], ['ada@'], ['ada@example.com, bob@example.com'], [''], ['ada@exa mple.com']])(
    'A text that is no mailbox is refused with the field, and kept: %j',
    async (mailbox) => {
      const { status, text } = await browsing(app).post('/signin', { mailbox });
      expect(status).toBe(422);
      expect(text).toContain('Enter an e-mail address');
    },
  );

  it('More links to one mailbox than the limit are refused with the time to wait, for a mailbox of nobody too', async () => {
    const person = await invite(app, ['staff']);
    for (const mailbox of [person.mailbox, 'nobody.else@mail.example']) {
      const statuses = [];
      for (let times = 0; times <= LIMITS.SIGN_IN_LINKS_PER_HOUR; times += 1)
        statuses.push((await browsing(app).post('/signin', { mailbox })).status);
      expect(statuses.slice(0, -1)).toEqual(Array(LIMITS.SIGN_IN_LINKS_PER_HOUR).fill(303));
      expect(statuses.at(-1)).toBe(429);
    }
  }, 60_000);
});

describe('After the sign-in', () => {
  it.each([
    ['/me', '/me'],
    ['/approvals?status=open', '/approvals?status=open'],
    ['//evil.example', '/home'],
    ['/\\evil.example', '/home'],
    ['https://evil.example/', '/home'],
    ['javascript:alert(1)', '/home'],
    ['/me\r\nlocation: https://evil.example', '/home'],
  ])('The page %j leads to %j', async (to, expected) => {
    const person = await invite(app, ['staff']);
    expect(await signInByMail(app, browsing(app), person.mailbox, to)).toMatchObject({
      status: 303,
      to: expected,
    });
  });

  it('A session that somebody planted in the browser is replaced by one of its own', async () => {
    const attacker = await signedInAs(app, await invite(app, ['staff']));
    const victim = await invite(app, ['staff']);
    const browser = browsing(app);
    for (const [name, value] of attacker.cookies) browser.cookies.set(name, value);
    const planted = browser.cookies.get('__Host-session');
    await signInByMail(app, browser, victim.mailbox);
    expect(browser.cookies.get('__Host-session')).not.toBe(planted);
    await settled(app);
    expect((await attacker.get('/me')).status).toBe(303);
    expect((await browser.get('/me')).text).toContain(victim.name);
  });
});

describe('An invitation', () => {
  it('An invitation names who invited whom as what, and signs in once', async () => {
    const person = await invite(app, ['auditor', 'privacy']);
    const browser = browsing(app);
    const before = await head();
    const { text } = await browser.get(person.link);
    expect(text).toContain(`the machine invites ${person.name} as auditor and privacy`);
    expect(await head()).toBe(before);
    expect(await browser.post(person.link)).toMatchObject({ status: 303, to: '/home' });
    expect((await browsing(app).post(person.link)).status).toBe(404);
    const events = await app.service.deps.log.readStream(streamOfPerson(person.id));
    expect(events.map(({ type }) => type)).toEqual(['PersonInvited', 'PersonJoined']);
  });

  it('An invitation is mailed with its link, is over after its days, and is replaced by a later one', async () => {
    const person = await invite(app, ['staff']);
    expect(await mailedPaths(app, person.mailbox, 'invited')).toEqual([person.link]);
    const again = await app.desk('POST', `/people/${person.id}/invite`, {});
    expect(again.status).toBe(200);
    const { invitation_url } = again.body as { invitation_url: string };
    expect((await browsing(app).get(person.link)).status).toBe(404);
    app.clock.advance(LIMITS.MAILED_LINK_DAYS * DAY_MS);
    expect((await browsing(app).post(new URL(invitation_url).pathname)).status).toBe(404);
  });

  it('One mailbox is one person, however it is spelled, and one name that looks the same is not two people', async () => {
    const person = await invite(app, ['staff'], {
      name: 'Ada Lang',
      mailbox: 'ada.lang@gmail.com',
    });
    const tried = async (name: string, mailbox: string) => {
      const { status, body } = await app.desk('POST', '/people', {
        name,
        mailbox,
        roles: ['staff'],
      });
      return { status, body: body as { code?: string; errors?: unknown } };
    };
    expect(await tried('Other Name', 'adalang+2@gmail.com')).toMatchObject({ status: 409 });
    expect(await tried('ADA. LANG', 'second@mail.example')).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: '/name', code: 'taken' }] },
    });
    await app.desk('POST', `/people/${person.id}/end`, { reason: 'Left' });
    const back = await tried('Ada Lang', 'adalang@gmail.com');
    expect(back).toMatchObject({ status: 201, body: { id: person.id, status: 'invited' } });
  });

  it.each([
    [['owner', 'staff'], ['acme'], '/roles'],
    [['owner'], [], '/owners'],
    [['staff'], ['acme'], '/owners'],
    [[], [], '/roles'],
  ])('The roles %j with the promoters %j are refused', async (roles, owners, pointer) => {
    const answer = await app.desk('POST', '/people', {
      name: 'Roll Ins',
      mailbox: 'roles@mail.example',
      roles,
      owners,
    });
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });
  });
});

describe('The confirmed mailbox of a promoter', () => {
  const promoter = async (owner: string, mailbox: string, isConfirmed = true): Promise<void> => {
    const profile = { name: 'Some Ltd', postal_address: 'Street 1', mailbox };
    expect((await app.desk('POST', `/owners/${owner}/profile`, profile)).status).toBe(200);
    if (isConfirmed)
      expect(
        (await app.desk('POST', `/owners/${owner}/mailbox/confirm`, { mailbox, reason: 'A call' }))
          .status,
      ).toBe(200);
    await settled(app);
  };

  it('A confirmed mailbox of a promoter signs in uninvited, as its first owner', async () => {
    await promoter('firsts', 'office@firsts.example');
    const browser = browsing(app);
    expect((await signInByMail(app, browser, 'office@firsts.example')).status).toBe(303);
    await settled(app);
    expect((await browser.get('/home')).to).toBe('/o/firsts');
    expect((await browser.get('/o/firsts')).text).toContain('owner of firsts');
    const again = browsing(app);
    await signInByMail(app, again, 'office@firsts.example');
    const { body } = await app.desk('GET', '/people?limit=100');
    const people = (body as { data: { owners: string[] }[] }).data;
    expect(people.filter(({ owners }) => owners.includes('firsts'))).toHaveLength(1);
  });

  it('A mailbox that is not confirmed, and one of a promoter who has an owner, sign nobody in', async () => {
    await promoter('unsure', 'office@unsure.example', false);
    await promoter('taken', 'office@taken.example');
    await invite(app, ['owner'], { owners: ['taken'] });
    await settled(app);
    for (const mailbox of ['office@unsure.example', 'office@taken.example']) {
      await browsing(app).post('/signin', { mailbox });
      expect(await mailedPaths(app, mailbox)).toEqual([]);
    }
  });
});

it('A person whom nobody let in sees the sign-in, and comes back to the page', async () => {
  const { status, to } = await browsing(app).get('/approvals/out_1');
  expect({ status, to }).toEqual({ status: 303, to: '/signin?to=%2Fapprovals%2Fout_1' });
  expect((await browsing(app).get('/login')).to).toBe('/signin');
});
