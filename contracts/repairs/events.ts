/** Events of what operators do about events that a read model cannot fold. */
import { z } from 'zod';

// In the stream desk-repairs_read-models. Every fold reads it before it begins.

/** `stream` and `revision` name the event, because they are the same in every copy of the log. */
const skipped = {
  read_model: z.string(),
  event_id: z.string(),
  stream: z.string(),
  revision: z.number(),
  position: z.number(),
  type: z.string(),
};

const EventSkipProposed = z.object({ ...skipped, reason: z.string() });

/** From now on the read model is folded without the event, also in a rebuild. */
const EventSkipApproved = z.object(skipped);

/** Every process folds its parked partitions again: of one read model, or of all. */
const ParkedEventsRetried = z.object({ read_model: z.string().optional() });

export const repairEvents = { EventSkipApproved, EventSkipProposed, ParkedEventsRetried };
