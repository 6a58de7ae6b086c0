/** Commands by which a person signs in at a service from any machine, and the logins that this makes. */
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { DEVICE_LOGIN } from '#contracts/places.ts';
import { sessionIdIn } from '#src/calls/authenticate.ts';
import { rolesText } from '#src/shared/roles.ts';
import { systemClock } from '#src/system/ids.ts';
import { onLocalhost } from '#src/shared/localhost.ts';
import {
  contextName,
  type Login,
  loginOf,
  readContexts,
  remoteOf,
  serviceUrl,
  writeContexts,
} from '../contexts.ts';
import { askService, withRemote } from '../desk.ts';
import { LOGIN } from '../options.ts';
import { problemError } from '../problem-text.ts';
import { CommandError, EXIT, formatTable, printNotice, printResult } from '../terminal.ts';

type Json = { json?: boolean };
type Where = Json & { context?: string; url?: string };

const asked = z.object({
  device_code: z.string(),
  user_code: z.string(),
  interval: z.number(),
  expires_in: z.number(),
});
const polled = z.object({
  status: z.enum(['pending', 'denied', 'expired', 'allowed']),
  token: z.string().optional(),
});

const SECONDS_A_MINUTE = 60;
const MS = 1_000;

const refused = (code: string, detail: string): CommandError =>
  new CommandError(EXIT.refused, detail, { code, detail });

/** Sends a question of a login, which is no operation of the desk. */
const ask = async <Answer>(
  url: string,
  { path, body, shape }: { path: string; body: object; shape: z.ZodType<Answer> },
): Promise<Answer> => {
  const { status, answer } = await askService(url, path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (status >= 400) throw problemError(answer);
  const read = shape.safeParse(answer);
  if (read.success) return read.data;
  throw refused('not_tributary', `${url} does not answer as Tributary. Check the address.`);
};

/** Asks until a person has answered. An outage meanwhile ends nothing: the code still works after it. */
const waitForToken = async (
  url: string,
  { device_code, interval, expires_in }: z.infer<typeof asked>,
): Promise<string> => {
  const { monotonic } = systemClock();
  const until = monotonic() + (expires_in + SECONDS_A_MINUTE) * MS;
  const question = { path: DEVICE_LOGIN.token, body: { device_code }, shape: polled };
  for (;;) {
    await pause(interval * MS);
    try {
      const { status, token } = await ask(url, question);
      if (token !== undefined) return token;
      if (status === 'denied')
        throw refused('login_denied', 'The login was denied on the page. Nothing is signed in.');
      if (status === 'expired')
        throw refused(
          'login_expired',
          `Nobody allowed the login within ${expires_in / SECONDS_A_MINUTE} minutes. Run the command again for another code.`,
        );
    } catch (error) {
      const isLost = error instanceof CommandError && error.exit === EXIT.unknown;
      if (!isLost || monotonic() > until) throw error;
    }
  }
};

/** Ends a login at its service; one that has ended there before, too. */
const endAt = async (login: Login): Promise<void> => {
  const session_id = sessionIdIn(login.token) ?? '';
  try {
    await withRemote(remoteOf(login), {}, (desk) => desk.call('endSession', { session_id }));
  } catch (error) {
    const { code = '' } = ((error as CommandError).report ?? {}) as { code?: string };
    if (!code.startsWith('credential_')) throw error;
  }
};

/** Signs a person in, whom the code is shown to and who allows it in a browser. */
export const logIn = async (address: string, options: Where): Promise<void> => {
  const url = serviceUrl(address);
  const name = contextName(options.context ?? new URL(url).host);
  const earlier = readContexts().logins.find((login) => login.name === name);
  const body = { device: hostname() || 'a machine' };
  const begun = await ask(url, { path: DEVICE_LOGIN.ask, body, shape: asked });
  printNotice(
    `Open ${onLocalhost(url)}${DEVICE_LOGIN.page} in a browser, and type this code:\n\n  ${begun.user_code}\n\n` +
      `Waiting for you to allow it, for ${begun.expires_in / SECONDS_A_MINUTE} minutes.`,
  );
  const token = await waitForToken(url, begun);
  const {
    name: person,
    roles,
    owners,
    session,
  } = await withRemote({ url, token }, {}, (desk) => desk.call('whoAmI', {}));
  const expires_at = session?.expires_at ?? '';
  // Read again: another command may have changed the file meanwhile.
  const others = readContexts().logins.filter((login) => login.name !== name);
  writeContexts({ current: name, logins: [...others, { name, url, token, person, expires_at }] });
  // What it replaces is not needed any more, and ends by itself where its service does not answer.
  if (earlier) await endAt(earlier).catch(() => undefined);
  printResult(
    options,
    { context: name, url, name: person, roles, owners, expires_at },
    `You are ${person}, ${rolesText({ roles, owners })}, at ${url} until ${expires_at}.\n` +
      `Commands act as you wherever no data directory is; beside one, with --context ${name}.`,
  );
};

const withoutLogin = (name: string): void => {
  const { current, logins } = readContexts();
  const others = logins.filter((login) => login.name !== name);
  writeContexts({ current: current === name ? undefined : current, logins: others });
};

/** Ends a login at its service, and removes it here. Where the service gives no answer, it stays. */
export const logOut = async (options: Where): Promise<void> => {
  const login = loginOf(options);
  const { name, url, person } = login;
  await endAt(login);
  withoutLogin(name);
  printResult(options, { context: name, url, ended: true }, `${person} is signed out at ${url}.`);
};

export const listContexts = (options: Json): void => {
  const { current, logins } = readContexts();
  const data = logins.map(({ token: _token, ...login }) => ({
    ...login,
    is_current: login.name === current,
  }));
  const rows = data.map(({ name, url, person, expires_at, is_current }) => [
    is_current ? '*' : '',
    name,
    url,
    person,
    expires_at,
  ]);
  printResult(
    options,
    { data },
    rows.length > 0
      ? formatTable([['', 'NAME', 'URL', 'PERSON', 'UNTIL'], ...rows])
      : `You are not signed in anywhere: ${LOGIN}`,
  );
};

export const useContext = (name: string, options: Json): void => {
  const { url, person } = loginOf({ context: name });
  writeContexts({ current: name, logins: readContexts().logins });
  printResult(options, { current: name, url }, `Commands act as ${person} at ${url}.`);
};

export const removeContext = (name: string, options: Json): void => {
  const { url } = loginOf({ context: name });
  withoutLogin(name);
  printResult(
    options,
    { removed: name, url },
    `The login at ${url} is removed from this machine. Its token still works: end it on ${url}/me.`,
  );
};
