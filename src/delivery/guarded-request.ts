import type { LookupAddress } from 'node:dns';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import type { Clock } from '#src/ports/system.ts';
import type { RequestTarget, Resolve } from './addresses.ts';
import { checkTarget, isPublic, literalAddress, systemResolve } from './addresses.ts';

export type GuardedAnswer =
  /** A status arrived, so the receiver has had the request, whatever happened to the body. */
  | ({ kind: 'answer'; status: number; headers: IncomingHttpHeaders } & Body)
  /** The rules permit no request there. No socket was opened. */
  | { kind: 'forbidden'; reason: string }
  /** No byte of the request was written. */
  | { kind: 'unsent'; reason: string }
  /** Something was written, and no status arrived. */
  | { kind: 'lost'; reason: string };

type Body = { body: string; end: 'whole' | 'too_long' | 'broken' };

export type OutgoingRequest = {
  method: 'GET' | 'POST';
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
};

export type GuardedRequest = (
  outgoing: OutgoingRequest,
  signal: AbortSignal,
) => Promise<GuardedAnswer>;

/** What a channel needs that sends HTTP requests. */
export type HttpChannelDeps = { request: GuardedRequest; clock: Pick<Clock, 'now'> };

export type GuardOptions = {
  /** `host:port` of the operator's own receivers, which may use plain HTTP and private addresses. */
  privateHosts: readonly string[];
  resolve?: Resolve;
  isAllowed?: (address: string) => boolean;
  /** Certificate authorities in place of the system's, PEM. */
  ca?: string;
  timeoutMs?: number;
  answerBytesMax?: number;
};

const TIMEOUT_MS = 15_000;
const ANSWER_BYTES_MAX = 65_536;
const HEADER_BYTES_MAX = 16_384;

/**
 * Sends HTTP requests to hosts that other people have named, each within `timeoutMs` (15 s): follows no
 * redirects, uses no proxies, connects only to addresses that were checked, limits time and size, and
 * reports after each failure whether anything was sent.
 */
export const guardedRequest =
  (options: GuardOptions): GuardedRequest =>
  async (outgoing, outer) => {
    const { privateHosts, timeoutMs = TIMEOUT_MS } = options;
    const target = checkTarget(outgoing.url, new Set(privateHosts));
    if ('fault' in target) return { kind: 'forbidden', reason: target.fault };
    const signal = AbortSignal.any([outer, AbortSignal.timeout(timeoutMs)]);
    const addresses = await resolveAllowed(target, options, signal);
    if ('kind' in addresses) return addresses;
    return send(outgoing, { target, addresses, options, signal });
  };

/** Resolves the host once; all of its addresses must be allowed, because an attacker chooses the order. */
const resolveAllowed = async (
  { url, isPrivate }: RequestTarget,
  { resolve = systemResolve, isAllowed = isPublic }: GuardOptions,
  signal: AbortSignal,
): Promise<LookupAddress[] | GuardedAnswer> => {
  const literal = literalAddress(url.hostname);
  let addresses: LookupAddress[];
  try {
    addresses = literal ? [literal] : await orAborted(resolve(url.hostname), signal);
  } catch {
    return { kind: 'unsent', reason: signal.aborted ? 'timeout' : 'dns_failed' };
  }
  if (addresses.length === 0) return { kind: 'unsent', reason: 'dns_failed' };
  if (!isPrivate && !addresses.every(({ address }) => isAllowed(address)))
    return { kind: 'forbidden', reason: 'address_not_public' };
  return addresses;
};

const orAborted = <Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> =>
  new Promise((resolve, reject) => {
    const abort = (): void => reject(new Error('aborted'));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });

/** Answers with the addresses that were checked, so that a second lookup cannot differ. */
const pinned =
  (addresses: readonly LookupAddress[]): LookupFunction =>
  (_host, { all }, callback) => {
    const [first] = addresses;
    if (all) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };

type Sending = {
  target: RequestTarget;
  addresses: readonly LookupAddress[];
  options: GuardOptions;
  signal: AbortSignal;
};

const send = (outgoing: OutgoingRequest, sending: Sending): Promise<GuardedAnswer> =>
  new Promise((resolve) => {
    const { options, signal } = sending;
    const progress = { isConnected: false, isWritten: false, isAnswered: false };
    const request = open(outgoing, sending);
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
        progress.isConnected = true;
      });
      // Writes nothing before, so that earlier failures are certain to have sent nothing.
      socket.once(sending.target.url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        progress.isWritten = true;
        request.end(outgoing.body);
      });
    });
    const broken = (): void => {
      // After the status, the reader of the body handles failures.
      if (progress.isAnswered) return;
      if (progress.isWritten) fail('connection_lost');
      else fail(progress.isConnected ? 'tls_failed' : 'connect_failed');
    };
    request.on('error', broken);
    request.on('close', broken);
    request.on('response', (response) => {
      progress.isAnswered = true;
      signal.removeEventListener('abort', abort);
      const { statusCode: status = 0, headers } = response;
      void readBody(response, options.answerBytesMax ?? ANSWER_BYTES_MAX, signal).then((body) =>
        settle({ kind: 'answer', status, headers, ...body }),
      );
    });
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });

const open = (
  { method, headers, body }: OutgoingRequest,
  { target: { url, port }, addresses, options }: Sending,
): ClientRequest => {
  const request = url.protocol === 'http:' ? httpRequest : httpsRequest;
  return request({
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
    // A new socket, which no other request has used and no proxy setting affects.
    agent: false,
    lookup: pinned(addresses),
    maxHeaderSize: HEADER_BYTES_MAX,
    ...(options.ca !== undefined && { ca: options.ca }),
  });
};

/** Reads at most `bytesMax`. Never rejects: the status has arrived, whatever happens to the body. */
const readBody = async (
  response: IncomingMessage,
  bytesMax: number,
  signal: AbortSignal,
): Promise<Body> => {
  const chunks: Buffer[] = [];
  const body = (end: Body['end']): Body => ({ body: Buffer.concat(chunks).toString('utf8'), end });
  let bytes = 0;
  try {
    for await (const chunk of addAbortSignal(signal, response)) {
      bytes += (chunk as Buffer).length;
      if (bytes > bytesMax) return body('too_long');
      chunks.push(chunk as Buffer);
    }
    return body(response.complete ? 'whole' : 'broken');
  } catch {
    return body('broken');
  }
};
