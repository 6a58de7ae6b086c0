/** Problems as HTTP answers, and the log of failures. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { beginningOf } from '#contracts/texts.ts';
import { LIMITS } from '#contracts/limits.ts';
import { type InputFault, type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import { CREDENTIAL_PATTERN } from '#src/calls/authenticate.ts';
import type { Refusal } from '#src/shared/outcome.ts';

const PROBLEM_TYPE = 'application/problem+json';

/** Makes a problem (RFC 9457), the same over every interface. Its URLs come from the configuration, never from a request. */
export const problemBody = (
  refusal: Omit<Refusal, 'ok'>,
  { origin, requestId }: { origin: string; requestId: string },
) => {
  const { title, status, action, hint, retryable = false } = PROBLEMS[refusal.code];
  return {
    type: `${origin}/problems/${refusal.code}`,
    title,
    status,
    detail: refusal.detail,
    instance: `urn:uuid:${requestId}`,
    code: refusal.code,
    request_id: requestId,
    recovery: {
      action,
      hint,
      retryable,
      ...(refusal.retryAfterS !== undefined && { retry_after_s: refusal.retryAfterS }),
    },
    links: {
      portal: `${origin}/`,
      openapi: `${origin}/api/affiliate/openapi.json`,
      docs: `${origin}/problems/${refusal.code}`,
    },
    ...(refusal.errors && { errors: refusal.errors.slice(0, LIMITS.FAULTS_MAX).map(safeFault) }),
    ...refusal.extra,
  };
};

export type ProblemBody = ReturnType<typeof problemBody>;

const POINTER_CHARS_MAX = 200;

/** Bounds a pointer and removes credentials: it contains names that the caller chose. */
const safeFault = ({ pointer, ...fault }: InputFault): InputFault => ({
  pointer: beginningOf(pointer.toWellFormed(), POINTER_CHARS_MAX).replaceAll(
    new RegExp(CREDENTIAL_PATTERN, 'g'),
    '[credential]',
  ),
  ...fault,
});

/** A header of every answer: a browser must not run text that a caller chose as a script or a page. */
export const NOSNIFF = { 'x-content-type-options': 'nosniff' } as const;

export const API_CATALOG_PATH = '/.well-known/api-catalog';

/** The Link header that leads a client without documentation to all interfaces. */
export const apiCatalogLink = (origin: string): string =>
  `<${origin}${API_CATALOG_PATH}>; rel="api-catalog"`;

/** Headers that go with a problem of this code. */
export const problemHeaders = (
  { code, retryAfterS, extra }: Pick<Refusal, 'code' | 'retryAfterS' | 'extra'>,
  origin: string,
): Record<string, string> => ({
  'content-type': PROBLEM_TYPE,
  'content-language': 'en',
  'cache-control': 'no-store',
  ...NOSNIFF,
  link: [
    `<${origin}/api/affiliate/openapi.json>; rel="service-desc"`,
    `<${origin}/problems/${code}>; rel="help"`,
    ...(code === 'route_not_found' ? [apiCatalogLink(origin)] : []),
  ].join(', '),
  // What to send instead (RFC 9110, 15.5.16).
  ...(code === 'unsupported_media_type' && {
    accept: 'application/json',
    'accept-encoding': 'identity',
  }),
  ...(retryAfterS !== undefined && { 'retry-after': String(retryAfterS) }),
  ...(PROBLEMS[code].status === 401 && { 'www-authenticate': challenge(code) }),
  ...(code === 'scope_missing' && {
    'www-authenticate': scopeChallenge(extra?.['required_scope']),
  }),
});

/** Names one scope: a client requests all that it reads here, and one of several is enough. */
const scopeChallenge = (required: unknown): string =>
  `Bearer realm="affiliate", error="insufficient_scope", scope="${String(required).split(' ')[0]}"`;

/** RFC 6750: no error code when no credential was sent. */
const challenge = (code: ProblemCode): string =>
  code === 'credential_missing'
    ? 'Bearer realm="affiliate"'
    : 'Bearer realm="affiliate", error="invalid_token"';

const codes = new WeakMap<FastifyRequest, ProblemCode>();
const errors = new WeakMap<FastifyRequest, Error>();

/** Remembers the problem that a request is answered with, and its error, for the log line. */
export const rememberFailure = (
  request: FastifyRequest,
  code: ProblemCode,
  error?: Error,
): void => {
  if (PROBLEMS[code].status < 500) return;
  codes.set(request, code);
  if (error) errors.set(request, error);
};

/** Interval of the log lines about requests that were refused because the service is overloaded. */
const OVERLOADED_INTERVAL_MS = 10_000;

/**
 * Logs each request that fails with a 5xx, with the pattern of its route, because clients make up paths, and with the
 * stack of an error that an operator must see. Of requests that are refused in an overload, it logs one per interval,
 * with the number of the others. Other requests have no log line, which would cost as much as a read.
 */
export const logFailures = (server: FastifyInstance, log: Logger): void => {
  let overloadedAt = -Infinity;
  let unlogged = 0;
  const countOverloaded = (): { unlogged?: number } | undefined => {
    const now = performance.now();
    if (now - overloadedAt < OVERLOADED_INTERVAL_MS) {
      unlogged += 1;
      return undefined;
    }
    const counted = unlogged > 0 ? { unlogged } : {};
    overloadedAt = now;
    unlogged = 0;
    return counted;
  };
  server.addHook('onResponse', (request, reply, next) => {
    const { statusCode: status } = reply;
    const code = codes.get(request);
    // A failure inside JSON-RPC may be a 200.
    const counted = code === 'overloaded' ? countOverloaded() : {};
    if (counted && (status >= 500 || code !== undefined)) {
      const { id, method, routeOptions } = request;
      const fields = { request: id, method, route: routeOptions.url, status, ...counted };
      const err = errors.get(request);
      if (err) log.error({ ...fields, code, err }, 'request failed');
      else log.warn({ ...fields, code }, 'request not served');
    }
    next();
  });
};
