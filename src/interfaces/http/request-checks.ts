/** What every request must be before anything looks at what it asks for. */
import type { IncomingMessage } from 'node:http';
import { LIMITS } from '#contracts/limits.ts';
import { CREDENTIAL_PATTERN } from '#src/app/pipeline/authenticate.ts';
import { type Refusal, refuse } from '#src/app/pipeline/outcome.ts';

const METHODS = new Set(['GET', 'HEAD', 'POST', 'OPTIONS', 'PUT', 'PATCH', 'DELETE']);

/** Why a request is none that may pass to any route; undefined when it is sound. */
export const unsound = (request: IncomingMessage): Refusal | undefined => {
  const { method = '', url = '', headers, rawHeaders } = request;
  if (request.httpVersionMajor !== 1) return refuse('malformed_request', 'Speak HTTP/1.1.');
  if (!METHODS.has(method)) return refuse('malformed_request', 'The method is not one of ours.');
  const twice = givenTwice(rawHeaders);
  if (twice !== undefined) return refuse('malformed_request', `Send exactly one ${twice}.`);
  if (headers.host === undefined && request.httpVersion === '1.1')
    return refuse('malformed_request', 'Send exactly one Host.');
  if (url.length > LIMITS.URL_BYTES_MAX)
    return refuse('uri_too_long', `The URL has more than ${LIMITS.URL_BYTES_MAX} bytes.`);
  if (CREDENTIAL_PATTERN.test(decoded(url)))
    return refuse('credential_in_url', 'URLs are logged and shared; take this key for leaked.');
  if (!isReadable(url))
    return refuse('malformed_request', 'The query holds an escape that is not UTF-8.');
  const { expect } = headers;
  if (expect !== undefined && expect.trim().toLowerCase() !== '100-continue')
    return refuse('malformed_request', 'Expect nothing but 100-continue.');
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    return refuse('unsupported_media_type', 'Content encodings are not taken.');
  return undefined;
};

/** Of these Node keeps the first without a word, and another reader might keep the last. */
const ONCE = ['Host', 'Authorization', 'Content-Type'] as const;

const timesOf = (rawHeaders: readonly string[], name: string): number => {
  let times = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const sent = rawHeaders[i] ?? '';
    if (sent.length === name.length && sent.toLowerCase() === name.toLowerCase()) times += 1;
  }
  return times;
};

const givenTwice = (rawHeaders: readonly string[]): string | undefined =>
  ONCE.find((name) => timesOf(rawHeaders, name) > 1);

/** A page is for people: what they typed, or a mailer put behind a link, does not keep them out. */
const CALLS = '/api/';

/** The escapes of a path are the router's to read. */
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

/** A path or URL unescaped: escape by escape, so that a bad one hides nothing that stands beside it. */
export const decoded = (url: string): string =>
  !url.includes('%')
    ? url
    : url.replaceAll(/%([0-9a-f]{2})/gi, (_escape, hex: string) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      );
