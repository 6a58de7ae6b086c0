import { z } from 'zod';

/** An operator decided that the clock is right and the time of an earlier event is not. */
export const ClockAccepted = z.object({
  /** The event that was ahead of the clock. */
  position: z.number(),
  event_at: z.number(),
  reason: z.string(),
});

export const clockEvents = { ClockAccepted };
