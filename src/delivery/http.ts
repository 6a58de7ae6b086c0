/** HTTP requests to addresses that other people entered: no private network, and what an answer proves. */
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import ipaddr from 'ipaddr.js';
import type { DeliveryResult } from '#src/ports/delivery.ts';
import type { Clock } from '#src/ports/system.ts';

/** Resolves a name to all its addresses. Throws when it has none. */
type Resolve = (host: string) => Promise<LookupAddress[]>;

const systemResolve: Resolve = (host) => lookup(host, { all: true });

// The range that IANA allocates for the internet. Addresses outside it are not public, among them the
// deprecated forms that embed an IPv4 address (::127.0.0.1).
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** Reports whether an address is globally reachable: not private, local or an embedded IPv4 address. */
export const isPublic = (address: string): boolean => {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_IPV6);
};

/** The address, if the host of a URL is an IP address. */
const literalAddress = (hostname: string): LookupAddress | undefined => {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(bare);
  return family === 0 ? undefined : { address: bare, family };
};

const HTTPS_PORT = 443;
const HTTP_PORT = 80;
/** Lower ports belong to other services (ssh, mail, files). */
const UNPRIVILEGED_PORT_MIN = 1_024;

const LOCAL_NAME = /(?:^|\.)localhost\.?$/;

type RequestTarget = { url: URL; port: number; isPrivate: boolean };

/**
 * Checks the URL of a request; returns the reason when nothing may be sent there. Only `privateHosts`
 * (`host:port` as in URLs) may use plain HTTP and have private addresses.
 */
const checkTarget = (
  text: string,
  privateHosts: ReadonlySet<string>,
): RequestTarget | { fault: string } => {
  if (!URL.canParse(text)) return { fault: 'url_invalid' };
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return { fault: 'url_has_userinfo' };
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return { fault: 'scheme_not_allowed' };
  const port = Number(url.port) || (url.protocol === 'https:' ? HTTPS_PORT : HTTP_PORT);
  if (privateHosts.has(`${url.hostname}:${port}`)) return { url, port, isPrivate: true };
  if (url.protocol !== 'https:') return { fault: 'scheme_not_allowed' };
  if (port !== HTTPS_PORT && port < UNPRIVILEGED_PORT_MIN) return { fault: 'port_not_allowed' };
  // By RFC 6761 these names are this machine, whatever a resolver answers.
  if (LOCAL_NAME.test(url.hostname)) return { fault: 'address_not_public' };
  return { url, port, isPrivate: false };
};

/**
 * The reason why a request to this URL is refused before its host is resolved; undefined when only the resolved
 * addresses can tell.
 */
export const unresolvedFault = (
  text: string,
  privateHosts: ReadonlySet<string>,
): string | undefined => {
  const target = checkTarget(text, privateHosts);
  if ('fault' in target) return target.fault;
  const literal = literalAddress(target.url.hostname);
  return literal && !target.isPrivate && !isPublic(literal.address)
    ? 'address_not_public'
    : undefined;
};

type GuardedAnswer =
  /** A status arrived, so the receiver has had the request, whatever happened to the body. */
  | ({ kind: 'answer'; status: number; headers: IncomingHttpHeaders } & Body)
  /** The rules permit no request there. No socket was opened. */
  | { kind: 'forbidden'; reason: string }
  /** No byte of the request was written. */
  | { kind: 'unsent'; reason: string }
  /** Something was written, and no status arrived. */
  | { kind: 'lost'; reason: string };

type Body = { body: string; end: 'whole' | 'too_long' | 'broken' };

type OutgoingRequest = {
  method: 'GET' | 'POST';
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
};

type GuardedRequest = (outgoing: OutgoingRequest, signal: AbortSignal) => Promise<GuardedAnswer>;

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

const RETRY_AFTER_MS_MAX = 86_400_000;
/** Statuses by which the request was not processed and may be repeated. */
const RETRYABLE = new Set([408, 429, 503]);
const GONE = 410;

/** Retry-After in milliseconds from `now`, at most a day; undefined when it is absent or invalid. */
const retryAfterMs = (value: string | undefined, now: number): number | undefined => {
  if (value === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), RETRY_AFTER_MS_MAX);
};

type Answered = Extract<GuardedAnswer, { kind: 'answer' }>;

export type Failed = Exclude<DeliveryResult, { outcome: 'delivered' }>;

/** Returns what is certain without a 2xx status; undefined when there is one. */
export const failedDelivery = (answer: GuardedAnswer, now: number): Failed | undefined => {
  switch (answer.kind) {
    case 'forbidden':
      return { outcome: 'refused', reason: answer.reason };
    case 'unsent':
      return { outcome: 'retry', reason: answer.reason };
    case 'lost':
      return { outcome: 'unknown', reason: answer.reason };
    case 'answer':
      return failedStatus(answer, now);
  }
};

const failedStatus = ({ status, headers }: Answered, now: number): Failed | undefined => {
  const reason = `http_${status}`;
  if (status >= 200 && status < 300) return undefined;
  if (RETRYABLE.has(status)) {
    const wait = retryAfterMs(headers['retry-after'], now);
    return { outcome: 'retry', reason, ...(wait !== undefined && { retryAfterMs: wait }) };
  }
  if (status === GONE) return { outcome: 'refused', reason, disable: true };
  if (status >= 300 && status < 500) return { outcome: 'refused', reason };
  return { outcome: 'unknown', reason };
};

const SAFE_ID = /^[A-Za-z0-9._:-]{1,100}$/;

/** A receiver's id, if it is safe to store as evidence. */
export const safeId = (value: unknown): string | undefined =>
  typeof value === 'string' && SAFE_ID.test(value) ? value : undefined;

/** Parses a complete body; undefined when it is not JSON. */
export const answerJson = ({ body, end }: Answered): unknown => {
  if (end !== 'whole') return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
};
