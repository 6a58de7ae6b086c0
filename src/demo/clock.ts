/** A clock that first tells the time of a story, and from then on the real one. */
import { DAY_MS } from '#src/app/shared/time.ts';
import type { Clock } from '#src/ports/system.ts';

export const STORY_DAYS = 30;

export type DemoClock = Clock & {
  /** Goes back to the beginning of the story, if the log is empty. */
  begin(head: { position: number }): void;
  /** The time of the story. It never passes the real one. */
  set(at: number): void;
  /** Real time from here on. */
  live(): void;
  readonly real: Clock;
};

export const demoClock = (real: Clock): DemoClock => {
  let told: number | undefined;
  const set = (at: number): void => {
    told = Math.min(at, real.now());
  };
  return {
    now: () => told ?? real.now(),
    monotonic: () => real.monotonic(),
    begin({ position }) {
      if (position === 0) set(real.now() - STORY_DAYS * DAY_MS);
    },
    set,
    live() {
      told = undefined;
    },
    real,
  };
};
