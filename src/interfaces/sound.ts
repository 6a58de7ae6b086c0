/** What every request must be before anything looks at what it asks for. */
import type { IncomingMessage } from 'node:http';
import { LIMITS } from '#contracts/limits.ts';
import { CREDENTIAL_PATTERN } from '#src/app/authenticate.ts';
import type { Refusal } from '#src/app/outcome.ts';
import { refuse } from '#src/app/outcome.ts';

const METHODS = new Set(['GET', 'HEAD', 'POST', 'OPTIONS', 'PUT', 'PATCH', 'DELETE']);

/** Why a request is none that may pass to any route; undefined when it is sound. */
export const unsound = (request: IncomingMessage): Refusal | undefined => {
  const { method = '', url = '', headers, rawHeaders } = request;
  if (request.httpVersionMajor !== 1) return refuse('malformed_request', 'Speak HTTP/1.1.');
  if (!METHODS.has(method)) return refuse('malformed_request', 'The method is not one of ours.');
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]?.toLowerCase() === 'host') hosts += 1;
  if (hosts > 1 || (hosts === 0 && request.httpVersion === '1.1'))
    return refuse('malformed_request', 'Send exactly one Host.');
  if (url.length > LIMITS.URL_BYTES_MAX)
    return refuse('uri_too_long', `The URL has more than ${LIMITS.URL_BYTES_MAX} bytes.`);
  if (CREDENTIAL_PATTERN.test(decoded(url)))
    return refuse('credential_in_url', 'URLs are logged and shared; take this key for leaked.');
  const { expect } = headers;
  if (expect !== undefined && expect.trim().toLowerCase() !== '100-continue')
    return refuse('malformed_request', 'Expect nothing but 100-continue.');
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    return refuse('unsupported_media_type', 'Content encodings are not taken.');
  return undefined;
};

/** A path or URL unescaped: escape by escape, so that a bad one hides nothing that stands beside it. */
export const decoded = (url: string): string =>
  !url.includes('%')
    ? url
    : url.replaceAll(/%([0-9a-f]{2})/gi, (_escape, hex: string) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      );
