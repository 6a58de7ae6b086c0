/** Passkeys: added, used, and refused for each thing that can be wrong with an answer. */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { MINUTE_MS } from '#src/shared/time.ts';
import { type Lie, softPasskey, type SoftPasskey } from '../support/clients/authenticator.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import { hiddenField, signedInPerson, type Surfer, surfer } from '../support/world/signed-in.ts';

const SITE = { origin: 'https://t.example', rpId: 't.example' };
const ADD = '/me/passkeys/add';

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.close());

type Offer = { challenge: string; user: { id: string } };

/** The options that a page gives to its script. */
const offerIn = (html: string): Offer =>
  JSON.parse((/data-options="([^"]*)"/.exec(html)?.[1] ?? '').replaceAll('&quot;', '"')) as Offer;

const addPasskey = async (person: Surfer, name = 'Laptop'): Promise<SoftPasskey> => {
  const page = await person.get(ADD);
  const passkey = softPasskey(SITE, offerIn(page.text));
  const asked = hiddenField(page.text, 'asked');
  const added = await person.post(ADD, { asked, answer: passkey.created, name });
  expect(added).toMatchObject({ status: 303, headers: { location: '/me' } });
  return passkey;
};

/** Asks for a passkey in a browser, as the script of the page does. */
const ask = async (browser: Surfer): Promise<{ challenge: string }> => {
  const asked = await browser.post('/signin/passkey/ask');
  expect(asked.status).toBe(200);
  return JSON.parse(asked.text) as { challenge: string };
};

const NAMES = ['Ada', 'Bruno', 'Cleo', 'Dora', 'Egon', 'Faye', 'Gustav', 'Hedy'];
let people = 0;
/** Names that do not look alike. */
const newPerson = async (): Promise<Surfer> => {
  const name = `${NAMES[people % 8] ?? ''} ${NAMES[Math.floor(people / 8)] ?? ''}`;
  people += 1;
  const mailbox = `person-${people}@house.example`;
  return signedInPerson(app, { name, mailbox, roles: ['staff', 'operator'] });
};

const faultIn = (html: string): string =>
  /<a href="#passkey">([^<]*)/.exec(html)?.[1] ?? `no fault in ${html}`;

const eventsOf = async (personId: string): Promise<string[]> => {
  const stored = await app.service.deps.log.readStream(
    `desk-person_${personId.slice(personId.indexOf('_') + 1)}`,
  );
  return stored.map(({ type }) => type);
};

