/** Sessions of people: started after a way in, used, listed and ended. */
import type { SessionRecord } from '#contracts/people/records.ts';
import { LIMITS } from '#contracts/limits.ts';
import { DESK } from '#src/calls/audit.ts';
import { areEqual, endOfSession, mintCredential, sessionIdIn } from '#src/calls/authenticate.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import { type Deps, systemCall } from '#src/calls/handlers.ts';
import { SYSTEM_TOKEN } from '#src/calls/rules.ts';
import { idAtDesk } from '#src/access/independence.ts';
import { type Append, LogUnavailable, NO_STREAM } from '#src/ports/event-log.ts';
import { accessScope, type SessionRow } from '#src/ports/rows.ts';
import { listing } from '#src/reading/lists.ts';
import { openOne, openTexts, shownText } from '#src/sealing/sealed-texts.ts';
import type { Call, DeskCall, DeskCaller } from '#src/shared/call.ts';
import { networkText } from '#src/shared/client.ts';
import { done, refuse, Refused } from '#src/shared/outcome.ts';
import { DAY_MS, iso, MINUTE_MS, renderAsOf } from '#src/shared/time.ts';
import { attribute } from '#src/writing/attribution.ts';
import { decideAndAppend, issue, traceOf } from '#src/writing/decide-and-append.ts';
import { stateOf, streamOfPerson, streamOfSession, streamOfToken } from '#src/writing/streams.ts';
import type { PersonState } from './person.decider.ts';
import { readPersonState } from './people.ts';
import { session, type SessionState } from './session.decider.ts';

const ID_CHARS = 12;
export const SECRET_CHARS = 43;

/** Where a session is used: the client's address, or its network in words, and what the client calls itself. */
export type UsedFrom = { address: string; device: string };
export type UsedIn = { place: string; device: string };

type Way = SessionRow['way'];
type Beginning = {
  person: PersonState;
  way: Way;
  usedIn: SessionRow['used_in'];
  client: UsedFrom | UsedIn;
  /** The credential of the session that the browser had: it ends. */
  replaces?: string | undefined;
  /** What the credential is made of, where it must be made again later; otherwise a new random one. */
  secret?: string;
  /** Follows from what the browser was asked, so that a second answer finds the session of the first; otherwise random. */
  sessionId?: string | undefined;
};

/** `secret`: 43 characters. */
export const sessionCredential = (sessionId: string, secret: string): string =>
  mintCredential('trbs', sessionId, secret);

/** A session that the appends start: its credential is in nothing that is stored. */
export type BegunSession = {
  appends: Append[];
  sessionId: string;
  credential: string;
  /** The call as one of the person, for the events of the sign-in. */
  call: Call;
};

/** Only the person's own records can be compared by it. */
const placeKey = ({ secrets }: Pick<Deps, 'secrets'>, personId: string, place: string): string =>
  secrets.mac('session', `place:${personId}:${place}`).slice(0, 16);

const sealClient = async (
  deps: Pick<Deps, 'secrets' | 'vault'>,
  { person_id, sealed_for }: Pick<PersonState, 'person_id' | 'sealed_for'>,
  client: UsedFrom | UsedIn,
) => {
  const { device } = client;
  const place = 'place' in client ? client.place : networkText(client.address);
  // Where the mailbox is erased, so is this.
  const sealed = await deps.vault.seal(sealed_for, JSON.stringify({ device, place }));
  return { sealed_client: sealed ?? '', place_key: placeKey(deps, person_id, place) };
};

/** Reads the session of a credential that the browser holds; undefined unless it is one. */
const sessionOf = async (
  deps: Pick<Deps, 'log' | 'secrets'>,
  credential: string | undefined,
): Promise<{ state: SessionState; stream: string } | undefined> => {
  const id = credential && sessionIdIn(credential);
  if (!credential || !id) return undefined;
  const stream = streamOfSession(id);
  const state = await stateOf(deps, { stream, decider: session });
  const isOurs = state && areEqual(deps.secrets.mac('session', credential), state.hash);
  return isOurs ? { state, stream } : undefined;
};

