/** A browser without a screen over one app: its cookies, its forms, and the mail of the people who sign in. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { canonicalAddress } from '#contracts/mailbox.ts';
import { HANG_MS } from '../hang.ts';
import { freshKey, type TestApp } from './app.ts';

/** What a real browser says of a form of its own page. */
const OWN_FORM = { 'sec-fetch-site': 'same-origin' };
const HOST = 't.example';

export type Browsing = ReturnType<typeof browsing>;

/** `from`: the network address of the browser; `agent`: its User-Agent. */
export const browsing = (
  app: TestApp,
  { from = '198.51.100.7', agent = 'Mozilla/5.0 (X11; Linux x86_64) Firefox/156.0' } = {},
) => {
  const cookies = new Map<string, string>();
  const send = async (
    method: 'GET' | 'HEAD' | 'POST',
    url: string,
    {
      form,
      headers = {},
    }: { form?: Record<string, string>; headers?: Record<string, string> } = {},
  ) => {
    const response = await app.service.server.inject({
      method,
      url,
      remoteAddress: from,
      headers: {
        host: HOST,
        'user-agent': agent,
        ...(cookies.size > 0 && {
          cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        }),
        ...(method === 'POST' && {
          ...OWN_FORM,
          'content-type': 'application/x-www-form-urlencoded',
        }),
        ...headers,
      },
      ...(method === 'POST' && { payload: new URLSearchParams(form).toString() }),
    });
    for (const { name, value, maxAge } of response.cookies)
      if (maxAge === 0) cookies.delete(name);
      else cookies.set(name, value);
    return {
      status: response.statusCode,
      text: response.body,
      headers: response.headers as Record<string, string>,
      to: response.headers.location,
    };
  };
  const get = (url: string) => send('GET', url);
  const post = (url: string, form: Record<string, string> = {}, headers = {}) =>
    send('POST', url, { form, headers });
  /** Presses a button of a page: sends its form with the hidden fields that the page has. */
  const press = async (page: string, action: string, form: Record<string, string> = {}) => {
    const { text } = await get(page);
    const [own] =
      new RegExp(`<form[^>]*action="${action.replaceAll('.', '\\.')}"[^]*?</form>`).exec(text) ??
      [];
    if (own === undefined) throw new Error(`${page} has no form for ${action}: ${text}`);
    const hidden = [...own.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)];
    const fields = Object.fromEntries(hidden.map(([, name, value]) => [name, value]));
    return post(action, { ...fields, ...form });
  };
  return { cookies, send, get, post, press };
};

/** Resolves once the read models have everything, and the mail of it was sent. */
export const settled = async (app: TestApp): Promise<void> => {
  const { log, following } = app.service.deps;
  await following.passed((await log.head()).position, HANG_MS);
  await app.service.dispatcher.idle();
};

/** The paths of links of a kind in the messages to an address, the newest first. The dispatcher must be started. */
export const mailedPaths = async (
  app: TestApp,
  email: string,
  kind: 'signin' | 'invited' = 'signin',
): Promise<string[]> => {
  await settled(app);
  const directory = join(app.directory, 'mail');
  const paths: string[] = [];
  for (const name of readdirSync(directory).toSorted().reverse()) {
    const mail = await PostalMime.parse(readFileSync(join(directory, name)));
    if (canonicalAddress(mail.to?.[0]?.address ?? '') !== canonicalAddress(email)) continue;
    const [path] = /\/(?:signin|invited)\/[0-9A-Za-z_.]{40,}/.exec(mail.text ?? '') ?? [];
    if (path?.startsWith(`/${kind}/`)) paths.push(path);
  }
  return paths;
};

let invited = 0;
export type Invited = { id: string; name: string; mailbox: string; link: string };

/** Names without look-alikes, one for each number. */
const nameFor = (number: number): string =>
  `Person ${String(number).replaceAll(/\d/g, (digit) => 'BCDFGHJKLM'[Number(digit)] ?? '')}`;

/** Invites a person as the machine, or with `key`. */
export const invite = async (
  app: TestApp,
  roles: readonly string[],
  {
    owners = [],
    key,
    ...over
  }: { owners?: string[]; key?: string; name?: string; mailbox?: string } = {},
): Promise<Invited> => {
  invited += 1;
  const { name = nameFor(invited), mailbox = `person${invited}@mail.example` } = over;
  const { status, body, text } = await app.send({
    method: 'POST',
    url: '/api/desk/v1/people',
    key: key ?? app.deskToken,
    payload: { name, mailbox, roles, owners },
    headers: { 'idempotency-key': freshKey() },
  });
  if (status !== 201) throw new Error(text);
  const { id, invitation_url } = body as { id: string; invitation_url: string };
  return { id, name, mailbox, link: new URL(invitation_url).pathname };
};

/** A browser in which an invited person has signed in. */
export const signedInAs = async (
  app: TestApp,
  person: Pick<Invited, 'link'>,
  options = {},
): Promise<Browsing> => {
  const browser = browsing(app, options);
  const accepted = await browser.post(person.link);
  if (accepted.status !== 303) throw new Error(accepted.text);
  await settled(app);
  return browser;
};

/** Signs in by a mailed link in the browser that asks for it. */
export const signInByMail = async (
  app: TestApp,
  browser: Browsing,
  mailbox: string,
  to?: string,
) => {
  const asked = await browser.post('/signin', { mailbox, ...(to !== undefined && { to }) });
  if (asked.status !== 303) throw new Error(asked.text);
  const [path = ''] = await mailedPaths(app, mailbox);
  return browser.post(path);
};
