/**
 * From a stream's name to the position of its first event. Names are often hashes, so their order
 * is random: new ones wait in memory and go to the file in bulk, sorted, off the commit path.
 */
import { hash as digest } from 'node:crypto';
import { LogCorrupted } from '#src/ports/event-log.ts';
import { failureOf, textOf } from '../failure.ts';
import type { LogReader } from './log-reader.ts';
import { type StreamEntry, streamFile } from './stream-file.ts';

/** 52 bits, which a double holds. */
const hashOfName = (name: string): number =>
  Number.parseInt(digest('sha256', name, 'hex').slice(0, 13), 16);

const HASHES = 2 ** 52;
// A chunk of a full tail covers a 32nd of the keys, so that its rows share pages.
const TAIL_MAX = 32_768;
const CHUNK = 1_024;
// A start reads the log from `through` on: also when few streams get many events.
const BEHIND_MAX = 262_144;
const REBUILD_PAGE = 1_000;
const REBUILD_BULK = 262_144;

type IndexOptions = {
  path: string;
  logId: string;
  reader: LogReader;
  head: { position: number; seal: number };
  hash?: (name: string) => number;
  tailMax?: number;
};

const inChunks = (entries: readonly [string, StreamEntry][]): [string, StreamEntry][][] => {
  const count = Math.ceil(entries.length / CHUNK);
  const chunks = Array.from({ length: count }, (): [string, StreamEntry][] => []);
  for (const entry of entries) chunks[Math.floor((entry[1].hash / HASHES) * count)]?.push(entry);
  return chunks.filter((chunk) => chunk.length > 0);
};

const sorted = (entries: StreamEntry[]): StreamEntry[] => entries.sort((a, b) => a.hash - b.hash);

const broken = (what: string): LogCorrupted =>
  new LogCorrupted(
    `streams.db is damaged: ${what}. Stop the service, delete streams.db and start again: it is ` +
      'rebuilt from the log.',
  );

export type StreamIndex = ReturnType<typeof streamIndex>;

export const streamIndex = (options: IndexOptions) => {
  const { reader, head, hash = hashOfName, tailMax = TAIL_MAX } = options;
  const log = { id: options.logId, head: head.position, sealAt: reader.sealAt };
  const file = streamFile(options.path, log);
  const tail = new Map<string, StreamEntry>();
  let flushing = false;
  let closed = false;
  let flushAt = tailMax;

  /** Reads what the file lacks from the log: to the file when it is much, else into the tail. */
  const complete = (): void => {
    const bulk = head.position - file.through() > BEHIND_MAX;
    let gathered: StreamEntry[] = [];
    for (let after = file.through(); after < head.position; ) {
      const rows = reader.foldRows(after, REBUILD_PAGE);
      for (const [position, stream, revision] of rows) {
        if (revision > 0) continue;
        const entry = { hash: hash(stream), streamId: position };
        if (bulk) gathered.push(entry);
        else tail.set(stream, entry);
      }
      after += rows.length;
      if (bulk && (gathered.length >= REBUILD_BULK || after >= head.position)) {
        const seal = reader.sealAt(after) ?? 0;
        file.add(sorted(gathered), { position: after, seal });
        gathered = [];
      }
    }
  };

  const write = (chunk: [string, StreamEntry][], through?: { position: number; seal: number }) => {
    file.add(sorted(chunk.map((entry) => entry[1])), through);
    for (const [name] of chunk) tail.delete(name);
  };

  const flush = (): void => {
    flushing = true;
    const through = { position: head.position, seal: head.seal };
    const chunks = inChunks([...tail]);
    const step = (): void => {
      if (closed) return;
      const chunk = chunks.pop() ?? [];
      try {
        write(chunk, chunks.length === 0 ? through : undefined);
        flushAt = tailMax;
      } catch {
        // No room, most likely. Nothing is lost: the names stay in memory and are in the log.
        flushAt = tail.size + CHUNK;
        chunks.length = 0;
      }
      flushing = chunks.length > 0;
      if (flushing) setImmediate(step);
    };
    setImmediate(step);
  };

  const found = (wanted: number): number[] => {
    try {
      return file.find(wanted);
    } catch (error) {
      if (failureOf(error) === 'damaged') throw broken(textOf(error));
      throw error;
    }
  };

  complete();
  return {
    /** Position of the stream's first event; undefined when there is no such stream. */
    find(name: string): number | undefined {
      const recent = tail.get(name);
      if (recent) return recent.streamId;
      const wanted = hash(name);
      for (const streamId of found(wanted)) {
        const stored = reader.streamAt(streamId);
        if (stored === name) return streamId;
        // Two names may share a hash; a name that does not have the hash it stands under may not.
        if (stored === undefined || hash(stored) !== wanted) {
          throw broken(`it points at position ${streamId} for a stream that is not there`);
        }
      }
      return undefined;
    },
    /** Called after the commit that created the streams, when `head` has moved past them. */
    note(created: readonly (readonly [string, number])[]): void {
      for (const [name, streamId] of created) tail.set(name, { hash: hash(name), streamId });
      if (flushing || closed) return;
      const far = head.position - file.through() >= BEHIND_MAX && flushAt === tailMax;
      if (tail.size >= flushAt || far) flush();
    },
    close(): void {
      closed = true;
      const chunks = inChunks([...tail]);
      try {
        for (const chunk of chunks) write(chunk);
        if (head.position > file.through())
          file.add([], { position: head.position, seal: head.seal });
      } catch {
        // As in a flush: the next start reads these names from the log.
      }
      file.close();
    },
  };
};
