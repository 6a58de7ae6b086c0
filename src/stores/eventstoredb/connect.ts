/** Validation of the URL, and the wait for the server at startup. */
import type { EventStoreDBClient } from '@eventstore/db-client';
import { StartupError } from '#src/ports/startup-error.ts';
import type { LogMark, LogMemory } from '#src/stores/log-memory.ts';
import { timeLimit } from '#src/stores/time-limit.ts';
import { hostsOf } from '#src/system/hosts.ts';
import { type ConnectionHooks, openClient, serverVersion } from './client.ts';
import {
  failureOf,
  isWorthRepeating,
  noAnswer,
  textOf,
  type Timing,
  withRetries,
  TIMING,
} from './failures.ts';
import {
  describeReplacement,
  findLog,
  readOrCreateIdentity,
  type ReadOne,
  readIdentity,
} from './identity.ts';
import { Reads } from './reads.ts';

// The first version that reports when a subscription has caught up.
const SERVER_MIN = [23, 10] as const;

const OPTIONS = [
  'tls',
  'tlsCAFile',
  'userCertFile',
  'userKeyFile',
  'nodePreference',
  'maxDiscoverAttempts',
  'discoveryInterval',
  'gossipTimeout',
  'defaultDeadline',
  'keepAliveInterval',
  'keepAliveTimeout',
  'connectionName',
];
const FORM = 'esdb[+discover]://[user:password@]host[:port][,host…][?tls=false&…]';

/**
 * Creates the client. Throws StartupError, also for unknown options: the client would only print a
 * warning, with the whole URL and its password.
 */
export const createClient = (url: string, hooks: ConnectionHooks): EventStoreDBClient => {
  const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
  for (const name of new URLSearchParams(query).keys()) {
    const flat = name.toLowerCase().replaceAll(/[_-]/g, '');
    if (OPTIONS.some((option) => option.toLowerCase() === flat)) continue;
    throw new StartupError(
      `The option ${name} of the event log's URL is not supported. Supported: ${OPTIONS.join(', ')}.`,
    );
  }
  try {
    return openClient(url, hooks);
  } catch (error) {
    const text = textOf(error).replace(/\.$/, '');
    const reason = text.startsWith('Unexpected') ? `it is not ${FORM}` : text;
    const advice = /\bfile\b/i.test(text) ? ' Check the files that the URL names.' : '';
    throw new StartupError(
      `The event log's URL (${hostsOf(url)}) cannot be used: ${reason}.${advice}`,
    );
  }
};

/** Describes an error, and what the operator can check. */
const adviceOn = (url: string, error: unknown): string => {
  const text = textOf(error).replaceAll(/\s+/g, ' ').trim();
  const at = `EventStoreDB at ${hostsOf(url)}`;
  switch (failureOf(error)) {
    case 'denied':
      return (
        `${at} denies this user what the log needs (${text}). Check user and password in the URL, ` +
        'and that the user may read $all, and read and write the streams of owners.'
      );
    case 'foreign':
      return `The server at ${hostsOf(url)} is not EventStoreDB (${text}). Check host and port.`;
    case 'lost':
    case 'refused':
      if (/certificate|altnames/i.test(text))
        return (
          `${at} has a certificate that is not trusted (${text}). Check that tlsCAFile in the URL ` +
          'names the authority that signed it, and that it was issued for this host.'
        );
      return (
        `${at} does not answer (${text}). Check that it runs, that host and port are right, and ` +
        'that the URL says tls=false if, and only if, the server runs without TLS.'
      );
    default:
      return `${at} cannot be used: ${text}.`;
  }
};

const requireVersion = (url: string, version: string): void => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  // Builds without a release can have the number 0.
  if (!(major > 0) || major > SERVER_MIN[0]) return;
  if (major === SERVER_MIN[0] && minor >= SERVER_MIN[1]) return;
  throw new StartupError(
    `EventStoreDB at ${hostsOf(url)} is version ${version}; ${SERVER_MIN.join('.')} is needed.`,
  );
};

type Server = {
  url: string;
  client: EventStoreDBClient;
  reads: Reads;
  timing: Timing;
  memory: LogMemory;
};

/** Creates the identity of a log only where no log is remembered. Throws StartupError on another log. */
const identify = async ({ url, client, reads, memory }: Server): Promise<LogMark> => {
  const known = await memory.load();
  if (!known) return { id: await readOrCreateIdentity(client, reads), newest: null };
  const found = await findLog(known, (stream, revision) => reads.streamOnce(stream, revision, 1));
  if (found.isKnown) return known;
  throw new StartupError(describeReplacement({ url, names: memory.names }, known, found));
};

/**
 * Waits until the server answers, checks its version, the right to read `$all`, and that its log is the
 * remembered one. Resolves to its mark. Throws StartupError after `startupMs`.
 */
export const awaitServer = (server: Server): Promise<LogMark> =>
  awaitAnswer(server, () => identify(server));

/**
 * Waits until the server answers, checks its version and the right to read `$all`, and resolves to what `then` reads.
 * Throws StartupError after `startupMs`.
 */
export const awaitAnswer = async <T>(
  { url, client, reads, timing }: Omit<Server, 'memory'>,
  then: () => Promise<T>,
): Promise<T> => {
  const late = noAnswer(timing.startupMs);
  const limit = timeLimit(timing.startupMs, late);
  let reason: unknown;
  const check = async (): Promise<T> => {
    await reads.probe();
    requireVersion(url, await serverVersion(client));
    await reads.head();
    return then();
  };
  const onFailure = (error: unknown): void => {
    if (error instanceof StartupError) throw error;
    const isTimeout = error === late;
    // An earlier error says more than the timeout.
    if (!isTimeout || reason === undefined) reason = error;
    if (isTimeout || !isWorthRepeating(failureOf(error)))
      throw new StartupError(adviceOn(url, reason), { cause: reason });
  };
  const attempt = () => Promise.race([check(), limit.over]);
  const options = { forMs: Infinity, retryMs: timing.retryMs, onFailure };
  return withRetries(attempt, options).finally(() => limit.stop());
};

/** Identity of the log on the server, null if it has none; and whether it is the log of each mark. */
export type InspectedLog = { id: string | null; isKnown: boolean[] };

/**
 * Compares the log on the server with the marks of several places; a place may have none. Writes nothing. Throws StartupError
 * within five seconds when the server cannot be used.
 */
export const inspectLogServer = async (
  url: string,
  marks: readonly (LogMark | undefined)[],
): Promise<InspectedLog> => {
  const hooks = { onChanged: () => {}, beforeAppend: async () => {} };
  const client = createClient(url, hooks);
  const reads = new Reads(client, TIMING);
  const readOne: ReadOne = (stream, revision) => reads.streamOnce(stream, revision, 1);
  try {
    return await awaitAnswer({ url, client, reads, timing: TIMING }, async () => {
      const id = (await readIdentity(readOne)) ?? null;
      const isKnown: boolean[] = [];
      for (const mark of marks)
        isKnown.push(mark !== undefined && (await findLog(mark, readOne)).isKnown);
      return { id, isKnown };
    });
  } finally {
    await client.dispose();
  }
};
