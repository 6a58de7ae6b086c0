/** The embedded log: one directory, one process, every acknowledged event on the disk. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type EventLog, LogUnavailable, replaceAppends } from '#src/ports/event-log.ts';
import { encodeAppends, UPCASTS, type Upcasts } from '#src/stores/event-codec.ts';
import { Subscribers } from '#src/stores/subscribers.ts';
import { lockDirectory } from '#src/stores/sqlite/lock.ts';
import { threadCommits } from './commits.ts';
import { ensureMark } from './log-mark.ts';
import { type LogFile, openLogFile, refuseDamage } from './log-open.ts';
import { LogReader } from './log-reader.ts';
import { type LogHead, LogTransaction } from './log-transaction.ts';
import { type ScrubResult, verifyLog } from './log-verify.ts';
import { LogWriter, type WriterOptions } from './log-writer.ts';
import { StreamHeads } from './stream-heads.ts';
import { StreamIndex } from './stream-index.ts';

export type SqliteLogOptions = WriterOptions & {
  directory: string;
  /** A subscriber with more undelivered events reads them from the file. */
  subscriberEventsMax?: number;
  /** Number of newest records to check before the log is used. */
  checkedAtOpen?: number;
  /** Number of new streams in memory before they are written to streams.db. */
  streamsInMemoryMax?: number;
  /** Hashes a stream's name to a number below 2^52. */
  hash?: (name: string) => number;
  upcasts?: Upcasts;
};

export type SqliteEventLog = EventLog & {
  /** Reads all of the log and its indexes, a page per turn. */
  verify(onProgress?: (position: number) => void): Promise<ScrubResult>;
};

/** The parts of an open log, around the head that a commit moves. */
class OpenLog {
  readonly #commits;
  readonly db;
  /** Mutable; all parts read it. */
  readonly head: LogHead;
  readonly reader: LogReader;
  readonly index: StreamIndex;
  readonly heads: StreamHeads;
  readonly subscribers: Subscribers;
  readonly writer: LogWriter;

  constructor({ db, id, head, file }: LogFile, options: SqliteLogOptions) {
    const { directory, upcasts = UPCASTS, hash, streamsInMemoryMax: tailMax } = options;
    const pathOf = (name: string): string => join(directory, name);
    const position = (): number => this.head.position;
    this.db = db;
    this.head = { ...head };
    this.reader = new LogReader(db, position, upcasts);
    const index = { path: pathOf('streams.db'), logId: id, hash, tailMax };
    this.index = new StreamIndex({ ...index, reader: this.reader, head: this.head });
    this.heads = new StreamHeads(db, position, this.index);
    const page: LogReader['page'] = (after, limit) => this.reader.page(after, limit);
    this.subscribers = new Subscribers({ head: position, page }, options.subscriberEventsMax);
    const mark = { path: pathOf('log.mark'), id };
    ensureMark(mark, head);
    const stored = { store: 'log', path: pathOf('log.db'), file, mark } as const;
    this.#commits = threadCommits(stored, (text) => this.writer.stop(text));
    this.writer = new LogWriter(
      {
        commits: this.#commits,
        begin: () => this.#begin(),
        onCommitted: (transaction) => this.#apply(transaction),
      },
      options,
    );
  }

  async close(): Promise<void> {
    await this.writer.close();
    await this.#commits.close();
    this.subscribers.close();
    this.index.close();
    this.db.close();
  }

  #begin(): LogTransaction {
    const { heads, reader } = this;
    const hasSubscribers = this.subscribers.hasAny;
    return new LogTransaction({ head: { ...this.head }, heads, reader, hasSubscribers });
  }

  /** Makes a committed transaction visible. */
  #apply({ head, heads, created, events }: LogTransaction): void {
    Object.assign(this.head, head);
    for (const [stream, streamHead] of heads) this.heads.set(stream, streamHead);
    this.index.add(created);
    if (events) this.subscribers.push(events);
    else this.subscribers.readFromLog();
  }
}

const openLocked = (options: SqliteLogOptions) => {
  mkdirSync(options.directory, { recursive: true, mode: 0o700 });
  const lock = lockDirectory(options.directory);
  let file: LogFile | undefined;
  try {
    const opened = openLogFile(options.directory, options.checkedAtOpen);
    file = opened;
    const log = refuseDamage(() => new OpenLog(opened, options));
    lock.watch((text) => log.writer.stop(text));
    return { id: opened.id, lock, log };
  } catch (error) {
    file?.db.close();
    lock.release();
    throw error;
  }
};

/** Throws StartupError if the directory cannot be used as it is. */
export const sqliteEventLog = (options: SqliteLogOptions): SqliteEventLog => {
  const { id, lock, log } = openLocked(options);
  let closing: Promise<void> | undefined;
  const open = (): OpenLog => {
    if (closing) throw new LogUnavailable('closed', 'no', 'the log is closed');
    return log;
  };
  const unwritten: Omit<SqliteEventLog, 'append' | 'appendAll'> = {
    id,
    async readStream(stream, from = 0, limit = Infinity) {
      const { heads, reader } = open();
      const head = heads.find(stream);
      if (!head || from > head.revision) return [];
      const { streamId, revision } = head;
      const first = Math.max(0, from);
      return reader.readStream({ stream, streamId }, first, Math.min(revision, first + limit - 1));
    },
    readAll: async ({ after, limit, types }) => open().reader.readAll(after, limit, types),
    async readOwner(owner, { after, limit, upTo = Infinity }) {
      const { reader, head } = open();
      return reader.readOwner(owner, { after, upTo: Math.min(upTo, head.position), limit });
    },
    async readOwnerText(owner, { after, limit, upTo = Infinity }) {
      const { reader, head } = open();
      return reader.textsOfOwner(owner, { after, upTo: Math.min(upTo, head.position), limit });
    },
    async readOwnerFold(owner, { after, limit, upTo = Infinity }) {
      const { reader, head } = open();
      return reader.foldOwner(owner, { after, upTo: Math.min(upTo, head.position), limit });
    },
    async readBack({ upTo, limit, owner }) {
      const { reader, head } = open();
      return reader.readBack(Math.min(upTo, head.position), limit, owner);
    },
    subscribe: log.subscribers.subscribe,
    readFold: async ({ after, limit }) => open().reader.page(after, limit),
    async head() {
      const { position, at } = open().head;
      return { position, at };
    },
    queuedMs: () => log.writer.queuedMs(),
    verify: async (onProgress) => verifyLog(open(), onProgress),
    close() {
      closing ??= log.close().finally(() => lock.release());
      return closing;
    },
  };
  return replaceAppends(unwritten, async (appends) => log.writer.append(encodeAppends(appends)));
};
