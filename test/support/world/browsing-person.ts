/** People who are signed in with a browser, by the invitation that an operator shows. */
import type { DeskRole } from '#contracts/scopes.ts';
import type { TestApp } from './app.ts';

export type Browsing = {
  personId: string;
  name: string;
  sessionId: string;
  /** `kept`: a cookie that the browser also has. */
  get(path: string, kept?: string): ReturnType<TestApp['send']>;
  /** Sends a form with the token of the session. */
  press(
    path: string,
    fields?: Record<string, string>,
    remoteAddress?: string,
  ): ReturnType<TestApp['send']>;
};

const FORM = 'application/x-www-form-urlencoded';

/** Invites a person with the machine's token, who accepts in a browser. */
export const browsingPerson = async (
  app: TestApp,
  { name, ...invited }: { name: string; roles: readonly DeskRole[]; owners?: readonly string[] },
): Promise<Browsing> => {
  const mailbox = `${name.toLowerCase().replaceAll(/[^a-z]/g, '.')}@house.example`;
  const { status, body, text } = await app.desk('POST', '/people', { name, mailbox, ...invited });
  if (status !== 201) throw new Error(text);
  const { id, invitation_url } = body as { id: string; invitation_url: string };
  const { pathname } = new URL(invitation_url);
  const entered = await app.send({
    method: 'POST',
    url: pathname,
    headers: { 'content-type': FORM },
    payload: '',
  });
  const [cookie = ''] = [entered.headers['set-cookie'] ?? []]
    .flat()
    .flatMap((one) => /^(?:__Host-)?session=[^;]+/.exec(one)?.[0] ?? []);
  const get = (path: string, kept = '') =>
    app.send({ url: path, headers: { cookie: `${cookie}; ${kept}` } });
  const csrf = /name="csrf" value="([^"]+)"/.exec((await get('/me')).text)?.[1] ?? '';
  const sessionId = /trbs_([0-9A-Za-z]{12})/.exec(cookie)?.[1] ?? '';
  return {
    personId: id,
    name,
    sessionId,
    get,
    press: (path, fields = {}, remoteAddress = '127.0.0.1') =>
      app.send({
        remoteAddress,
        method: 'POST',
        url: path,
        headers: { cookie, 'content-type': FORM },
        payload: new URLSearchParams({ csrf, ...fields }).toString(),
      }),
  };
};
