/** Maps failures of the stores to refusals. */
import {
  AppendTooLarge,
  LogCorrupted,
  LogIndexDamaged,
  LogUnavailable,
  UnknownEventType,
} from '#src/ports/event-log.ts';
import { ReadModelParked, ReadModelRebuilding } from '#src/ports/read-model.ts';
import { type Outcome, type Refusal, refuse, Refused } from '#src/shared/outcome.ts';

/** Retry interval of failures that a person has to repair. */
const PARKED_RETRY_S = 60;

/** Does work that writes nothing and maps failures of the stores. */
export const mappingFailures = async <Value>(
  work: () => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> => {
  try {
    return await work();
  } catch (error) {
    return storeRefusal(error);
  }
};

const HALF_WRITTEN = refuse(
  'storage_unavailable',
  'Part of this call was written, or may have been. Send it again with the same key to complete it.',
  { retryAfterS: 1, extra: { outcome: 'unknown' } },
);

/** Maps an error of the log or of a read model to a refusal; throws any other error again. */
export const storeRefusal = (error: unknown, hasWritten = false): Refusal => {
  if (error instanceof Refused) return error.refusal;
  if (error instanceof LogUnavailable && error.reason === 'replaced')
    return replacedLog(hasWritten || error.applied === 'unknown');
  if (hasWritten && (error instanceof LogUnavailable || error instanceof ReadModelRebuilding))
    return HALF_WRITTEN;
  if (error instanceof LogUnavailable) return unavailable(error);
  if (error instanceof UnknownEventType) return newerRecord(hasWritten);
  if (error instanceof LogIndexDamaged) return damagedIndex(error, hasWritten);
  if (error instanceof LogCorrupted) return unreadableLog(error, hasWritten);
  // The limit depends on the log.
  if (error instanceof AppendTooLarge)
    return refuse('payload_too_large', 'The record is too large for the log.');
  if (error instanceof ReadModelParked)
    return refuse(
      'read_model_rebuilding',
      'The read model cannot apply an event; an operator must repair it.',
      { retryAfterS: PARKED_RETRY_S },
    );
  if (error instanceof ReadModelRebuilding)
    return refuse('read_model_rebuilding', 'The read model is being filled.', { retryAfterS: 1 });
  throw error;
};

/** The refusal of a call that needs a part of the log that is damaged, or that the disk does not return. */
const unreadableLog = (cause: Error, hasWritten: boolean): Refusal =>
  refuse(
    'storage_unavailable',
    'A part of the log that this call needs is damaged or cannot be read; an operator must repair it.',
    { retryAfterS: PARKED_RETRY_S, extra: { outcome: hasWritten ? 'unknown' : 'none' }, cause },
  );

/** The refusal of a call that an index of the log would answer wrongly. The log is building it again. */
const damagedIndex = (cause: Error, hasWritten: boolean): Refusal =>
  refuse(
    'storage_unavailable',
    'log index damaged: an index does not fit its records, and is built again from them.',
    { retryAfterS: 5, extra: { outcome: hasWritten ? 'unknown' : 'none' }, cause },
  );

/** The refusal of a call on a record that a newer version changed: a process of that version can serve it. */
const newerRecord = (hasWritten: boolean): Refusal =>
  refuse(
    'storage_unavailable',
    'A newer version of the service changed this record, and the process that answers cannot read the change.',
    { retryAfterS: PARKED_RETRY_S, extra: { outcome: hasWritten ? 'unknown' : 'none' } },
  );

export const CLOCK_BEHIND = refuse(
  'clock_behind',
  'The newest event is more than five minutes ahead of the clock of this process.',
  { retryAfterS: PARKED_RETRY_S, extra: { outcome: 'none' } },
);

/** Refuses a call that needs the log while the server has another log. */
export const replacedLog = (isUnknown: boolean): Refusal =>
  refuse(
    'log_replaced',
    'The log server holds a different log from the one this service was started with.',
    {
      retryAfterS: PARKED_RETRY_S,
      extra: { outcome: isUnknown ? 'unknown' : 'none' },
    },
  );

export const unavailable = ({ reason, applied }: LogUnavailable): Refusal => {
  switch (reason) {
    case 'full':
      return refuse('storage_full', 'The disk of the log is full.', {
        retryAfterS: 5,
        extra: { outcome: 'none' },
      });
    case 'overloaded':
      return refuse('overloaded', 'The write queue is full.', { retryAfterS: 1 });
    case 'closed':
      return refuse('shutting_down', 'The log is closing.', { retryAfterS: 2 });
    case 'clock':
      return CLOCK_BEHIND;
    case 'replaced':
      return replacedLog(applied === 'unknown');
    case 'fault':
      return refuse('storage_unavailable', 'The log did not answer.', {
        retryAfterS: 1,
        extra: { outcome: applied === 'unknown' ? 'unknown' : 'none' },
      });
  }
};
