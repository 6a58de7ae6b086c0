import type { Position } from '#src/ports/event-log.ts';

/**
 * The life of a space, as one process sees it: a pure state machine. `lifecycle.ts` observes the store and performs the
 * effects.
 *
 *              filled, own partitions       complete: goLive
 *   filling ─────────────────────► awaiting ───────────────► live
 *    ▲ │ │        filled, all partitions: goLive              ▲ │
 *    │ │ └─────────────────────────────────────────┐          │ │
 *    │ │ filled by an operator                     │          │ │
 *    │ └──────────► verifying ──── verified ───────┴──────────┘ │
 *    │                  │ refused: drop                         │
 *    │                  ▼                                       │
 *    │               dropped         the store has less than it │
 *    │                               confirmed, another space   │
 *    │ opened again                  is live, or its borrowed   │
 *    └──────────── lost ◄─────────── partitions are due ────────┘ (also from awaiting)
 *
 * The loop follows spaces that are awaiting activation or live. A process that folds nothing loses no space: it switches to
 * the live one (`follow`). A parked partition is part of any of these stages: the other partitions continue.
 */
export type Life =
  /** `isRead`: readers use it already, so no later position is reached until it is filled. */
  | { stage: 'filling' | 'lost'; isRead: boolean }
  | { stage: 'verifying' | 'dropped' }
  /** Other processes have not filled their partitions up to `until` yet. */
  | { stage: 'awaiting'; until: Position }
  /** `returnsAt`: when this process returns the partitions that it borrowed, on the monotonic clock. */
  | { stage: 'live'; returnsAt: number };

export type Observation =
  /** `isWhole`: all partitions, also those of other processes, which are borrowed until `returnsAt`. */
  | { is: 'filled'; upTo: Position; isWhole: boolean; returnsAt: number }
  | { is: 'rebuilt' | 'refused' | 'lost' }
  | {
      is: 'inspected';
      /** The space is the live one. */
      isLive: boolean;
      /** A later build is live or being filled. */
      isOvertaken: boolean;
      /** This process folds partitions of it. */
      isFolded: boolean;
      /** Every partition has this stored checkpoint at least. */
      lowest: Position;
      now: number;
    };

/** `advance`: the checkpoints of idle partitions, for which other processes may wait. */
export type Effect = 'goLive' | 'advance' | 'follow' | 'drop';
export type Step = { life: Life; effect?: Effect };

/** Returns the next stage of a space, and what to do before it is reached; an observation that does not concern the stage changes nothing. */
export const nextLife = (life: Life, seen: Observation): Step => {
  switch (life.stage) {
    case 'filling':
      if (seen.is === 'rebuilt') return { life: { stage: 'verifying' } };
      return seen.is === 'filled' ? afterFill(seen) : { life };
    case 'verifying':
      if (seen.is === 'refused') return { life: { stage: 'dropped' }, effect: 'drop' };
      return seen.is === 'filled' ? afterFill(seen) : { life };
    case 'awaiting':
    case 'live':
      if (seen.is === 'lost') return { life: { stage: 'lost', isRead: true } };
      return seen.is === 'inspected' ? afterInspection(life, seen) : { life };
    case 'lost':
    case 'dropped':
      return { life };
  }
};

const afterFill = ({ upTo, isWhole, returnsAt }: Observation & { is: 'filled' }): Step =>
  isWhole
    ? { life: { stage: 'live', returnsAt }, effect: 'goLive' }
    : { life: { stage: 'awaiting', until: upTo } };

/** A live space without borrowed partitions. */
export const LIVE: Life = { stage: 'live', returnsAt: Infinity };

const afterInspection = (
  life: Life & { stage: 'awaiting' | 'live' },
  { isLive, isOvertaken, isFolded, lowest, now }: Observation & { is: 'inspected' },
): Step => {
  const isAwaiting = life.stage === 'awaiting';
  if (isLive) {
    if (isAwaiting) return { life: LIVE };
    return isFolded && now >= life.returnsAt
      ? { life: { stage: 'lost', isRead: false } }
      : { life };
  }
  if (!isAwaiting || isOvertaken)
    return isFolded ? { life: { stage: 'lost', isRead: false } } : { life, effect: 'follow' };
  return lowest < life.until ? { life, effect: 'advance' } : { life: LIVE, effect: 'goLive' };
};
