/** Checks that every request must pass before it is routed. */
import type { IncomingMessage } from 'node:http';
import { LIMITS } from '#contracts/limits.ts';
import { CREDENTIAL_PATTERN } from '#src/calls/authenticate.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';

const METHODS = new Set(['GET', 'HEAD', 'POST', 'OPTIONS', 'PUT', 'PATCH', 'DELETE']);

/** A name, an IPv4 address or an IPv6 address in brackets, and a port (RFC 9110, 7.2). */
const HOST = /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(?::\d{0,5})?$/i;

/** Why a request cannot be handled at all; undefined when it can. */
export const faultOfRequest = (request: IncomingMessage): Refusal | undefined => {
  const { method = '', url = '', headers, rawHeaders } = request;
  if (request.httpVersionMajor !== 1) return refuse('malformed_request', 'Use HTTP/1.1.');
  if (!METHODS.has(method)) return refuse('malformed_request', 'The method is not supported.');
  const repeated = repeatedHeader(rawHeaders);
  if (repeated !== undefined) return refuse('malformed_request', `Send exactly one ${repeated}.`);
  if (headers.host === undefined && request.httpVersion === '1.1')
    return refuse('malformed_request', 'Send exactly one Host.');
  if (headers.host !== undefined && !HOST.test(headers.host))
    return refuse('malformed_request', 'The Host is not a host name or address with a port.');
  if (url.length > LIMITS.URL_BYTES_MAX)
    return refuse('uri_too_long', `The URL has more than ${LIMITS.URL_BYTES_MAX} bytes.`);
  if (CREDENTIAL_PATTERN.test(decoded(url)))
    return refuse('credential_in_url', 'URLs are logged and shared. Treat this key as leaked.');
  if (!isReadable(url))
    return refuse('malformed_request', 'The query contains an escape that is not UTF-8.');
  const { expect } = headers;
  if (expect !== undefined && expect.trim().toLowerCase() !== '100-continue')
    return refuse('malformed_request', 'The only supported expectation is 100-continue.');
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    return refuse('unsupported_media_type', 'Content encodings are not supported.');
  return undefined;
};

/** Node uses the first of these when they are repeated, and another program may use the last. */
const ONCE = ['Host', 'Authorization', 'Content-Type'] as const;

const timesOf = (rawHeaders: readonly string[], name: string): number => {
  let times = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i] ?? '';
    if (sent.length === name.length && sent.toLowerCase() === name.toLowerCase()) times += 1;
  }
  return times;
};

const repeatedHeader = (rawHeaders: readonly string[]): string | undefined =>
  ONCE.find((name) => timesOf(rawHeaders, name) > 1);

/** Pages accept any query, which people type and mailers extend. */
const CALLS = '/api/';

/** Whether the escapes of the query are UTF-8. The router checks those of the path. */
const isReadable = (url: string): boolean => {
  const at = url.indexOf('?');
  if (at < 0 || !url.includes('%', at) || !url.startsWith(CALLS)) return true;
  try {
    decodeURIComponent(url.slice(at));
    return true;
  } catch {
    return false;
  }
};

/** Unescapes each escape of a URL by itself, so that a wrong one does not hide the others. */
export const decoded = (url: string): string =>
  !url.includes('%')
    ? url
    : url.replaceAll(/%([0-9a-f]{2})/gi, (_escape, hex: string) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      );
