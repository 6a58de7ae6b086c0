/** A read that the server filters: 6.2.1 has none, so it is a subscription until it has caught up. */
import type { EventStoreDBClient } from '@eventstore/db-client';
import type { Position } from '#src/ports/event-log.ts';
import { noAnswer } from './failures.ts';
import { openFeed, type Wanted } from './feed.ts';
import { positionOfEvent } from './positions.ts';
import type { Recorded } from './records.ts';

export type Scan = {
  after: Position;
  upTo: Position;
  wanted: Wanted;
  /** false: that is enough. */
  take(event: Recorded): boolean;
};

/** Rejects when nothing is heard for `idleMs`: what passes no filter is told by checkpoints. */
export const scanned = (
  client: EventStoreDBClient,
  { after, upTo, wanted, take }: Scan,
  idleMs: number,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      feed.close();
      finish();
    };
    const fail = (error: unknown): void =>
      settle(() => reject((error as Error | null) ?? new Error('14 UNAVAILABLE: ended')));
    const timer = setTimeout(() => fail(noAnswer(idleMs)), idleMs);
    const feed = openFeed(
      client,
      { after, wanted },
      {
        event: (event) => {
          timer.refresh();
          if (positionOfEvent(event) > upTo || !take(event)) settle(resolve);
        },
        checkpoint: (position) => {
          timer.refresh();
          if (position >= upTo) settle(resolve);
        },
        caughtUp: () => settle(resolve),
        dropped: fail,
      },
    );
  });
