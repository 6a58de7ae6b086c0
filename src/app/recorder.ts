import type { AppendResult, EventLog, NewEvent, Position } from '#src/ports/event-log.ts';
import { NO_STREAM } from '#src/ports/event-log.ts';

/**
 * Appends to streams that only this process writes: the name carries the process, so nothing ever
 * races and no append waits for a read. Each stream's revision is known from the append before.
 */
export type Recorder = {
  /** Resolves when the events are durable. */
  record(stream: string, events: readonly NewEvent[]): Promise<Position>;
};

const STREAMS_MAX = 10_000;

type Tail = { revision: number; generation: number };

export const recorder = (log: EventLog, process: string): Recorder => {
  const tails = new Map<string, Tail>();
  let generations = 0;

  const startAfresh = (stream: string, failed: Tail): void => {
    if (tails.get(stream) !== failed) return;
    generations += 1;
    tails.set(stream, { revision: NO_STREAM, generation: generations });
  };

  return {
    async record(stream, events) {
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
      let result: AppendResult;
      try {
        result = await log.append(name, expected, events);
      } catch (error) {
        startAfresh(stream, tail);
        throw error;
      }
      if (result.outcome === 'appended') return result.position;
      // An append before it failed, or a stream forgotten above: go on in a stream of its own.
      startAfresh(stream, tail);
      return this.record(stream, events);
    },
  };
};
