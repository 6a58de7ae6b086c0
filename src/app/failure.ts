/** What a store that could not do its part means for the caller. */
import { AppendTooLarge, LogUnavailable } from '#src/ports/event-log.ts';
import { ReadModelParked, ReadModelRebuilding } from '#src/ports/read-model.ts';
import type { Refusal } from './outcome.ts';
import { refuse } from './outcome.ts';

/** A person has to do something first: sooner than that, nobody need ask. */
const PARKED_RETRY_S = 60;

/** The refusal that an error of the log or of a read model means; throws any other error again. */
export const refusalFor = (error: unknown): Refusal => {
  if (error instanceof LogUnavailable) return unavailable(error);
  // Which log it is decides how much it takes at once.
  if (error instanceof AppendTooLarge)
    return refuse('payload_too_large', 'The log takes no record of this size.');
  if (error instanceof ReadModelParked)
    return refuse(
      'read_model_rebuilding',
      'The read model stands before an event that it cannot take, until its operator has mended it.',
      { retryAfterS: PARKED_RETRY_S },
    );
  if (error instanceof ReadModelRebuilding)
    return refuse('read_model_rebuilding', 'The read model is being filled.', { retryAfterS: 1 });
  throw error;
};

/** What a log that gave no answer means for the caller. */
export const unavailable = ({ reason, applied }: LogUnavailable): Refusal => {
  switch (reason) {
    case 'full':
      return refuse('storage_full', 'The log has no room.', {
        retryAfterS: 5,
        extra: { outcome: 'none' },
      });
    case 'overloaded':
      return refuse('overloaded', 'The write queue is full.', { retryAfterS: 1 });
    case 'closed':
      return refuse('shutting_down', 'The log is closing.', { retryAfterS: 2 });
    case 'fault':
      return refuse('storage_unavailable', 'The log gave no answer.', {
        retryAfterS: 1,
        extra: { outcome: applied === 'unknown' ? 'unknown' : 'none' },
      });
  }
};
