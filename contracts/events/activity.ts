import { z } from 'zod';
import { attributionDims } from './shared.ts';

// The stored format: these names and shapes are in every log. Never rename; only add optional fields.

/**
 * A request for a short link. What the recorder saw, no verdict: whether it counts is decided by
 * the fold, so that a better classifier can judge it again. visitor is a keyed hash that changes
 * every day; no address and no user agent is stored.
 */
export const VisitRecorded = z.object({
  link_id: z.string(),
  agent_id: z.string(),
  dims: attributionDims,
  visitor: z.string(),
  signals: z
    .array(z.enum(['head', 'prefetch', 'embedded', 'bot', 'preview', 'no_user_agent']))
    .optional(),
  country: z.string().optional(),
  device: z.enum(['desktop', 'mobile', 'other']),
  referrer_host: z.string().optional(),
  trigger: z.enum(['link', 'qr']),
});

/** What an agent asked and was answered, gathered over at most a second. Not business: record. */
export const ActivityRecorded = z.object({
  agent_id: z.string(),
  entries: z.array(
    z.object({
      operation: z.string(),
      surface: z.string(),
      key_id: z.string(),
      decision: z.enum(['allowed', 'denied', 'refused', 'failed', 'replayed']),
      code: z.string().optional(),
      request_id: z.string(),
      at: z.number(),
      count: z.number(),
    }),
  ),
});

/**
 * Refusals of the desk and of buyers, and the desk's reads of personal data: what no business event and no
 * agent's record says. Equal calls are one entry with a count.
 */
export const CallsAudited = z.object({
  actor: z.enum(['desk', 'buyer']),
  /** The desk token that was presented. */
  token_id: z.string().optional(),
  /** The handoff whose review link was used. */
  handoff_id: z.string().optional(),
  entries: z.array(
    z.object({
      operation: z.string(),
      surface: z.string(),
      decision: z.enum(['allowed', 'denied', 'refused', 'failed', 'replayed']),
      code: z.string().optional(),
      request_id: z.string(),
      /** Epoch milliseconds of the first. */
      at: z.number(),
      count: z.number(),
    }),
  ),
});

/**
 * Ties an idempotency key to one stream and one request, for writes whose stream the key does not name.
 * With a revision: nothing had to be written there, and the answer was the stream up to it. With an
 * answer: no stream holds what was answered.
 */
export const RequestBound = z.object({
  stream: z.string(),
  fingerprint: z.string(),
  revision: z.number().optional(),
  answer: z.record(z.string(), z.unknown()).optional(),
});

/** The subject's key is destroyed; every copy of its sealed text is noise from here on. */
export const SubjectErased = z.object({ subject: z.string(), reason: z.string() });
