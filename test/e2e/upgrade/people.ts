/** People of the service in the story: how they are invited, sign in with each way, and leave. */
import { DEVICE_LOGIN } from '#contracts/places.ts';
import { softPasskey, type SoftPasskey } from '../../support/clients/authenticator.ts';
import { Browser, fieldIn } from './browser.ts';
import { idOf, type Json, type Recorder } from './recorder.ts';
import type { World } from './world.ts';

const SITE = { origin: 'https://t.example', rpId: 't.example' };
const IDA = { name: 'Ida Crew', mailbox: 'ida@house.example' };
const ADD = '/me/passkeys/add';

/** Invites somebody; resolves to the path of the invitation. */
const invite = async (
  recorder: Recorder,
  who: { name: string; mailbox: string; roles: string[] },
): Promise<{ id: string; path: string }> => {
  const invited = await recorder.desk(`invite-${who.name.replace(' ', '-')}`, '/people', who);
  return { id: idOf(invited), path: new URL(String(invited['invitation_url'])).pathname };
};

/** Adds a passkey as the script of the page does. */
const addPasskey = async (browser: Browser): Promise<SoftPasskey> => {
  const { body } = await browser.get(ADD);
  const options = /data-options="([^"]*)"/.exec(body)?.[1] ?? '';
  const passkey = softPasskey(SITE, JSON.parse(options.replaceAll('&quot;', '"')));
  const asked = fieldIn(body, 'asked');
  await browser.post(ADD, { asked, answer: passkey.created, name: 'Laptop' });
  return passkey;
};

/** Shows a passkey that has counted so far. */
const usePasskey = async (
  browser: Browser,
  passkey: SoftPasskey,
  counter: number,
): Promise<void> => {
  const { body } = await browser.post('/signin/passkey/ask');
  const answer = passkey.use(JSON.parse(body) as { challenge: string }, { counter });
  await browser.post('/signin/passkey', { answer });
};

/** Asks for a link in a browser, and presses its button there. */
const signInByMail = async (
  browser: Browser,
  mailbox: string,
  { mailedLink }: World,
): Promise<void> => {
  await browser.post('/signin', { mailbox });
  await browser.post('/signin/code', { code: '000 000' });
  await browser.post(await mailedLink('signin', mailbox));
};

/** Runs `tributary login` up to the page that the person presses; resolves to the token, if it is allowed. */
const logIn = async (
  recorder: Recorder,
  browser: Browser,
  button: 'allow' | 'deny',
): Promise<string> => {
  const ask = (path: string, fields: object) =>
    recorder.act(`login: ${button}`, {
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    });
  const begun = JSON.parse((await ask(DEVICE_LOGIN.ask, { device: 'laptop' })).body) as Json;
  await browser.get(DEVICE_LOGIN.page);
  await browser.post(`${DEVICE_LOGIN.page}/${button}`, { code: String(begun['user_code']) });
  const { body } = await ask(DEVICE_LOGIN.token, { device_code: begun['device_code'] });
  return String((JSON.parse(body) as Json)['token']);
};

/** An operator is invited twice, then signs in by mail and with a passkey. A copy of the passkey is refused. */
export const signIn = async (recorder: Recorder, world: World): Promise<void> => {
  const { ids, credentials } = recorder;
  const { id } = await invite(recorder, { ...IDA, roles: ['staff', 'operator'] });
  ids['person'] = id;
  const again = await recorder.desk('invite-again', `/people/${id}/invite`, {});
  const browser = new Browser(recorder);
  await browser.post(new URL(String(again['invitation_url'])).pathname);
  const passkey = await addPasskey(browser);
  await browser.post('/signout');
  for (const counter of [100, 50, 200]) await usePasskey(browser, passkey, counter);
  await browser.get('/me');
  await browser.post('/signout');
  await signInByMail(browser, IDA.mailbox, world);
  await browser.get('/me', '203.0.113.9');
  credentials['person'] = await logIn(recorder, browser, 'allow');
  await logIn(recorder, browser, 'deny');
  const spare = await addPasskey(browser);
  await browser.get('/me');
  await browser.post(`/me/passkeys/${spare.id}/remove`);
  const roles = { roles: ['staff', 'operator', 'auditor'], owners: [], reason: 'Audits, too' };
  await recorder.desk('roles', `/people/${id}/roles`, roles);
  // New roles end the sessions of a person, who signs in again.
  await signInAgain(recorder, world);
};

const signInAgain = async (recorder: Recorder, { mailedLink }: World): Promise<void> => {
  const browser = new Browser(recorder);
  await browser.post('/signin', { mailbox: IDA.mailbox });
  await browser.post(await mailedLink('signin', IDA.mailbox, 2));
  await browser.get('/me');
  recorder.credentials['person'] = await logIn(recorder, browser, 'allow');
};

/** The owner of a confirmed mailbox signs in without an invitation. Another person signs in with the OpenID provider, and leaves. */
export const useOtherWays = async (recorder: Recorder, world: World): Promise<void> => {
  const { provider } = world;
  await signInByMail(new Browser(recorder), 'dora@delta.example', world);
  const who = { name: 'Jon Crew', mailbox: 'jon@house.example' };
  const { id } = await invite(recorder, { ...who, roles: ['auditor'] });
  provider.accounts.set('jon', { email: who.mailbox, email_verified: true });
  provider.next.subject = 'jon';
  const browser = new Browser(recorder);
  const { headers } = await browser.get('/signin/openid');
  const back = new URL(await provider.visit(headers['location'] ?? ''));
  await browser.get(`${back.pathname}${back.search}`);
  await browser.get('/me');
  await browser.post('/me/accounts/unlink', { issuer: provider.issuer });
  await recorder.desk('end-jon', `/people/${id}/end`, { reason: 'Left' });
};