const ended = (
  { state, stream }: { state: SessionState; stream: string },
  { call, ids }: { call: Call; ids: Deps['ids'] },
): Append[] => {
  const decision = session.decide(state, { type: 'EndSession', by: 'replaced' });
  return decision.accepted && decision.events.length > 0
    ? [{ stream, expected: state.version, events: attribute(call, decision.events, ids) }]
    : [];
};

/**
 * Makes the appends of a new session, which a sign-in stores together with what proves the person: the session, the joining
 * of an invited person, and the end of the session that it replaces. A browser gets a new session at each sign-in, so that
 * one that somebody planted there is worth nothing.
 */
export const beginSession = async (
  deps: Pick<Deps, 'log' | 'ids' | 'secrets' | 'vault'>,
  holderCall: Call,
  {
    person,
    way,
    usedIn,
    client,
    replaces,
    sessionId = deps.ids.base62(ID_CHARS),
    secret = deps.ids.base62(SECRET_CHARS),
  }: Beginning,
): Promise<BegunSession> => {
  const { person_id, status, version } = person;
  const credential = sessionCredential(sessionId, secret);
  const call = { ...holderCall, ownerId: DESK, actor: `desk:${person_id}`, session: sessionId };
  const days = usedIn === 'browser' ? LIMITS.SESSION_DAYS : LIMITS.LOGIN_DAYS;
  const started = {
    session_id: sessionId,
    person_id,
    used_in: usedIn,
    way,
    hash: deps.secrets.mac('session', credential),
    expires_at: call.at + days * DAY_MS,
    rights: person.rights,
    ...(await sealClient(deps, person, client)),
  };
  const start = attribute(call, [{ type: 'SessionStarted', data: started }], deps.ids);
  const join = attribute(call, [{ type: 'PersonJoined', data: { person_id } }], deps.ids);
  const replaced = await sessionOf(deps, replaces);
  return {
    appends: [
      ...(status === 'invited'
        ? [{ stream: streamOfPerson(person_id), expected: version, events: join }]
        : []),
      ...(replaced ? ended(replaced, { call, ids: deps.ids }) : []),
      { stream: streamOfSession(sessionId), expected: NO_STREAM, events: start },
    ],
    sessionId,
    credential,
    call,
  };
};

const USE_RECORDED_MS = 30 * MINUTE_MS;

/** A use of a session. Without a device, it is the one that the session had: that of a command line never changes. */
export type NotedUse = Pick<UsedFrom, 'address'> & Partial<UsedFrom>;

/**
 * Records that a session is used, once in a while and for each new place. A place is noted and never refused: people move. A
 * log that cannot be written does not stop the page.
 */
export const noteUse = async (
  deps: Deps,
  { id: personId, session: used }: DeskCaller,
  { address, device }: NotedUse,
): Promise<void> => {
  const row = used && deps.credentials.session(used.id);
  const holder = row && deps.credentials.person(personId);
  if (!row || !holder) return;
  const key = placeKey(deps, personId, networkText(address));
  if (row.places.includes(key) && deps.clock.now() < row.used_at + USE_RECORDED_MS) return;
  const act = { ownerId: DESK, signal: new AbortController().signal };
  const call = {
    ...systemCall(deps, 'noteSession', act),
    actor: `desk:${personId}`,
    session: row.session_id,
  };
  try {
    await decideAndAppend(deps, call, {
      stream: streamOfSession(row.session_id),
      decider: session,
      async command() {
        const used = { address, device: device ?? (await deviceIn(deps, row)) };
        const client = await sealClient(deps, holder, used);
        return issue({ type: 'UseSession' as const, client });
      },
    });
  } catch (error) {
    if (!(error instanceof LogUnavailable || error instanceof Refused)) throw error;
  }
};

const deviceIn = async (
  { vault }: Pick<Deps, 'vault'>,
  { sealed_client }: SessionRow,
): Promise<string> => {
  const opened = await openOne(vault, sealed_client);
  return typeof opened === 'string' ? (JSON.parse(opened) as UsedIn).device : shownText(opened);
};

