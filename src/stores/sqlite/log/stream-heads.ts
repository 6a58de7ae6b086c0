import type { DatabaseSync } from 'node:sqlite';
import { LogCorrupted, type Position } from '#src/ports/event-log.ts';
import { GenerationCache } from '#src/stores/generation-cache.ts';
import { readLogFile } from '#src/stores/sqlite/failure.ts';
import type { StreamIndex } from './stream-index.ts';

export type StreamHead = { streamId: number; revision: number };

const HEADS_MAX = 65_536;

/** The last revision of each stream: recent ones from memory, others by one index look-up. */
export class StreamHeads {
  readonly #cache = new GenerationCache<string, StreamHead>(HEADS_MAX);
  readonly #index: StreamIndex;
  readonly #logHead: () => Position;
  readonly #last;

  constructor(db: DatabaseSync, logHead: () => Position, index: StreamIndex) {
    this.#index = index;
    this.#logHead = logHead;
    this.#last = db.prepare(
      'SELECT max(revision) AS revision FROM events WHERE stream_id = ? AND position <= ?',
    );
  }

  set(stream: string, head: StreamHead): void {
    this.#cache.set(stream, head);
  }

  /** Returns undefined if there is no such stream. */
  find(stream: string): StreamHead | undefined {
    const cached = this.#cache.get(stream);
    if (cached) return cached;
    const streamId = this.#index.find(stream);
    if (streamId === undefined) return undefined;
    const row = readLogFile(() => this.#last.get(streamId, this.#logHead()));
    const revision = row?.['revision'];
    if (typeof revision !== 'number') {
      throw new LogCorrupted(
        `the log has no event of ${stream}, which should begin at position ${streamId}`,
      );
    }
    const head = { streamId, revision };
    this.#cache.set(stream, head);
    return head;
  }
}
