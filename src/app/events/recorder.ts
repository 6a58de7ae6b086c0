import type { AppendResult, EventLog, NewEvent, Position } from '#src/ports/event-log.ts';
import { LogUnavailable, NO_STREAM } from '#src/ports/event-log.ts';

/**
 * Appends to streams that only this process writes: the name carries the process, so nothing ever
 * races and no append waits for a read. Each stream's revision is known from the append before.
 */
export type Recorder = {
  /**
   * Resolves when the events are durable. After an unknown outcome the same array once more is the
   * same append once more: what did happen is not written again.
   */
  record(stream: string, events: readonly NewEvent[]): Promise<Position>;
};

const STREAMS_MAX = 10_000;

type Tail = { revision: number; generation: number };
type Place = { tail: Tail; name: string; expected: number };

export const recorder = (log: EventLog, process: string): Recorder => {
  const tails = new Map<string, Tail>();
  const unknown = new WeakMap<readonly NewEvent[], Place>();
  let generations = 0;

  const startAfresh = (stream: string, failed: Tail): void => {
    if (tails.get(stream) !== failed) return;
    generations += 1;
    tails.set(stream, { revision: NO_STREAM, generation: generations });
  };

  const placeFor = (stream: string, events: readonly NewEvent[]): Place => {
    if (tails.size > STREAMS_MAX) {
      tails.clear();
      generations += 1;
    }
    const tail = tails.get(stream) ?? { revision: NO_STREAM, generation: generations };
    tails.set(stream, tail);
    const name = `${stream}.${process}.${tail.generation}`;
    const expected = tail.revision;
    // Taken before the append resolves: the next call in this turn goes behind this one.
    tail.revision += events.length;
    return { tail, name, expected };
  };

  return {
    async record(stream, events) {
      const place = unknown.get(events) ?? placeFor(stream, events);
      let result: AppendResult;
      try {
        result = await log.append(place.name, place.expected, events);
      } catch (error) {
        startAfresh(stream, place.tail);
        if (error instanceof LogUnavailable && error.applied === 'unknown')
          unknown.set(events, place);
        throw error;
      }
      unknown.delete(events);
      if (result.outcome === 'appended') return result.position;
      // An append before it failed, or a stream forgotten above: go on in a stream of its own.
      startAfresh(stream, place.tail);
      return this.record(stream, events);
    },
  };
};
