/** How a command line comes to a session of a person, as with RFC 8628: it shows a code, which the person types on a page. */
import { LIMITS } from '#contracts/limits.ts';
import { DESK } from '#src/calls/audit.ts';
import type { DeskHandler, HolderHandler } from '#src/calls/desk-handler.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { NO_STREAM } from '#src/ports/event-log.ts';
import { openOne } from '#src/sealing/sealed-texts.ts';
import { isLinkAbout, linkToken, subjectOfLink } from '#src/sending/mail.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { networkText } from '#src/shared/client.ts';
import { done, type Outcome, refuse } from '#src/shared/outcome.ts';
import { iso, MINUTE_MS } from '#src/shared/time.ts';
import { attribute } from '#src/writing/attribution.ts';
import { decideAndAppend, issue, traceOf } from '#src/writing/decide-and-append.ts';
import { nameOf, stateOf, streamOf } from '#src/writing/streams.ts';
import { readPersonState } from './people.ts';
import { deviceLogin, type DeviceLoginState } from './session.decider.ts';
import { beginSession, SECRET_CHARS, sessionCredential, type UsedIn } from './sessions.ts';

/** Codes have consonants alone, so that they spell no word, and no letter is taken for a digit (RFC 8628, 6.1). */
const NOT_OF_CODES = /[^BCDFGHJKLMNPQRSTVWXZ]/g;
const CODE_CHARS = 8;

const newCode = (ids: Deps['ids']): string => {
  let code = '';
  // Each letter is equally likely.
  while (code.length < CODE_CHARS) code += ids.base62(CODE_CHARS).replaceAll(NOT_OF_CODES, '');
  return code.slice(0, CODE_CHARS);
};

const shownCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`;

/** The code in whatever spelling it was typed: without the line, in small or full-width letters, with spaces. */
const readCode = (typed: string): string =>
  typed
    .normalize('NFKC')
    .toUpperCase()
    .replaceAll(/[\s\p{Pd}]/gu, '');

/** Nobody who reads the log can find the code of a login: the service alone derives one from the other. */
const loginIdOf = ({ secrets }: Pick<Deps, 'secrets'>, code: string): string =>
  `dlg_${nameOf(secrets.mac('sign-in', `device-code:${code}`))}`;

const loginStream = (id: string): string => streamOf(DESK, 'login', id);

const LOGIN_MS = LIMITS.SIGN_IN_MINUTES * MINUTE_MS;

type BegunLogin = { device_code: string; user_code: string; interval: number; expires_in: number };

/** Begins a login. The device code is derived: nothing secret is stored. */
export const startDeviceLogin: HolderHandler<'startDeviceLogin', BegunLogin> = async (
  deps,
  { address, device },
  holderCall,
) => {
  const call = { ...holderCall, ownerId: DESK, actor: 'person' };
  for (;;) {
    const code = newCode(deps.ids);
    const login_id = loginIdOf(deps, code);
    const client = JSON.stringify({ device, place: networkText(address) } satisfies UsedIn);
    const sealed_client = (await deps.vault.seal(login_id, client)) ?? '';
    const data = { login_id, sealed_client, expires_at: call.at + LOGIN_MS };
    const appended = await deps.log.appendAll([
      {
        stream: loginStream(login_id),
        expected: NO_STREAM,
        events: attribute(call, [{ type: 'DeviceLoginStarted', data }], deps.ids),
      },
    ]);
    // Another login had this code before.
    if (appended.outcome === 'conflict') continue;
    return done(
      {
        device_code: linkToken(deps.secrets, { subject: login_id }),
        user_code: shownCode(code),
        interval: LIMITS.DEVICE_LOGIN_POLL_S,
        expires_in: LOGIN_MS / 1_000,
      },
      { position: appended.position },
    );
  }
};

/** The secret of the session of a login, which only the service can make, whenever its command line asks. */
const secretOf = ({ secrets }: Pick<Deps, 'secrets'>, loginId: string): string =>
  secrets.mac('sign-in', `device-session:${loginId}`).slice(0, SECRET_CHARS);

const NO_LOGIN = refuse('resource_not_found', 'There is no such login. Run tributary login again.');

type Polled = { status: 'pending' | 'denied' | 'expired' | 'allowed'; token?: string };

/** Answers how far a login is. One that was allowed in its last moment is answered afterwards, too. */
export const pollDeviceLogin: HolderHandler<'pollDeviceLogin', Polled> = async (
  deps,
  _input,
  { caller: { token }, at },
) => {
  const id = subjectOfLink(token);
  const state =
    id !== undefined && id.startsWith('dlg_') && isLinkAbout(deps.secrets, token, { subject: id })
      ? await stateOf(deps, { stream: loginStream(id), decider: deviceLogin })
      : undefined;
  if (!state) return NO_LOGIN;
  const { status, session_id, expires_at, login_id } = state;
  if (status === 'denied') return done({ status });
  if (status === 'allowed' && session_id !== undefined && at < expires_at + LOGIN_MS)
    return done({ status, token: sessionCredential(session_id, secretOf(deps, login_id)) });
  return done({ status: status === 'open' && at < expires_at ? 'pending' : 'expired' });
};

const NO_CODE = refuse(
  'resource_not_found',
  `No command line waits for this code. A code works once, for ${LIMITS.SIGN_IN_MINUTES} minutes.`,
);
const clientIn = async (
  { vault }: Pick<Deps, 'vault'>,
  { sealed_client }: DeviceLoginState,
): Promise<UsedIn> => {
  const text = await openOne(vault, sealed_client);
  return typeof text === 'string'
    ? (JSON.parse(text) as UsedIn)
    : { device: 'a machine', place: 'an unknown network' };
};

const render = async (deps: Deps, code: string, state: DeviceLoginState) => ({
  user_code: shownCode(code),
  status: state.status,
  ...(await clientIn(deps, state)),
  asked_at: iso(state.started_at),
  expires_at: iso(state.expires_at),
});

export const readDeviceLogin: DeskHandler<'readDeviceLogin'> = async (
  deps,
  { user_code },
  call,
) => {
  const code = readCode(user_code);
  const stream = loginStream(loginIdOf(deps, code));
  const state = await stateOf(deps, { stream, decider: deviceLogin });
  return state?.status === 'open' && call.at < state.expires_at
    ? done(await render(deps, code, state))
    : NO_CODE;
};

/** Makes the appends that start the session of the person who allows a login. */
const beginLogin = async (deps: Deps, call: DeskCall, state: DeviceLoginState) => {
  const holder = await readPersonState(deps, call.caller.id);
  if (!holder) throw new Error(`${call.caller.id} is signed in and no person`);
  return beginSession(deps, call, {
    person: holder,
    way: 'device',
    usedIn: 'command_line',
    client: await clientIn(deps, state),
    secret: secretOf(deps, state.login_id),
  });
};

const answerLogin = async (
  deps: Deps,
  call: DeskCall,
  { user_code, allows }: { user_code: string; allows: boolean },
): Promise<Outcome<Awaited<ReturnType<typeof render>>>> => {
  const code = readCode(user_code);
  const written = await decideAndAppend(deps, call, {
    stream: loginStream(loginIdOf(deps, code)),
    decider: deviceLogin,
    async command(state) {
      if (!state) return NO_CODE;
      const { at } = call;
      const personId = call.caller.id;
      if (!allows) return issue({ type: 'DenyLogin' as const, at, personId });
      const { sessionId, appends } = await beginLogin(deps, call, state);
      return issue({ type: 'AllowLogin' as const, at, personId, sessionId }, { claims: appends });
    },
  });
  if (!written.ok) return 'rejected' in written ? NO_CODE : written;
  return done(await render(deps, code, written.state), traceOf(written));
};

export const allowDeviceLogin: DeskHandler<'allowDeviceLogin'> = (deps, { user_code }, call) =>
  answerLogin(deps, call, { user_code, allows: true });

export const denyDeviceLogin: DeskHandler<'denyDeviceLogin'> = (deps, { user_code }, call) =>
  answerLogin(deps, call, { user_code, allows: false });