describe('A passkey', () => {
  it('A passkey signs its person in without a mailbox, with a session of its own, and goes on with the page that needed it', async () => {
    const person = await newPerson();
    const passkey = await addPasskey(person);
    const browser = surfer(app);
    const question = await ask(browser);
    const used = await browser.post('/signin/passkey', {
      answer: passkey.use(question, { counter: 1 }),
      to: '/me',
    });
    expect(used).toMatchObject({ status: 303, headers: { location: '/me' } });
    const { text } = await browser.get('/me');
    expect(text).toContain('Signed in with a passkey');
    expect(text).toContain('Laptop');
    expect(await eventsOf(person.personId)).toEqual([
      'PersonInvited',
      'PersonJoined',
      'PasskeyAdded',
      'PasskeyUsed',
    ]);
  });

  it('A passkey of a device that does not count signs in any number of times', async () => {
    const passkey = await addPasskey(await newPerson());
    for (let time = 0; time < 2; time += 1) {
      const browser = surfer(app);
      const answer = passkey.use(await ask(browser));
      expect((await browser.post('/signin/passkey', { answer })).status).toBe(303);
    }
  });

  it('A sign-in with a passkey never goes on with a page of another site', async () => {
    const passkey = await addPasskey(await newPerson());
    for (const to of ['https://evil.example/', '//evil.example', '/\\evil.example']) {
      const browser = surfer(app);
      const answer = passkey.use(await ask(browser));
      const { headers } = await browser.post('/signin/passkey', { answer, to });
      expect(headers['location'], to).toBe('/home');
    }
  });

  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const LIES: Record<string, Lie> = {
    'of another origin': { origin: 'https://evil.example' },
    'of another port of this host': { origin: 'https://t.example:8443' },
    'without TLS': { origin: 'http://t.example' },
    'made for another site': { rpId: 'evil.example' },
    'to another challenge': { challenge: Buffer.alloc(32, 7).toString('base64url') },
    'without a challenge': { challenge: '' },
    'of a device that did not check who holds it': { isVerified: false },
    'that makes a passkey': { type: 'webauthn.create' },
    'with the signature of another key': { key: other },
    'of an unknown passkey': { id: 'q83vEjRWeJA' },
    'of nobody': { userHandle: Buffer.from(`per_${'0'.repeat(24)}`).toString('base64url') },
    'of something that is no person': {
      userHandle: Buffer.from('desk-token_x').toString('base64url'),
    },
  };
  it.each(Object.entries(LIES))(
    'An answer %s is refused with a text and a way on, and starts no session',
    async (_name, lie) => {
      const person = await newPerson();
      const passkey = await addPasskey(person);
      const before = await eventsOf(person.personId);
      const browser = surfer(app);
      const answer = passkey.use(await ask(browser), { counter: 1, ...lie });
      const refused = await browser.post('/signin/passkey', { answer });
      expect(refused.status).toBe(422);
      expect(faultIn(refused.text)).toMatch(/^The passkey .+\.$/);
      expect(refused.text).toContain('Mail me a link');
      expect([...browser.cookies.keys()]).toEqual([]);
      expect(await eventsOf(person.personId)).toEqual(before);
    },
  );

  it.each([
    '',
    'no JSON',
    'null',
    '[]',
    '{"response":null}',
    '{"response":{"userHandle":7}}',
    '"x"',
  ])('An answer that is %j is refused, and not a failure', async (answer) => {
    const browser = surfer(app);
    await ask(browser);
    expect((await browser.post('/signin/passkey', { answer })).status).toBe(422);
  });

  it('A second use of an answer is refused, in the same browser and with its cookie in another one', async () => {
    const passkey = await addPasskey(await newPerson());
    const browser = surfer(app);
    const answer = passkey.use(await ask(browser));
    const stolen = new Map(browser.cookies);
    expect((await browser.post('/signin/passkey', { answer })).status).toBe(303);
    expect((await browser.post('/signin/passkey', { answer })).status).toBe(422);
    const thief = surfer(app);
    for (const [name, value] of stolen) thief.cookies.set(name, value);
    const replayed = await thief.post('/signin/passkey', { answer });
    expect(replayed.status).toBe(422);
    expect(faultIn(replayed.text)).toContain('an answer works once');
    expect([...thief.cookies.keys()].filter((name) => name.includes('session'))).toEqual([]);
  });

  it('Two uses of an answer at the same time start one session', async () => {
    const passkey = await addPasskey(await newPerson());
    const browser = surfer(app);
    const answer = passkey.use(await ask(browser));
    const both = await Promise.all([1, 2].map(() => browser.post('/signin/passkey', { answer })));
    expect(both.map(({ status }) => status).toSorted()).toEqual([303, 422]);
  });

  it('An answer in another browser than the one that asked is refused', async () => {
    const passkey = await addPasskey(await newPerson());
    const answer = passkey.use(await ask(surfer(app)));
    const other = surfer(app);
    await ask(other);
    expect((await other.post('/signin/passkey', { answer })).status).toBe(422);
    expect((await surfer(app).post('/signin/passkey', { answer })).status).toBe(422);
  });

  it('An answer after the time is refused, also with a cookie whose time was changed', async () => {
    const passkey = await addPasskey(await newPerson());
    const browser = surfer(app);
    const answer = passkey.use(await ask(browser));
    const [[name = '', value = ''] = []] = browser.cookies;
    app.clock.advance(LIMITS.PASSKEY_MINUTES * MINUTE_MS);
    const late = await browser.post('/signin/passkey', { answer });
    expect(faultIn(late.text)).toContain(`longer than ${LIMITS.PASSKEY_MINUTES} minutes`);
    browser.cookies.set(name, value.replace(/\d+$/, String(app.clock.now() + MINUTE_MS)));
    expect((await browser.post('/signin/passkey', { answer })).status).toBe(422);
  });

  it('A counter that does not rise is refused, recorded once, and shown to the person', async () => {
    const person = await newPerson();
    const passkey = await addPasskey(person);
    const use = async (counter: number) => {
      const browser = surfer(app);
      const answer = passkey.use(await ask(browser), { counter });
      return browser.post('/signin/passkey', { answer });
    };
    expect((await use(5)).status).toBe(303);
    for (const counter of [5, 4, 0]) {
      const copied = await use(counter);
      expect(copied.status).toBe(422);
      expect(faultIn(copied.text)).toContain('may have a copy of it');
    }
    expect((await eventsOf(person.personId)).slice(-2)).toEqual(['PasskeyUsed', 'PasskeyRefused']);
    expect((await person.get('/me')).text).toContain('there may be a copy of it');
    expect((await use(6)).status).toBe(303);
    expect((await person.get('/me')).text).toContain('there may be a copy of it');
  });

  it('A forged counter without the signature of the passkey records nothing', async () => {
    const person = await newPerson();
    const passkey = await addPasskey(person);
    const browser = surfer(app);
    const honest = passkey.use(await ask(browser), { counter: 5 });
    expect((await browser.post('/signin/passkey', { answer: honest })).status).toBe(303);
    const before = await eventsOf(person.personId);
    const forger = surfer(app);
    const answer = passkey.use(await ask(forger), { counter: 1, key: other });
    expect((await forger.post('/signin/passkey', { answer })).status).toBe(422);
    expect(await eventsOf(person.personId)).toEqual(before);
  });

  it('Passkeys of a person who was ended sign in no more, not even after a new invitation', async () => {
    const person = await newPerson();
    const passkey = await addPasskey(person);
    const ended = await app.desk('POST', `/people/${person.personId}/end`, { reason: 'Left' });
    expect(ended.status).toBe(200);
    const use = async () => {
      const browser = surfer(app);
      const answer = passkey.use(await ask(browser), { counter: 1 });
      return browser.post('/signin/passkey', { answer });
    };
    expect(faultIn((await use()).text)).toContain('its person was ended');
    await app.desk('POST', '/people', {
      name: (ended.body as { name: string }).name,
      mailbox: `person-${people}@house.example`,
      roles: ['staff'],
    });
    expect((await use()).status).toBe(422);
  });

  it('The question and the refusal of an unknown passkey are the same whether or not anybody has one', async () => {
    const browser = surfer(app);
    expect(Object.keys(await ask(browser)).toSorted()).toEqual([
      'challenge',
      'rpId',
      'timeout',
      'userVerification',
    ]);
  });

  it('A sign-in with a passkey ends the session that the browser had', async () => {
    const person = await newPerson();
    const passkey = await addPasskey(person);
    const before = new Map(person.cookies);
    const answer = passkey.use(await ask(person));
    expect((await person.post('/signin/passkey', { answer })).status).toBe(303);
    const old = surfer(app);
    for (const [name, value] of before) old.cookies.set(name, value);
    expect((await old.get('/me')).headers['location']).toContain('/signin');
  });
});

