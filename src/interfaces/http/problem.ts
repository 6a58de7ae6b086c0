import { type InputFault, type ProblemCode, PROBLEMS } from '#contracts/problems.ts';
import { LIMITS } from '#contracts/limits.ts';
import { CREDENTIAL_PATTERN } from '#src/app/pipeline/authenticate.ts';
import type { Refusal } from '#src/app/pipeline/outcome.ts';

export const PROBLEM_TYPE = 'application/problem+json';

/** RFC 9457, as every interface answers it. URLs come from configuration, never from a request. */
export type ProblemBody = {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: ProblemCode;
  request_id: string;
  recovery: { action: string; hint: string; retryable: boolean; retry_after_s?: number };
  links: { portal: string; openapi: string; docs: string };
  errors?: { pointer: string; code: string; detail: string }[];
};

export const problemBody = (
  refusal: Omit<Refusal, 'ok'>,
  { origin, requestId }: { origin: string; requestId: string },
): ProblemBody => {
  const { title, status, action, hint, retryable } = PROBLEMS[refusal.code];
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
    ...(refusal.errors && { errors: refusal.errors.slice(0, ERRORS_MAX).map(shown) }),
    ...refusal.extra,
  };
};

/** As many as a handoff has lines: each is told of, and no body makes an answer larger than itself. */
const ERRORS_MAX = LIMITS.HANDOFF_LINES_MAX;
const POINTER_CHARS_MAX = 200;

/** A pointer is made of names that the caller chose: bounded, whole characters, and no key among them. */
const shown = ({ pointer, ...fault }: InputFault): InputFault => ({
  pointer: pointer
    .slice(0, POINTER_CHARS_MAX)
    .toWellFormed()
    .replaceAll(new RegExp(CREDENTIAL_PATTERN, 'g'), '[credential]'),
  ...fault,
});

/** Headers that go with a problem of this code. */
export const problemHeaders = (
  { code, retryAfterS, extra }: Pick<Refusal, 'code' | 'retryAfterS' | 'extra'>,
  origin: string,
): Record<string, string> => ({
  'content-type': PROBLEM_TYPE,
  'content-language': 'en',
  'cache-control': 'no-store',
  link: `<${origin}/api/affiliate/openapi.json>; rel="service-desc", <${origin}/problems/${code}>; rel="help"`,
  ...(retryAfterS !== undefined && { 'retry-after': String(retryAfterS) }),
  ...(PROBLEMS[code].status === 401 && { 'www-authenticate': challenge(code) }),
  ...(code === 'scope_missing' && {
    'www-authenticate': scopeChallenge(extra?.['required_scope']),
  }),
});

/** A client asks for all that it reads here, and of several scopes one is enough. */
const scopeChallenge = (required: unknown): string =>
  `Bearer realm="affiliate", error="insufficient_scope", scope="${String(required).split(' ')[0]}"`;

/** RFC 6750: no error code when no credential was sent. */
const challenge = (code: ProblemCode): string =>
  code === 'credential_missing'
    ? 'Bearer realm="affiliate"'
    : 'Bearer realm="affiliate", error="invalid_token"';
