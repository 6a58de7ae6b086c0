/** A subscription to `$all` as one ordered sequence of calls. */
import type { AllStreamSubscription, EventStoreDBClient, Filter } from '@eventstore/db-client';
import {
  BACKWARDS,
  eventTypeFilter,
  FORWARDS,
  START,
  streamNameFilter,
} from '@eventstore/db-client';
import type { Position } from '#src/ports/event-log.ts';
import { drained } from './drain.ts';
import { positionOf, positionOfEvent, startAt } from './positions.ts';
import type { Recorded } from './records.ts';

/** What is wanted of the log; the server leaves out the rest. */
export type Wanted = { types: readonly string[] } | { owner: string } | 'all';

export type Sink = {
  event(event: Recorded): void;
  /** Everything up to here was told, or is not wanted. */
  checkpoint(position: Position): void;
  caughtUp(): void;
  /** Once, and nothing after it; null when the server ended it in order, which means no more. */
  dropped(error: unknown): void;
};

export type Feed = { pause(): void; resume(): void; close(): void };

// The server looks through 32 records at a time, and tells where it is after so many times.
const CHECKPOINT_WINDOWS = 32;
// Events that the client keeps for us: with its own 16 it stops the server more than it reads.
const BUFFER_EVENTS = 256;

/** The watch over what is silent is the caller's; this only lets no read wait for ever. */
const ANSWER_MS = 5_000;

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|#\s]/g, '\\$&');

const filterOf = (wanted: Wanted, checkpointReached: Filter['checkpointReached']): Filter => {
  const options = {
    checkpointInterval: CHECKPOINT_WINDOWS,
    ...(checkpointReached && { checkpointReached }),
  };
  if (wanted === 'all') return eventTypeFilter({ ...options, regex: '^[^$]' });
  if ('owner' in wanted) return streamNameFilter({ ...options, prefixes: [`${wanted.owner}-`] });
  return eventTypeFilter({ ...options, regex: `^(?:${wanted.types.map(escaped).join('|')})$` });
};

/**
 * Where to begin, to be told of everything after `after`. The server leaves out one record: the one
 * it is told to begin at, or, where a scavenge took that away, the next one, whatever it is. Then it
 * is to begin at the record before.
 */
const beginningOf = async (
  client: EventStoreDBClient,
  after: Position,
): Promise<ReturnType<typeof startAt>> => {
  const [first] = await recordsFrom(client, after, FORWARDS);
  if (!first || positionOfEvent(first) <= after) return startAt(after);
  const [before] = await recordsFrom(client, after, BACKWARDS);
  return startAt(before ? positionOfEvent(before) : 0);
};

/** One, or none: forwards with the record that stands there, backwards without it. */
const recordsFrom = async (
  client: EventStoreDBClient,
  position: Position,
  direction: typeof FORWARDS | typeof BACKWARDS,
): Promise<Recorded[]> => {
  const fromPosition = startAt(position);
  if (fromPosition === START) return [];
  const events: Recorded[] = [];
  const read = client.readAll({ fromPosition, direction, maxCount: 1 });
  await drained(read, (event) => events.push(event), ANSWER_MS);
  return events;
};

/**
 * The client calls back for checkpoints and `caughtUp` as they pass it, up to its whole buffer
 * ahead of the events before them (C5). So each is held until those events were told.
 */
export const openFeed = (
  client: EventStoreDBClient,
  options: { after: Position; wanted: Wanted },
  sink: Sink,
): Feed => {
  const held: { behind: number; tell: () => void }[] = [];
  let told = 0;
  let ended = false;
  let paused = false;
  let subscription: AllStreamSubscription | undefined;
  const tellHeld = (): void => {
    while (!ended && held[0] && held[0].behind <= told) held.shift()?.tell();
  };
  const hold = (tell: () => void): void => {
    held.push({ behind: told + (subscription?.readableLength ?? 0), tell });
    tellHeld();
  };
  const close = (): void => {
    ended = true;
    // Without it the call stays open at the server (C8).
    subscription?.unsubscribe().catch(() => {});
  };
  const drop = (error: unknown): void => {
    if (ended) return;
    close();
    sink.dropped(error);
  };
  // What throws inside the client's callback stalls the subscription for ever (C6).
  const guarded = (call: () => void): void => {
    try {
      call();
    } catch (error) {
      drop(error);
    }
  };
  const filter = filterOf(options.wanted, (_, { commit }) =>
    guarded(() => hold(() => sink.checkpoint(positionOf(commit)))),
  );
  const begin = (fromPosition: ReturnType<typeof startAt>): void => {
    if (ended) return;
    subscription = client.subscribeToAll(
      { fromPosition, filter },
      { highWaterMark: BUFFER_EVENTS },
    );
    subscription.on('caughtUp', () => guarded(() => hold(sink.caughtUp)));
    subscription.on('data', ({ event }) => {
      if (ended) return;
      guarded(() => {
        told += 1;
        if (event) sink.event(event);
        tellHeld();
      });
    });
    subscription.on('error', drop);
    subscription.on('end', () => drop(null));
    if (paused) subscription.pause();
  };
  beginningOf(client, options.after).then(begin).catch(drop);
  return {
    pause() {
      paused = true;
      subscription?.pause();
    },
    resume() {
      paused = false;
      subscription?.resume();
    },
    close,
  };
};
