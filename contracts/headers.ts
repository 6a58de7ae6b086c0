/** Headers of requests and answers, and the version of the interface. */
import { LIMITS } from './limits.ts';

export type HeaderText = {
  name: string;
  description: string;
  /** A text if absent. */
  type?: 'string' | 'integer';
};

/** The headers of answers. Those about the caller's key are in every answer to it. */
export const ANSWER_HEADERS = {
  requestId: {
    name: 'Request-Id',
    description: 'Identifies the call in the audit record; the same as request_id of a problem',
  },
  consistencyToken: {
    name: 'Consistency-Token',
    description: 'The position this answer reflects. Send it on a read to see at least that state',
  },
  logState: {
    name: 'Log-State',
    description:
      '"replaced" while the service has found a different log from its own: the answer shows what was recorded ' +
      'before, and writes are refused with log_replaced; omitted otherwise',
  },
  replayed: {
    name: 'Idempotent-Replayed',
    description:
      '"true" when this answer replays an earlier request with the same key; omitted otherwise',
  },
  original: {
    name: 'Original-Request-Id',
    description: 'With Idempotent-Replayed: Request-Id of the call that was executed',
  },
  asOf: {
    name: 'As-Of',
    description: 'For a file: the log position that it reflects, and the time of the event there',
  },
  next: {
    name: 'Link',
    description: 'For a page of a list: rel="next" is the next page; omitted on the last page',
  },
  help: {
    name: 'Link',
    description:
      'For a problem: rel="service-desc" is the contract, rel="help" explains what to do',
  },
  challenge: {
    name: 'WWW-Authenticate',
    description: 'Why the credential was rejected (RFC 6750); scope names the missing scope',
  },
  retryAfter: {
    name: 'Retry-After',
    type: 'integer',
    description: 'Seconds to wait before a retry',
  },
  rateLimit: {
    name: 'RateLimit',
    description: 'Remaining calls of the key: r calls within the next t seconds',
  },
  rateLimitPolicy: {
    name: 'RateLimit-Policy',
    description: 'Total calls of the key: q calls in w seconds',
  },
  keyExpires: {
    name: 'Key-Expires',
    description: `Time at which the key stops working: it was rotated, or expires within ${LIMITS.KEY_NOTICE_DAYS} days`,
  },
} as const;

export type AnswerHeader = keyof typeof ANSWER_HEADERS;

/** The versioning and deprecation policy of every interface. */
export const VERSIONING = [
  'Within v1 nothing is removed. Operations, tools, skills, optional fields, members of answers, values and ' +
    'problem codes may be added. A client must ignore what it does not know.',
  'A breaking change gets another major version: another path (/v2) over REST, a new name for a tool or a ' +
    'skill. The previous version works for at least 12 more months.',
  'An operation that will be removed is marked `deprecated` in OpenAPI and listed in CHANGELOG.md. From then on, ' +
    'for at least 12 months, its answers have Deprecation (RFC 9745), Sunset (RFC 8594) and a Link with ' +
    'rel="deprecation" to its replacement. A deprecated tool or skill says so in its description. Nothing is ' +
    'deprecated now.',
  'A version of MCP or A2A is supported for at least 12 months after its successor is released.',
] as const;