const renderSessions = async (
  { vault }: Pick<Deps, 'vault'>,
  rows: readonly SessionRow[],
  { caller }: DeskCall,
): Promise<SessionRecord[]> => {
  const open = await openTexts(
    vault,
    rows.map(({ sealed_client }) => sealed_client),
  );
  return rows.map((row) => {
    const opened = open(row.sealed_client);
    const shown =
      typeof opened === 'string'
        ? (JSON.parse(opened) as { device: string; place: string })
        : { device: shownText(opened), place: shownText(opened) };
    return {
      id: row.session_id,
      used_in: row.used_in,
      way: row.way,
      ...shown,
      places: row.places.length,
      started_at: iso(row.started_at),
      used_at: iso(row.used_at),
      expires_at: iso(endOfSession(row)),
      is_current: row.session_id === caller.session?.id,
    };
  });
};

const SESSIONS_AT_ONCE = 100;

/** The sessions of a person that still work, newest first. Reads all that the person ever had. */
const liveSessions = async (
  { readModels, credentials }: Pick<Deps, 'readModels' | 'credentials'>,
  personId: string,
  at: number,
): Promise<SessionRow[]> => {
  const live: SessionRow[] = [];
  const query = { scope: accessScope(personId, 'session'), limit: SESSIONS_AT_ONCE };
  const rights = credentials.person(personId)?.rights;
  for await (const page of listing<SessionRow>(readModels, 'access', query)) {
    const rows = page.map(({ row }) => row);
    live.push(
      ...rows.filter(
        (row) => row.status === 'active' && row.rights === rights && endOfSession(row) > at,
      ),
    );
    // Sessions last at most so long, and begin in order.
    if (rows.some(({ started_at }) => started_at < at - LIMITS.LOGIN_DAYS * DAY_MS)) break;
  }
  return live;
};

export const listSessions: DeskHandler<'listSessions'> = async (deps, _input, call) => {
  const rows = await liveSessions(deps, call.caller.id, call.at);
  return done({
    data: await renderSessions(deps, rows, call),
    as_of: renderAsOf(deps.following.asOf()),
  });
};

const NO_SESSION = refuse('resource_not_found', 'You have no such session.');

export const endSession: DeskHandler<'endSession'> = async (deps, { session_id: id }, call) => {
  const stream = streamOfSession(id);
  const by = call.caller.session?.id === id ? ('sign_out' as const) : ('person' as const);
  const written = await decideAndAppend(deps, call, {
    stream,
    decider: session,
    command: (state) =>
      state?.person_id === call.caller.id ? issue({ type: 'EndSession' as const, by }) : NO_SESSION,
  });
  if ('rejected' in written) return NO_SESSION;
  return written.ok ? done({ id, ended: true as const }, traceOf(written)) : written;
};

/** Whether a token is that of the machine: nobody at the desk issued it. */
const isMachine = async ({ log }: Pick<Deps, 'log'>, tokenId: string): Promise<boolean> => {
  // A process that reads its own files.
  if (tokenId === SYSTEM_TOKEN) return true;
  const [issued] = await log.readStream(streamOfToken(tokenId));
  return issued !== undefined && idAtDesk(issued.meta.actor) === SYSTEM_TOKEN;
};

export const whoAmI: DeskHandler<'whoAmI'> = async (deps, _input, call) => {
  const { id, name, roles, owners = [], session: used } = call.caller;
  const row = used && deps.credentials.session(used.id);
  const state = used && (await readPersonState(deps, id));
  const [shown] = row ? await renderSessions(deps, [row], call) : [];
  const open = await openTexts(
    deps.vault,
    (state?.passkeys ?? []).map(({ sealed_name }) => sealed_name),
  );
  const isToken = used === undefined;
  const actsAs = isToken ? ((await isMachine(deps, id)) ? 'machine' : 'token') : 'person';
  return done({
    acts_as: actsAs,
    id,
    name,
    roles: [...roles],
    owners: [...owners],
    ...(shown && { session: shown }),
    passkeys: (state?.passkeys ?? []).map(({ passkey_id, sealed_name, refused_at }) => ({
      id: passkey_id,
      name: shownText(open(sealed_name)),
      ...(refused_at !== undefined && { refused_at: iso(refused_at) }),
    })),
    accounts: (state?.accounts ?? []).map(({ issuer }) => ({ issuer })),
  });
};

/** A session that was started, for the page that sets its cookie. */
export type StartedSession = {
  credential: string;
  name: string;
  /** The page to go on with. */
  to?: string | undefined;
};
