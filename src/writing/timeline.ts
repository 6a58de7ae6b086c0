/** Compares the clock of this process with the newest event of the log, and stops time when they disagree. */
import { type Append, LogUnavailable, type Position } from '#src/ports/event-log.ts';
import type { Clock } from '#src/ports/system.ts';

/** How far the newest event may be ahead of the clock: processes of one log have clocks of their own. */
const AHEAD_MS_MAX = 300_000;

type LastEvent = { position: Position; at: number | null };

/** The newest event and the clock, both in epoch milliseconds. */
export type ClockConflict = { position: Position; eventAt: number; clockAt: number };

export type Timeline = {
  /** The clock: while it is behind it shows the last time at which it agreed with the log, if there was one. */
  clock: Clock;
  /**
   * Whether a time has passed, by the clock or by an event. Undefined in a process that started with a clock that is
   * behind, for times between the clock and the newest event: nothing expires and nothing revives by itself.
   */
  hasPassed(at: number): boolean | undefined;
  /** The conflict; undefined while clock and log agree. */
  conflict(): ClockConflict | undefined;
  /** The newest event as far as this process has appended or read it. */
  observe(last: LastEvent): void;
  /** Throws LogUnavailable in a conflict, except for the decision of an operator about it. */
  requireAgreement(appends: readonly Append[]): void;
};

/** The operation whose claim of its idempotency key and whose event are accepted in a conflict. */
const DECIDES = 'acceptClock';

export const timeline = (system: Clock): Timeline => {
  let newest: LastEvent = { position: 0, at: null };
  let agreedAt: number | undefined;

  const observe = (last: LastEvent): void => {
    if (last.at === null || last.position <= newest.position) return;
    const before = newest.at ?? last.at;
    // An event that is much earlier than the one before it is the decision of an operator.
    const isDecision = before - last.at > AHEAD_MS_MAX;
    newest = { ...last, at: isDecision ? last.at : Math.max(before, last.at) };
  };
  const conflict = (): ClockConflict | undefined => {
    const clockAt = system.now();
    const { position, at: eventAt } = newest;
    if (eventAt !== null && eventAt - clockAt > AHEAD_MS_MAX) return { position, eventAt, clockAt };
    agreedAt = Math.max(clockAt, eventAt ?? clockAt);
    return undefined;
  };
  const isDecision = (appends: readonly Append[]): boolean =>
    appends.every(({ events }) => events.every(({ meta }) => meta.operation === DECIDES));
  return {
    clock: {
      ...system,
      now: () => (conflict() && agreedAt !== undefined ? agreedAt : system.now()),
    },
    hasPassed(at) {
      const behind = conflict();
      if (agreedAt !== undefined) return at <= agreedAt;
      // Without a conflict there is an agreed time.
      if (!behind || at <= behind.clockAt) return true;
      return at > behind.eventAt ? false : undefined;
    },
    conflict,
    observe,
    requireAgreement(appends) {
      if (conflict() && !isDecision(appends))
        throw new LogUnavailable('clock', 'no', 'the newest event is ahead of the clock');
    },
  };
};
