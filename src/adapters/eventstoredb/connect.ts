/** The way to the server: what the URL must be, whether the server answers, and which log it is. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import { StartupError } from '#src/ports/startup-error.ts';
import { hostsOf } from '../hosts.ts';
import { openClient, serverVersion } from './client.ts';
import { failureOf, isWorthRepeating, noAnswer, textOf } from './failures.ts';
import type { Reads } from './reads.ts';
import { type Timing, waits } from './timing.ts';

/** No dash, so no owner's; its type begins with `$`, so it is never an event of the log. */
const IDENTITY_STREAM = 'tributary_log';
const IDENTITY_TYPE = '$TributaryLog';
// The first that says when a subscription has caught up.
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
 * Throws StartupError. What the client would only warn of, quoting the whole URL with its password,
 * is refused here.
 */
export const clientOf = (url: string): EventStoreDBClient => {
  const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
  for (const name of new URLSearchParams(query).keys()) {
    const flat = name.toLowerCase().replaceAll(/[_-]/g, '');
    if (OPTIONS.some((option) => option.toLowerCase() === flat)) continue;
    throw new StartupError(
      `The option ${name} of the event log's URL is not known here; ${OPTIONS.join(', ')} are.`,
    );
  }
  try {
    return openClient(url);
  } catch (error) {
    const text = textOf(error).replace(/\.$/, '');
    const reason = text.startsWith('Unexpected') ? `it is not ${FORM}` : text;
    const advice = /\bfile\b/i.test(text) ? ' Check the files that it names.' : '';
    throw new StartupError(
      `The event log's URL (${hostsOf(url)}) cannot be used: ${reason}.${advice}`,
    );
  }
};

/** What to look at, by what was answered. */
const adviceOn = (url: string, error: unknown): string => {
  const text = textOf(error).replaceAll(/\s+/g, ' ').trim();
  const at = `EventStoreDB at ${hostsOf(url)}`;
  switch (failureOf(error)) {
    case 'denied':
      return (
        `${at} denies this user what the log needs (${text}). Check user and password in the URL, ` +
        'and that its group may read $all and read and write the streams of owners.'
      );
    case 'foreign':
      return `What answers at ${hostsOf(url)} is not EventStoreDB (${text}). Check host and port.`;
    case 'lost':
    case 'refused':
      if (/certificate|altnames/i.test(text))
        return (
          `${at} shows a certificate that is not trusted here (${text}). Check that tlsCAFile in the ` +
          'URL names the authority that signed it, and that it is made for this host.'
        );
      return (
        `${at} does not answer (${text}). Check that it runs, that host and port are right, and ` +
        'that the URL says tls=false exactly where the server runs without TLS.'
      );
    default:
      return `${at} cannot be used: ${text}.`;
  }
};

const requireVersion = (url: string, version: string): void => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  // Who builds a server without a release may leave its number at 0.
  if (!(major > 0) || major > SERVER_MIN[0]) return;
  if (major === SERVER_MIN[0] && minor >= SERVER_MIN[1]) return;
  throw new StartupError(
    `EventStoreDB at ${hostsOf(url)} is version ${version}; ${SERVER_MIN.join('.')} is needed.`,
  );
};

const identity = async (client: EventStoreDBClient, reads: Reads): Promise<string> => {
  const id = randomBytes(16).toString('hex');
  const event = jsonEvent({ type: IDENTITY_TYPE, data: { id } });
  const read = async (): Promise<string | undefined> => {
    const [first] = await reads.streamOnce(IDENTITY_STREAM, 0, 1);
    return (first?.data as { id?: string } | undefined)?.id;
  };
  const known = await read();
  if (known) return known;
  // Of two processes that start on an empty server one is first, and both read which.
  await client
    .appendToStream(IDENTITY_STREAM, event, { expectedRevision: NO_STREAM, requiresLeader: true })
    .catch((error: unknown) => {
      if (failureOf(error) !== 'conflict') throw error;
    });
  const made = await read();
  if (!made) throw new Error('14 UNAVAILABLE: the identity of the log cannot be read yet');
  return made;
};

/**
 * The log's identity, once the server answers, tells its version, lets us read `$all` and has an
 * identity. Throws StartupError within `startupMs`.
 */
export const awaitServer = async (
  url: string,
  client: EventStoreDBClient,
  reads: Reads,
  timing: Timing,
): Promise<string> => {
  const until = performance.now() + timing.startupMs;
  const pauses = waits(timing.retryMs);
  const attempt = async (): Promise<string> => {
    await reads.probe();
    requireVersion(url, await serverVersion(client));
    await reads.head();
    return identity(client, reads);
  };
  const tooLate = noAnswer(timing.startupMs);
  let last: unknown;
  for (;;) {
    const left = Math.max(1, until - performance.now());
    const timer = new AbortController();
    const late = delay(left, undefined, { signal: timer.signal }).then(() => {
      throw tooLate;
    });
    try {
      return await Promise.race([attempt(), late]);
    } catch (error) {
      if (error instanceof StartupError) throw error;
      // The reason before the time was over says more than that it is over. The timer says when that
      // is: it may go off a moment before the clock says so.
      const over = error === tooLate || performance.now() >= until;
      if (!over || last === undefined) last = error;
      const pause = pauses.next();
      if (over || performance.now() + pause >= until || !isWorthRepeating(failureOf(error)))
        throw new StartupError(adviceOn(url, last), { cause: last });
      await delay(pause);
    } finally {
      timer.abort();
      late.catch(() => {});
    }
  }
};
