/** One transaction of the log: appends decided in order, each against what those before it left. */
import type { AppendResult, FoldEvent, Position } from '#src/ports/event-log.ts';
import { LogCorrupted, NO_STREAM } from '#src/ports/event-log.ts';
import type { EncodedEvent } from '#src/adapters/event-codec.ts';
import type { Records } from './committer.ts';
import { foldCrc, sealOf } from './log-records.ts';
import type { LogReader } from './log-reader.ts';
import type { StreamHead, StreamHeads } from './stream-heads.ts';

export type AppendRequest = {
  stream: string;
  owner: string;
  expected: number;
  events: EncodedEvent[];
};

/** The end of the log as committed; replaced as a whole, and only after a commit. */
export type LogHead = { position: Position; at: number | null; seal: number };

/** What a transaction would make true. Nothing of it is known outside before the commit. */
export type Staged = {
  head: LogHead;
  records: Records;
  heads: Map<string, StreamHead>;
  created: [string, Position][];
  /** Undefined when nobody followed the log as it began. */
  events: FoldEvent[] | undefined;
};

/** Decided now, or `later`: by what the transaction before it leaves. */
export type Decided = AppendResult | LogCorrupted | 'later';

export const logTransaction = (parts: {
  reader: LogReader;
  heads: StreamHeads;
  followed: () => boolean;
}) => {
  const write = (
    staged: Staged,
    request: AppendRequest,
    known: StreamHead | undefined,
  ): AppendResult => {
    const { stream, owner } = request;
    let { position, at, seal } = staged.head;
    let revision = known?.revision ?? NO_STREAM;
    const streamId = known?.streamId ?? position + 1;
    for (const event of request.events) {
      const { id, type, data, meta } = event;
      position += 1;
      revision += 1;
      at = event.at;
      const crc = foldCrc([position, stream, revision, type, at, data]);
      seal = sealOf(crc, id, meta);
      staged.records.push(position, streamId, revision, owner, stream, id);
      staged.records.push(type, at, data, meta, crc, seal);
      if (staged.events) {
        // Parsed from the text: a follower sees exactly what a later reader will.
        const parsed = JSON.parse(data) as object;
        staged.events.push({ position, stream, owner, revision, type, at, data: parsed });
      }
    }
    if (!known) staged.created.push([stream, streamId]);
    staged.heads.set(stream, { streamId, revision });
    staged.head = { position, at, seal };
    return { outcome: 'appended', revision, position };
  };

  /** The stream is further than expected: the same append again, or somebody else's. */
  const repeated = (request: AppendRequest, known: StreamHead): AppendResult => {
    const { stream, events, expected } = request;
    const last = expected + events.length;
    if (last > known.revision) return { outcome: 'conflict' };
    const stored = parts.reader.stream(stream, known.streamId, expected + 1, last);
    const same = stored.every((event, index) => event.id === events[index]?.id);
    const position = stored.at(-1)?.position;
    if (!same || position === undefined) return { outcome: 'conflict' };
    return { outcome: 'appended', revision: last, position };
  };

  return {
    begin: (head: LogHead): Staged => ({
      head,
      records: [],
      heads: new Map(),
      created: [],
      events: parts.followed() ? [] : undefined,
    }),
    /** A LogCorrupted is this request's alone: it was met before anything was written. */
    append(staged: Staged, request: AppendRequest): Decided {
      let known: StreamHead | undefined;
      try {
        const fresh = staged.heads.get(request.stream);
        known = fresh ?? parts.heads.find(request.stream);
        const current = known?.revision ?? NO_STREAM;
        if (known && request.expected < current) {
          // What it may repeat is not in the file yet.
          return fresh ? 'later' : repeated(request, known);
        }
        if (request.expected > current) return { outcome: 'conflict' };
      } catch (error) {
        if (error instanceof LogCorrupted) return error;
        throw error;
      }
      return write(staged, request, known);
    },
  };
};
