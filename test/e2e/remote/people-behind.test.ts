/** A process that is behind its log refuses no person for good who came, signed in or got a way in at another one. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { DEVICE_LOGIN } from '#contracts/places.ts';
import { softPasskey } from '../../support/clients/authenticator.ts';
import { PACE } from '../../support/eventstoredb/log-server.ts';
import { endStandIns, standIn, type StandIn } from '../../support/eventstoredb/start.ts';
import { freshKey, testApp, type TestApp } from '../../support/world/app.ts';
import { mailedPaths } from '../../support/world/browsing.ts';
import { type OpenIdWorld, openIdWorld } from '../../support/world/openid-provider.ts';
import { people } from '../../support/world/people.ts';
import {
  type Answered,
  hiddenField,
  signedInPerson,
  surfer,
  type Surfer,
} from '../../support/world/signed-in.ts';

const SITE = { origin: 'https://t.example', rpId: 't.example' };
const CONNECTION = 'people-behind';

let log: StandIn;
let provider: OpenIdWorld;
/** Writes. */
let ahead: TestApp;
/** Receives nothing from the log while it is held. */
let behind: TestApp;
/** The process that the browsers reach. */
let reached: TestApp;

/** The address of a service whose requests reach one process or the other. */
const anyProcess = (): TestApp => ({
  ...ahead,
  get service() {
    return reached.service;
  },
});

beforeAll(async () => {
  log = await standIn({ pace: PACE });
  provider = await openIdWorld('https://t.example/signin/openid/callback');
  const app = (connection: string) =>
    testApp({
      ...provider.settings,
      EVENT_LOG_URL: `${log.url}&connectionName=${connection}`,
      ROOT_KEY: Buffer.alloc(32, 7).toString('base64'),
    });
  ahead = await app('people-ahead');
  behind = await app(CONNECTION);
  reached = ahead;
  ahead.service.dispatcher.start();
});
beforeEach(async () => {
  reached = ahead;
  await log.delivery.release(CONNECTION);
  await people(behind).caughtUp();
});
afterAll(async () => {
  await log.delivery.release(CONNECTION);
  await Promise.all([ahead.close(), behind.close()]);
  await Promise.all([endStandIns(), provider.stop()]);
});

const NAMES = ['Ada', 'Bruno', 'Cleo', 'Dora', 'Egon', 'Faye', 'Gustav', 'Hedy'];
let persons = 0;
const mailboxOf = (n: number): string => `person-${n}@house.example`;
/** Names that do not look alike. */
const nextPerson = () => {
  const name = `${NAMES[persons % 8] ?? ''} ${NAMES[Math.floor(persons / 8)] ?? ''}`;
  persons += 1;
  return { name, mailbox: mailboxOf(persons), roles: ['staff', 'operator'] };
};
const person = async (): Promise<Surfer> => signedInPerson(anyProcess(), nextPerson());

const invite = async () => {
  const one = nextPerson();
  const { status, body, text } = await ahead.desk('POST', '/people', one);
  expect(status, text).toBe(201);
  const { id, invitation_url } = body as { id: string; invitation_url: string };
  return { ...one, id, invitation: new URL(invitation_url).pathname };
};

/** Asks for a mailed link; returns the browser that asked, and the path of the link. */
const linkFor = async (mailbox: string) => {
  const browser = surfer(anyProcess());
  expect((await browser.post('/signin', { mailbox })).status).toBe(303);
  const [path = ''] = await mailedPaths(ahead, mailbox);
  return { browser, path };
};
const optionsIn = (html: string) =>
  JSON.parse((/data-options="([^"]*)"/.exec(html)?.[1] ?? '').replaceAll('&quot;', '"')) as {
    challenge: string;
    user: { id: string };
  };
const passkeyOf = async (owner: Surfer) => {
  const page = await owner.get('/me/passkeys/add');
  const passkey = softPasskey(SITE, optionsIn(page.text));
  const asked = hiddenField(page.text, 'asked');
  const fields = { asked, answer: passkey.created, name: 'Laptop' };
  return { passkey, add: () => owner.post('/me/passkeys/add', fields) };
};
const atDevice = (app: TestApp, url: string, payload: object) =>
  app.send({ method: 'POST', url, payload, remoteAddress: `10.0.0.${(persons += 1) % 200}` });

