/** Appends events that nobody waits for, in batches. */
import type { AppendResult, EventLog, NewEvent, Position } from '#src/ports/event-log.ts';
import { LogUnavailable, NO_STREAM } from '#src/ports/event-log.ts';

/**
 * Appends to streams of this process only: their names contain the process, so there are no conflicts, and the
 * revision is known from the append before, without a read.
 */
export type Recorder = {
  /**
   * Resolves to the position when the events are durable. After an append of unknown outcome, pass the same array
   * again: it repeats the same append, which adds nothing if the first one succeeded.
   */
  record(stream: string, events: readonly NewEvent[]): Promise<Position>;
};

const STREAMS_MAX = 10_000;

type Tail = { revision: number; generation: number };
type Target = { tail: Tail; name: string; expected: number };

export const recorder = (log: EventLog, process: string): Recorder => {
  const tails = new Map<string, Tail>();
  const unknown = new WeakMap<readonly NewEvent[], Target>();
  let generations = 0;

  const startNewStream = (stream: string, failed: Tail): void => {
    if (tails.get(stream) !== failed) return;
    generations += 1;
    tails.set(stream, { revision: NO_STREAM, generation: generations });
  };

  const reserve = (stream: string, events: readonly NewEvent[]): Target => {
    if (tails.size > STREAMS_MAX) {
      tails.clear();
      generations += 1;
    }
    const tail = tails.get(stream) ?? { revision: NO_STREAM, generation: generations };
    tails.set(stream, tail);
    const name = `${stream}.${process}.${tail.generation}`;
    const expected = tail.revision;
    // Reserved before the append resolves, so that the next call appends after this one.
    tail.revision += events.length;
    return { tail, name, expected };
  };

  return {
    async record(stream, events) {
      const target = unknown.get(events) ?? reserve(stream, events);
      let result: AppendResult;
      try {
        result = await log.append(target.name, target.expected, events);
      } catch (error) {
        startNewStream(stream, target.tail);
        if (error instanceof LogUnavailable && error.applied === 'unknown')
          unknown.set(events, target);
        throw error;
      }
      unknown.delete(events);
      if (result.outcome === 'appended') return result.position;
      // An earlier append failed, or the tails were cleared: continue in a new stream.
      startNewStream(stream, target.tail);
      return this.record(stream, events);
    },
  };
};