describe('The passkeys of a person', () => {
  it('Passkeys are listed and removed at /me, and a removed one signs in no more', async () => {
    const person = await newPerson();
    const passkey = await addPasskey(person, 'Old phone');
    expect((await person.get('/me')).text).toContain('Old phone');
    expect((await person.post(`/me/passkeys/${passkey.id}/remove`)).status).toBe(303);
    expect((await person.get('/me')).text).not.toContain('Old phone');
    const browser = surfer(app);
    const answer = passkey.use(await ask(browser), { counter: 1 });
    const refused = await browser.post('/signin/passkey', { answer });
    expect(faultIn(refused.text)).toContain('was removed');
  });

  it('An answer that adds a passkey is refused from another site, another session, later, and with no name', async () => {
    const person = await newPerson();
    const page = await person.get(ADD);
    const asked = hiddenField(page.text, 'asked');
    const offer = offerIn(page.text);
    const { created } = softPasskey(SITE, offer);
    const refusals: [Surfer, Record<string, string>][] = [
      [
        person,
        {
          asked,
          answer: softPasskey(SITE, offer, { origin: 'https://evil.example' }).created,
          name: 'A',
        },
      ],
      [
        person,
        { asked, answer: softPasskey(SITE, offer, { rpId: 'evil.example' }).created, name: 'A' },
      ],
      [
        person,
        { asked, answer: softPasskey(SITE, offer, { isVerified: false }).created, name: 'A' },
      ],
      [person, { asked, answer: '{}', name: 'A' }],
      [person, { asked, answer: '', name: 'A' }],
      [person, { asked: '', answer: created, name: 'A' }],
      [person, { asked, answer: created, name: '' }],
    ];
    for (const [surfing, fields] of refusals) {
      const refused = await surfing.post(ADD, fields);
      expect(refused.status, JSON.stringify(fields)).toBe(422);
      expect(refused.text).toContain('The passkey was not added');
    }
    const stranger = await newPerson();
    await stranger.get(ADD);
    expect((await stranger.post(ADD, { asked, answer: created, name: 'A' })).status).toBe(422);
    app.clock.advance(LIMITS.PASSKEY_MINUTES * MINUTE_MS);
    expect((await person.post(ADD, { asked, answer: created, name: 'A' })).status).toBe(422);
    expect((await person.get('/me')).text).toContain('Add a passkey');
    expect(await eventsOf(person.personId)).toEqual(['PersonInvited', 'PersonJoined']);
  });

  it('A passkey is added and removed only after a fresh sign-in, and what was typed is kept', async () => {
    const person = await newPerson();
    const passkey = await addPasskey(person);
    const page = await person.get(ADD);
    const asked = hiddenField(page.text, 'asked');
    const { created } = softPasskey(SITE, offerIn(page.text));
    app.clock.advance(LIMITS.FRESH_SIGN_IN_MINUTES * MINUTE_MS);
    const again = `/signin?${new URLSearchParams({ to: ADD, again: '1' }).toString()}`;
    expect((await person.get(ADD)).headers['location']).toBe(again);
    const removed = await person.post(`/me/passkeys/${passkey.id}/remove`);
    expect(removed.headers['location']).toContain('again=1');
    const added = await person.post(ADD, { asked, answer: created, name: 'Desk key' });
    expect(added.headers['location']).toBe(again);
    const answer = passkey.use(await ask(person));
    const fresh = await person.post('/signin/passkey', { answer, to: ADD });
    expect(fresh.headers['location']).toBe(ADD);
    expect((await person.get(ADD)).text).toContain('value="Desk key"');
  });

  it('A passkey cannot be added with a desk token', async () => {
    const offered = await app.desk('GET', '/me/passkeys/offer');
    expect(offered.status).toBe(403);
    const added = await app.desk('POST', '/me/passkeys', { asked: 'x', answer: '{}', name: 'A' });
    expect(added.status).toBe(403);
  });

  it('A person has at most as many passkeys as the limit says', async () => {
    const person = await newPerson();
    for (let count = 0; count < LIMITS.PASSKEYS_PER_PERSON_MAX; count += 1)
      await addPasskey(person, `Key ${count}`);
    const page = await person.get(ADD);
    const asked = hiddenField(page.text, 'asked');
    const { created } = softPasskey(SITE, offerIn(page.text));
    const refused = await person.post(ADD, { asked, answer: created, name: 'One more' });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain(`At most ${LIMITS.PASSKEYS_PER_PERSON_MAX} passkeys`);
  });
});

describe('Attempts with passkeys', () => {
  it('Attempts to sign in with a passkey are limited for each network', async () => {
    const limited = await testApp();
    const browser = surfer(limited);
    const statuses = new Set<number>();
    for (let time = 0; time <= LIMITS.SIGN_INS_PER_NETWORK_PER_HOUR; time += 1)
      statuses.add((await browser.post('/signin/passkey', { answer: '{}' })).status);
    await limited.close();
    expect([...statuses]).toEqual([422, 429]);
  });
});
