/** What an HTTP exchange proves about a delivery. */
import type { DeliveryResult } from '#src/ports/delivery.ts';
import type { GuardedAnswer } from './guarded-request.ts';

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