/** Something that a person does where the browser is sent now. A redirection to the sign-in refuses it. */
type Use = { of: string; act(): Promise<Answered> };

const isRefused = ({ status, text, headers }: Answered): boolean =>
  (status >= 400 && !(status === 503 && headers['retry-after'] !== undefined)) ||
  /^\/signin(?:\?|$)/.test(headers['location'] ?? '') ||
  text.includes('"status":"expired"');

/** What people have by what happened at the other process a moment ago. */
const ways = async (): Promise<Use[]> => {
  const fresh = await person();
  const bearer = await commandLineOf(fresh);
  const invited = await invite();
  const opened = await invite();
  const byMail = await linkFor((await joined()).mailbox);
  const toRead = await linkFor((await joined()).mailbox);
  const byCode = await joined();
  const withPasskey = await person();
  const added = await passkeyOf(withPasskey);
  expect((await added.add()).status).toBe(303);
  const offered = await passkeyOf(fresh);
  const asks = surfer(anyProcess());
  const question = await asks.post('/signin/passkey/ask');
  const device = (await atDevice(ahead, DEVICE_LOGIN.ask, { device: 'laptop' })).body as {
    device_code: string;
    user_code: string;
  };
  const waiting = (await atDevice(ahead, DEVICE_LOGIN.ask, { device: 'desktop' })).body as {
    device_code: string;
  };
  await fresh.get('/device');
  const allowed = await fresh.post('/device/allow', { code: device.user_code });
  expect(allowed.status, allowed.text).toBe(200);
  const account = `subject-${freshKey()}`;
  provider.accounts.set(account, { email: byCode.mailbox, email_verified: true });
  const linked = surfer(anyProcess());
  const signed = await linked.get(await toProvider(linked, account));
  expect(signed.status, signed.text).toBe(303);
  const again = surfer(anyProcess());
  const back = await toProvider(again, account);
  const desk = (path: string, key: string) => behind.send({ url: `/api/desk/v1${path}`, key });
  return [
    { of: 'a session in a browser', act: () => fresh.get('/me') },
    { of: 'a session at the desk', act: () => desk('/me', bearer) },
    { of: 'a person at the desk', act: () => desk(`/people/${invited.id}`, ahead.deskToken) },
    { of: 'the sessions of a person', act: () => desk('/me/sessions', bearer) },
    { of: 'an invitation', act: () => surfer(anyProcess()).get(opened.invitation) },
    { of: 'the joining of a person', act: () => surfer(anyProcess()).post(invited.invitation) },
    { of: 'a mailed link', act: () => toRead.browser.get(toRead.path) },
    { of: 'the button of a mailed link', act: () => byMail.browser.post(byMail.path) },
    { of: 'a passkey that is offered', act: () => offered.add() },
    {
      of: 'a passkey that was added',
      act: () =>
        asks.post('/signin/passkey', {
          answer: added.passkey.use(JSON.parse(question.text) as { challenge: string }),
        }),
    },
    { of: 'an account of a provider', act: () => again.get(back) },
    {
      of: 'a login that was allowed',
      act: () => atDevice(behind, DEVICE_LOGIN.token, { device_code: device.device_code }),
    },
    {
      of: 'a login that waits',
      act: () => atDevice(behind, DEVICE_LOGIN.token, { device_code: waiting.device_code }),
    },
  ];
};
/** Somebody who has joined, and whose browser is not used any more. */
const joined = async () => {
  const one = await invite();
  expect((await surfer(anyProcess()).post(one.invitation)).status).toBe(303);
  return one;
};
const toProvider = async (browser: Surfer, subject: string): Promise<string> => {
  const gone = await browser.get('/signin/openid');
  provider.next.subject = subject;
  return (await provider.visit(gone.headers['location'] ?? '')).slice(SITE.origin.length);
};

