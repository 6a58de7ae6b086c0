/** What an HTTP exchange proves about the delivery behind it. */
import type { DeliveryResult } from '#src/ports/delivery.ts';
import type { GuardedAnswer } from './guarded-request.ts';

const RETRY_AFTER_MS_MAX = 86_400_000;
/** By their definition the request was not processed, and may be repeated. */
const NOT_NOW = new Set([408, 429, 503]);
const GONE = 410;

/** Retry-After in milliseconds from `now`, within a day; undefined when it is absent or no time. */
const retryAfterMs = (value: string | undefined, now: number): number | undefined => {
  if (value === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), RETRY_AFTER_MS_MAX);
};

type Answered = Extract<GuardedAnswer, { kind: 'answer' }>;

/** What is certain when no answer with a 2xx status came; undefined when one did. */
export const faultOf = (
  answer: GuardedAnswer,
  now: number,
): Exclude<DeliveryResult, { outcome: 'delivered' }> | undefined => {
  switch (answer.kind) {
    case 'forbidden':
      return { outcome: 'refused', reason: answer.reason };
    case 'unsent':
      return { outcome: 'retry', reason: answer.reason };
    case 'lost':
      return { outcome: 'unknown', reason: answer.reason };
    case 'answer':
      return statusFault(answer, now);
  }
};

const statusFault = ({ status, headers }: Answered, now: number): ReturnType<typeof faultOf> => {
  const reason = `http_${status}`;
  if (status >= 200 && status < 300) return undefined;
  if (NOT_NOW.has(status)) {
    const wait = retryAfterMs(headers['retry-after'], now);
    return { outcome: 'retry', reason, ...(wait !== undefined && { retryAfterMs: wait }) };
  }
  if (status === GONE) return { outcome: 'refused', reason, disable: true };
  if (status >= 300 && status < 500) return { outcome: 'refused', reason };
  return { outcome: 'unknown', reason };
};

const SAFE_ID = /^[A-Za-z0-9._:-]{1,100}$/;

/** A receiver's id as evidence; anything else that it says stays outside. */
export const safeId = (value: unknown): string | undefined =>
  typeof value === 'string' && SAFE_ID.test(value) ? value : undefined;

/** The JSON of a whole answer; undefined when it is none. */
export const jsonOf = ({ body, end }: Answered): unknown => {
  if (end !== 'whole') return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
};
