import { LIMITS } from './limits.ts';

/** What answers carry beside their body. Those of the key that asks come with every answer to it. */
export const ANSWER_HEADERS = {
  requestId: {
    name: 'Request-Id',
    type: 'string',
    description: 'Names the call in the record; the request_id of a problem',
  },
  consistencyToken: {
    name: 'Consistency-Token',
    type: 'string',
    description: 'What this answer held; a read that sends it holds that, too',
  },
  replayed: {
    name: 'Idempotent-Replayed',
    type: 'string',
    description: '"true": the key was used before, and this is the answer of then. Else not there',
  },
  original: {
    name: 'Original-Request-Id',
    type: 'string',
    description: 'With Idempotent-Replayed: Request-Id of the call that was executed',
  },
  asOf: {
    name: 'As-Of',
    type: 'string',
    description: 'Of a file: position of the log that it shows, and the time of the event there',
  },
  next: {
    name: 'Link',
    type: 'string',
    description: 'Of a page of a file: rel="next" is the page after it; not there on the last',
  },
  help: {
    name: 'Link',
    type: 'string',
    description: 'Of a problem: rel="service-desc" is the contract, rel="help" the way forward',
  },
  challenge: {
    name: 'WWW-Authenticate',
    type: 'string',
    description: 'Why the credential does not do (RFC 6750); scope names what it lacks',
  },
  retryAfter: {
    name: 'Retry-After',
    type: 'integer',
    description: 'Seconds to wait before the call is sent again',
  },
  rateLimit: {
    name: 'RateLimit',
    type: 'string',
    description: 'What the key has left: r calls within the next t seconds',
  },
  rateLimitPolicy: {
    name: 'RateLimit-Policy',
    type: 'string',
    description: 'What the key has in all: q calls in w seconds',
  },
  deprecation: {
    name: 'Deprecation',
    type: 'string',
    description:
      'The key was rotated at that time (RFC 9745) and another one stands ready. Of the key and not ' +
      'of the operation, unless a Link with rel="deprecation" comes with it',
  },
  sunset: {
    name: 'Sunset',
    type: 'string',
    description:
      'The key stops working at that time (RFC 8594): it was rotated, or expires within ' +
      `${LIMITS.KEY_NOTICE_DAYS} days. Of the key and not of the operation, unless a Link with ` +
      'rel="deprecation" comes with it',
  },
} as const;

export type AnswerHeader = keyof typeof ANSWER_HEADERS;
