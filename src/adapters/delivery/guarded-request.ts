/**
 * One HTTP request to a host that somebody else has named: no redirects, no proxies, no address that
 * was not looked at, an end to time and size, and at each end a word on whether anything was sent.
 */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import type { Address, Resolve, Target } from './addresses.ts';
import { isPublic, literalOf, systemResolve, targetOf } from './addresses.ts';

export type GuardedAnswer =
  /** A status came, so the receiver has had the request, whatever became of the body. */
  | ({ kind: 'answer'; status: number; headers: IncomingHttpHeaders } & Body)
  /** Nothing may go there. No socket was opened. */
  | { kind: 'forbidden'; reason: string }
  /** Not a byte of the request was written. */
  | { kind: 'unsent'; reason: string }
  /** Something was written, and no status came back. */
  | { kind: 'lost'; reason: string };

type Body = { body: string; end: 'whole' | 'too_long' | 'broken' };

export type Asked = {
  method: 'GET' | 'POST';
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
};

export type GuardedRequest = (asked: Asked, signal: AbortSignal) => Promise<GuardedAnswer>;

export type GuardOptions = {
  /** `host:port` of receivers inside the house: plain HTTP and private addresses are theirs alone. */
  privateHosts: readonly string[];
  resolve?: Resolve;
  isAllowed?: (address: string) => boolean;
  /** Certificate authorities instead of the system's, PEM. */
  ca?: string;
  timeoutMs?: number;
  answerBytesMax?: number;
};

const TIMEOUT_MS = 15_000;
const ANSWER_BYTES_MAX = 65_536;
const HEADER_BYTES_MAX = 16_384;

/** A guard with its settings; each call is one request, within `timeoutMs` (15 s). */
export const guardedRequest =
  (options: GuardOptions): GuardedRequest =>
  async (asked, outer) => {
    const { privateHosts, timeoutMs = TIMEOUT_MS } = options;
    const target = targetOf(asked.url, new Set(privateHosts));
    if ('fault' in target) return { kind: 'forbidden', reason: target.fault };
    const signal = AbortSignal.any([outer, AbortSignal.timeout(timeoutMs)]);
    const found = await addressesOf(target, options, signal);
    if ('kind' in found) return found;
    return send(asked, { target, addresses: found.addresses, options, signal });
  };

/** Resolves once, and lets none through unless all may pass: an attacker chooses the order. */
const addressesOf = async (
  { url, isPrivate }: Target,
  { resolve = systemResolve, isAllowed = isPublic }: GuardOptions,
  signal: AbortSignal,
): Promise<{ addresses: Address[] } | GuardedAnswer> => {
  const literal = literalOf(url.hostname);
  let addresses: Address[];
  try {
    addresses = literal ? [literal] : await orAborted(resolve(url.hostname), signal);
  } catch {
    return { kind: 'unsent', reason: signal.aborted ? 'timeout' : 'dns_failed' };
  }
  if (addresses.length === 0) return { kind: 'unsent', reason: 'dns_failed' };
  if (!isPrivate && !addresses.every(({ address }) => isAllowed(address)))
    return { kind: 'forbidden', reason: 'address_not_public' };
  return { addresses };
};

const orAborted = <Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> =>
  new Promise((resolve, reject) => {
    const abort = (): void => reject(new Error('aborted'));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });

/** Answers with what was looked at, so that a name which means something else by now changes nothing. */
const pinned =
  (addresses: readonly Address[]): LookupFunction =>
  (_host, { all }, callback) => {
    const [first] = addresses;
    if (all) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };

type Sending = {
  target: Target;
  addresses: readonly Address[];
  options: GuardOptions;
  signal: AbortSignal;
};

const send = (asked: Asked, sending: Sending): Promise<GuardedAnswer> =>
  new Promise((resolve) => {
    const { options, signal } = sending;
    const progress = { isOpen: false, isWritten: false, isAnswered: false };
    const request = open(asked, sending);
    const settle = (answer: GuardedAnswer): void => {
      signal.removeEventListener('abort', abort);
      resolve(answer);
      request.destroy();
    };
    const fail = (reason: string): void =>
      settle({ kind: progress.isWritten ? 'lost' : 'unsent', reason });
    const abort = (): void => fail('timeout');
    request.on('socket', (socket: Socket) => {
      socket.once('connect', () => {
        progress.isOpen = true;
      });
      // Held back until here, so that what failed before has certainly not been sent.
      socket.once(sending.target.url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        progress.isWritten = true;
        request.end(asked.body);
      });
    });
    const broken = (): void => {
      // A status is a status: whatever breaks after it, the body's reader sees.
      if (progress.isAnswered) return;
      if (progress.isWritten) fail('connection_lost');
      else fail(progress.isOpen ? 'tls_failed' : 'connect_failed');
    };
    request.on('error', broken);
    request.on('close', broken);
    request.on('response', (response) => {
      progress.isAnswered = true;
      signal.removeEventListener('abort', abort);
      const { statusCode: status = 0, headers } = response;
      readBody(response, { max: options.answerBytesMax ?? ANSWER_BYTES_MAX, signal }, (read) =>
        settle({ kind: 'answer', status, headers, ...read }),
      );
    });
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });

const open = (
  { method, headers, body }: Asked,
  { target: { url, port }, addresses, options }: Sending,
): ClientRequest => {
  const common = {
    method,
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port,
    path: `${url.pathname}${url.search}`,
    headers: {
      ...headers,
      host: url.host,
      'accept-encoding': 'identity',
      ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
    },
    // A socket of its own, that no other host's request has used and no proxy setting reaches.
    agent: false,
    lookup: pinned(addresses),
    maxHeaderSize: HEADER_BYTES_MAX,
  };
  if (url.protocol === 'http:') return httpRequest(common);
  return httpsRequest({ ...common, ...(options.ca !== undefined && { ca: options.ca }) });
};

/** At most `max` bytes; whatever goes wrong on the way, the status has been said. */
const readBody = (
  response: IncomingMessage,
  { max, signal }: { max: number; signal: AbortSignal },
  done: (read: Body) => void,
): void => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const finish = (end: Body['end']): void => {
    signal.removeEventListener('abort', cut);
    done({ body: Buffer.concat(chunks).toString('utf8'), end });
  };
  const cut = (): void => finish('broken');
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > max) finish('too_long');
    else chunks.push(chunk);
  });
  response.on('end', () => finish(response.complete ? 'whole' : 'broken'));
  response.on('error', cut);
  response.on('close', cut);
  if (signal.aborted) cut();
  else signal.addEventListener('abort', cut, { once: true });
};
