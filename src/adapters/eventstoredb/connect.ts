/** Validation of the URL, the wait for the server at startup, and the identity of the log. */
import { randomBytes } from 'node:crypto';
import { type EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import { StartupError } from '#src/ports/startup-error.ts';
import { hostsOf } from '../hosts.ts';
import { openClient, serverVersion } from './client.ts';
import { failureOf, isWorthRepeating, noAnswer, textOf } from './failures.ts';
import type { Reads } from './reads.ts';
import { within, withRetries } from './retries.ts';
import type { Timing } from './timing.ts';

/** The name has no dash and the type begins with `$`, so neither belongs to an owner or to the log. */
const IDENTITY_STREAM = 'tributary_log';
const IDENTITY_TYPE = '$TributaryLog';
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
export const createClient = (url: string): EventStoreDBClient => {
  const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
  for (const name of new URLSearchParams(query).keys()) {
    const flat = name.toLowerCase().replaceAll(/[_-]/g, '');
    if (OPTIONS.some((option) => option.toLowerCase() === flat)) continue;
    throw new StartupError(
      `The option ${name} of the event log's URL is not supported. Supported: ${OPTIONS.join(', ')}.`,
    );
  }
  try {
    return openClient(url);
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

/** Reads the log's identity, and creates it on an empty server. */
const readIdentity = async (client: EventStoreDBClient, reads: Reads): Promise<string> => {
  const read = async (): Promise<string | undefined> => {
    const [first] = await reads.streamOnce(IDENTITY_STREAM, 0, 1);
    return (first?.data as { id?: string } | undefined)?.id;
  };
  const existing = await read();
  if (existing) return existing;
  // When two processes start on an empty server one append succeeds, and both read its result.
  const id = randomBytes(16).toString('hex');
  const event = jsonEvent({ type: IDENTITY_TYPE, data: { id } });
  await client
    .appendToStream(IDENTITY_STREAM, event, { expectedRevision: NO_STREAM, requiresLeader: true })
    .catch((error: unknown) => {
      if (failureOf(error) !== 'conflict') throw error;
    });
  const created = await read();
  if (!created) throw new Error('14 UNAVAILABLE: the identity of the log cannot be read yet');
  return created;
};

type Server = { url: string; client: EventStoreDBClient; reads: Reads; timing: Timing };

/**
 * Waits until the server answers, checks its version and the right to read `$all`, and resolves to
 * the log's identity. Throws StartupError within `startupMs`.
 */
export const awaitServer = async ({ url, client, reads, timing }: Server): Promise<string> => {
  const { startupMs: forMs, retryMs } = timing;
  const end = performance.now() + forMs;
  const late = noAnswer(forMs);
  let reason: unknown;
  const check = async (): Promise<string> => {
    await reads.probe();
    requireVersion(url, await serverVersion(client));
    await reads.head();
    return readIdentity(client, reads);
  };
  const onFailure = (error: unknown, isLast: boolean): void => {
    if (error instanceof StartupError) throw error;
    // An earlier error says more than the timeout. A timer can fire shortly before `end`.
    const isTimeout = error === late || performance.now() >= end;
    if (!isTimeout || reason === undefined) reason = error;
    if (isTimeout || isLast || !isWorthRepeating(failureOf(error)))
      throw new StartupError(adviceOn(url, reason), { cause: reason });
  };
  const attempt = () => within(Math.max(1, end - performance.now()), check(), late);
  return withRetries(attempt, { forMs, retryMs, onFailure });
};
