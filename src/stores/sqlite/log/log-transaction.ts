/** One transaction of the log: decides appends in order, each against the state after the previous. */
import {
  type AppendResult,
  type FoldEvent,
  LogCorrupted,
  NO_STREAM,
  type Position,
  StreamAdvanced,
  type StreamRevision,
} from '#src/ports/event-log.ts';
import type { EncodedAppend } from '#src/stores/event-codec.ts';
import type { Records } from './committer.ts';
import type { LogReader } from './log-reader.ts';
import { foldCrc, sealOf } from './log-records.ts';
import type { StreamHead, StreamHeads } from './stream-heads.ts';

/** The end of the log as committed; replaced as a whole, and only after a commit. */
export type LogHead = { position: Position; at: number | null; seal: number };

/** `later`: depends on an append of the same transaction, which the file does not have yet. */
export type AppendDecision = AppendResult | LogCorrupted | StreamAdvanced | 'later';

type State = { head: LogHead; heads: StreamHeads; reader: LogReader; hasSubscribers: boolean };

/** Its fields are what a commit would make true; nothing outside sees them before. */
export class LogTransaction {
  readonly #committed: StreamHeads;
  readonly #reader: LogReader;
  head: LogHead;
  readonly records: Records = [];
  readonly heads = new Map<string, StreamHead>();
  readonly created: [string, Position][] = [];
  /** Undefined if nobody subscribed to the log when the transaction began. */
  readonly events: FoldEvent[] | undefined;

  constructor({ head, heads, reader, hasSubscribers }: State) {
    this.head = head;
    this.#committed = heads;
    this.#reader = reader;
    this.events = hasSubscribers ? [] : undefined;
  }

  /**
   * Decides on appends that belong together, all before any is written. Returns an error if only they are affected.
   */
  append(requests: readonly EncodedAppend[]): AppendDecision {
    const writes: (() => AppendResult)[] = [];
    for (const request of requests) {
      const decision = this.#decide(request);
      if (typeof decision !== 'function') return decision;
      writes.push(decision);
    }
    let result: AppendResult = { outcome: 'conflict' };
    for (const write of writes) result = write();
    return result;
  }

  /** Returns the write, which adds nothing if the append is stored; any other decision is that of the whole request. */
  #decide(request: EncodedAppend): (() => AppendResult) | AppendDecision {
    try {
      const uncommitted = this.heads.get(request.stream);
      const head = uncommitted ?? this.#committed.find(request.stream);
      const advanced = request.unchanged.find((other) => this.#hasAdvanced(other));
      if (advanced) return new StreamAdvanced(`${advanced.stream} has a later event`);
      const current = head?.revision ?? NO_STREAM;
      if (request.expected > current) return { outcome: 'conflict' };
      if (!head || request.expected === current) return () => this.#write(request, head);
      if (uncommitted) return 'later';
      const repeated = this.#repeat(request, head);
      return repeated.outcome === 'conflict' ? repeated : () => repeated;
    } catch (error) {
      if (error instanceof LogCorrupted) return error;
      throw error;
    }
  }

  #hasAdvanced({ stream, revision }: StreamRevision): boolean {
    const head = this.heads.get(stream) ?? this.#committed.find(stream);
    return (head?.revision ?? NO_STREAM) > revision;
  }

  #write(request: EncodedAppend, streamHead: StreamHead | undefined): AppendResult {
    const { stream, owner } = request;
    let { position, at, seal } = this.head;
    let revision = streamHead?.revision ?? NO_STREAM;
    const streamId = streamHead?.streamId ?? position + 1;
    for (const event of request.events) {
      const { id, type, data, meta } = event;
      position += 1;
      revision += 1;
      at = event.at;
      const crc = foldCrc([position, stream, revision, type, at, data]);
      seal = sealOf(crc, id, meta);
      this.records.push(position, streamId, revision, owner, stream, id);
      this.records.push(type, at, data, meta, crc, seal);
      if (this.events) {
        // Parsed from the stored text, so that a subscriber sees exactly what a later reader sees.
        const parsed = JSON.parse(data) as object;
        this.events.push({ position, stream, owner, revision, type, at, data: parsed });
      }
    }
    if (!streamHead) this.created.push([stream, streamId]);
    this.heads.set(stream, { streamId, revision });
    this.head = { position, at, seal };
    return { outcome: 'appended', revision, position };
  }

  /** The stream has advanced: the request repeats a stored append, or lost to another one. */
  #repeat({ stream, events, expected }: EncodedAppend, head: StreamHead): AppendResult {
    const last = expected + events.length;
    if (last > head.revision) return { outcome: 'conflict' };
    const { streamId } = head;
    const stored = this.#reader.readStream({ stream, streamId }, expected + 1, last);
    const isSame = stored.every((event, index) => event.id === events[index]?.id);
    const position = stored.at(-1)?.position;
    if (!isSame || position === undefined) return { outcome: 'conflict' };
    return { outcome: 'appended', revision: last, position };
  }
}
