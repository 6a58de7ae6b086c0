/** Last revision of a stream: the recent ones in memory, any other by one look into an index. */
import type { DatabaseSync } from 'node:sqlite';
import { LogCorrupted, type Position } from '#src/ports/event-log.ts';
import { reading } from '../failure.ts';
import type { StreamIndex } from './stream-index.ts';

export type StreamHead = { streamId: number; revision: number };

const HEADS_MAX = 65_536;

export type StreamHeads = ReturnType<typeof streamHeads>;

export const streamHeads = (
  db: DatabaseSync,
  end: () => Position,
  index: StreamIndex,
  max = HEADS_MAX,
) => {
  // Two generations: the older is dropped whole when the younger is full. An exact order of use in
  // one Map costs more than the look-ups it saves, because a Map walks over what was deleted.
  let young = new Map<string, StreamHead>();
  let old = new Map<string, StreamHead>();
  const last = db.prepare(
    'SELECT max(revision) AS revision FROM events WHERE stream_id = ? AND position <= ?',
  );
  const keep = (stream: string, head: StreamHead): void => {
    if (young.size >= max / 2) {
      old = young;
      young = new Map();
    }
    young.set(stream, head);
  };
  return {
    keep,
    /** undefined when there is no such stream. */
    find(stream: string): StreamHead | undefined {
      const known = young.get(stream);
      if (known) return known;
      const older = old.get(stream);
      if (older) {
        keep(stream, older);
        return older;
      }
      const streamId = index.find(stream);
      if (streamId === undefined) return undefined;
      const revision = reading(() => last.get(streamId, end()))?.['revision'];
      if (typeof revision !== 'number') {
        throw new LogCorrupted(
          `the log holds no event of ${stream}, whose first is at ${streamId}`,
        );
      }
      const head = { streamId, revision };
      keep(stream, head);
      return head;
    },
  };
};
