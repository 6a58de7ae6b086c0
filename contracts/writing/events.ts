/** Events of claims (keys, slugs, contacts) and of the accepted clock. */
import { z } from 'zod';

/** An operator decided that the clock is right and the time of an earlier event is not. */
const ClockAccepted = z.object({
  /** The event that was ahead of the clock. */
  position: z.number(),
  event_at: z.number(),
  reason: z.string(),
});

export const clockEvents = { ClockAccepted };

/** In the stream codes-code_{slug}: the first link to claim a slug keeps it permanently. */
const CodeClaimed = z.object({
  code: z.string(),
  link_id: z.string(),
  owner_id: z.string(),
});

/** In the stream claims-lead_{keyed hash of the contact}: which lead claims the contact, and until when. */
const LeadClaimed = z.object({
  owner_id: z.string(),
  lead_id: z.string(),
  expires_at: z.number(),
});

const LeadClaimReleased = z.object({ owner_id: z.string(), lead_id: z.string() });

/** In a stream for each agent and day: the agent submitted a contact that is known already. */
const KnownContactSubmitted = z.object({
  agent_id: z.string(),
  lead_id: z.string(),
  /** Keyed hash of the address. */
  address: z.string(),
});

/** In a stream for each owner and day: a review link that is delivered without an approval. */
const DeliveryCounted = z.object({ outbound_id: z.string() });

/**
 * Claims an idempotency key for one stream and one request, for writes whose stream the key does not name.
 * `revision`: nothing had to be written to the stream; the answer was its state up to there. `answer`: no
 * stream holds what was answered.
 */
const RequestBound = z.object({
  stream: z.string(),
  /** Keyed hash of the request, after the generation of its key. */
  fingerprint: z.string(),
  revision: z.number().optional(),
  answer: z.record(z.string(), z.unknown()).optional(),
});

export const claimsEvents = {
  CodeClaimed,
  DeliveryCounted,
  KnownContactSubmitted,
  LeadClaimReleased,
  LeadClaimed,
  RequestBound,
};
