import { eventLoopDelay } from '#src/system/event-loop.ts';
import { eventLoopTurns } from '#src/shared/turns.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { Waits } from '#src/ports/system.ts';

/** Measures how long a request waits in this process. */
export const waitsOf = (log: EventLog, parts: AsyncDisposableStack): Waits => {
  const delay = eventLoopDelay();
  parts.defer(delay.stop);
  return {
    eventLoop: delay.ms,
    reads: () => eventLoopTurns.waitMs(),
    appends: () => log.queuedMs?.() ?? 0,
  };
};
