/** A clock that shows the time of the story first, and then the real time. */
import { DAY_MS } from '#src/shared/time.ts';
import type { Clock } from '#src/ports/system.ts';

export const STORY_DAYS = 30;

export type DemoClock = Clock & {
  /** Sets the clock to the start of the story, if the log is empty. */
  begin(head: { position: number }): void;
  /** Sets the time of the story, at most to the real time. */
  set(at: number): void;
  /** Switches to real time. */
  live(): void;
  readonly real: Clock;
  /** Whether the log had events before the story. */
  readonly hasEarlierEvents: boolean;
};

export const demoClock = (real: Clock): DemoClock => {
  let storyTime: number | undefined;
  let hasEarlierEvents = false;
  const set = (at: number): void => {
    storyTime = Math.min(at, real.now());
  };
  return {
    now: () => storyTime ?? real.now(),
    monotonic: () => real.monotonic(),
    begin({ position }) {
      hasEarlierEvents = position > 0;
      if (position === 0) set(real.now() - STORY_DAYS * DAY_MS);
    },
    set,
    live() {
      storyTime = undefined;
    },
    real,
    get hasEarlierEvents() {
      return hasEarlierEvents;
    },
  };
};