it('A process that is behind its log refuses no person for good whom another process knows', async () => {
  await log.delivery.hold(CONNECTION);
  const uses = await ways();
  reached = behind;
  const refusedIn = async (all: readonly Use[], isAllowed: (answer: Answered) => boolean) => {
    const refused: string[] = [];
    for (const { of, act } of all) {
      const answer = await act();
      const { status, text, headers } = answer;
      if (isRefused(answer) || !isAllowed(answer))
        refused.push(`${of}: ${status} ${headers['location'] ?? ''} ${text.slice(0, 300)}`);
    }
    return refused;
  };
  // An act that succeeds while the process is behind is not repeated.
  const waiting: Use[] = [];
  const noted = uses.map(({ of, act }) => ({
    of,
    async act() {
      const answer = await act();
      if (answer.status === 503) waiting.push({ of, act });
      return answer;
    },
  }));
  expect(await refusedIn(noted, () => true)).toEqual([]);
  await log.delivery.release(CONNECTION);
  await people(behind).caughtUp();
  expect(await refusedIn(waiting, ({ status }) => status < 400)).toEqual([]);
});

/** Signs a command line in as a person; returns its credential. */
const commandLineOf = async (allowing: Surfer): Promise<string> => {
  const asked = await atDevice(ahead, DEVICE_LOGIN.ask, { device: 'tablet' });
  const { device_code, user_code } = asked.body as { device_code: string; user_code: string };
  await allowing.get('/device');
  expect((await allowing.post('/device/allow', { code: user_code })).status).toBe(200);
  const polled = await atDevice(ahead, DEVICE_LOGIN.token, { device_code });
  return (polled.body as { token: string }).token;
};

/** Credentials and links of all kinds: a use of each where the browser is sent, and its end at the first process. */
const endings = async (): Promise<(Use & { end(): Promise<{ status: number }> })[]> => {
  const [ended, left, holder] = [await person(), await person(), await person()];
  const { passkey, add } = await passkeyOf(holder);
  expect((await add()).status).toBe(303);
  const agent = await ahead.agent('acme');
  const made = await ahead.desk('POST', '/desk-tokens', { name: 'Tool', roles: ['staff'] });
  const token = made.body as { id: string; token: string };
  const link = await linkFor((await joined()).mailbox);
  const invited = await invite();
  const why = { reason: 'Left' };
  const at = (key: string, url = '/api/desk/v1/me') => reached.send({ url, key });
  const session = await commandLineOf(ended);
  const me = await ahead.send({ url: '/api/desk/v1/me', key: session });
  const sessionId = (me.body as { session: { id: string } }).session.id;
  const signInWith = async () => {
    const browser = surfer(anyProcess());
    const { text } = await browser.post('/signin/passkey/ask');
    const answer = passkey.use(JSON.parse(text) as { challenge: string });
    return browser.post('/signin/passkey', { answer });
  };
  return [
    {
      of: 'a session',
      act: () => at(session),
      end: () =>
        ahead.send({
          method: 'POST',
          url: `/api/desk/v1/me/sessions/${sessionId}/end`,
          key: session,
          payload: {},
          headers: { 'idempotency-key': freshKey() },
        }),
    },
    {
      of: 'a person',
      act: () => left.get('/me'),
      end: () => ahead.desk('POST', `/people/${left.personId}/end`, why),
    },
    {
      of: 'a passkey',
      act: signInWith,
      end: () => holder.post(`/me/passkeys/${passkey.id}/remove`),
    },
    {
      of: 'a key',
      act: () => at(agent.key, '/api/affiliate/v1/connection'),
      end: () => ahead.desk('POST', `/keys/${agent.keyId}/revoke`, why),
    },
    {
      of: 'a desk token',
      act: () => at(token.token),
      end: () => ahead.desk('POST', `/desk-tokens/${token.id}/revoke`, why),
    },
    {
      of: 'a mailed link',
      act: () => link.browser.get(link.path),
      end: () => link.browser.post(link.path),
    },
    {
      of: 'an invitation',
      act: () => surfer(anyProcess()).get(invited.invitation),
      end: () => surfer(anyProcess()).post(invited.invitation),
    },
  ];
};

it('What ended at one process is refused for good at another one once that has read the end', async () => {
  for (const { of, act, end } of await endings()) {
    await people(behind).caughtUp();
    reached = behind;
    const before = await act();
    expect(isRefused(before), `${of}: ${before.status} ${before.text.slice(0, 300)}`).toBe(false);
    reached = ahead;
    expect((await end()).status, of).toBeLessThan(400);
    await people(behind).caughtUp();
    reached = behind;
    expect(isRefused(await act()), of).toBe(true);
    reached = ahead;
  }
});
