/** The embedded log: one directory, one process, every acknowledged event on the disk. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type EventLog, LogUnavailable } from '#src/ports/event-log.ts';
import { encodeAppend, UPCASTS, type Upcasts } from '#src/adapters/event-codec.ts';
import { subscribers } from '#src/adapters/subscribers.ts';
import { threadCommits } from './commits.ts';
import { lockDirectory } from '../lock.ts';
import { markKeeper } from './log-mark.ts';
import { type OpenedLog, openLog, orRefuse } from './log-open.ts';
import { logReader } from './log-reader.ts';
import { logTransaction, type Staged } from './log-transaction.ts';
import { logWriter, type WriterOptions } from './log-writer.ts';
import { type Verification, verifyLog } from './log-verify.ts';
import { streamHeads } from './stream-heads.ts';
import { streamIndex } from './stream-index.ts';

export type SqliteLogOptions = WriterOptions & {
  directory: string;
  /** A subscriber further behind than this reads from the file again. */
  subscriberEventsMax?: number;
  markEveryMs?: number;
  /** So many of the newest records are checked before the log is used. */
  checkedAtOpen?: number;
  /** How many new streams wait in memory before streams.db takes them. */
  streamsInMemoryMax?: number;
  /** Of a stream's name, below 2^52. */
  hash?: (name: string) => number;
  upcasts?: Upcasts;
};

export type SqliteEventLog = EventLog & {
  /** Reads all of the log and its indexes, a page per turn. */
  verify(onProgress?: (position: number) => void): Promise<Verification>;
};

const MARK_EVERY_MS = 1_000;

const assemble = (opened: OpenedLog, options: SqliteLogOptions) => {
  const { db, id, file } = opened;
  const { directory, upcasts = UPCASTS, hash } = options;
  const head = { ...opened.head };
  const reader = logReader(db, () => head.position, upcasts);
  const index = streamIndex({
    path: join(directory, 'streams.db'),
    logId: id,
    reader,
    head,
    ...(hash && { hash }),
    ...(options.streamsInMemoryMax && { tailMax: options.streamsInMemoryMax }),
  });
  const heads = streamHeads(db, () => head.position, index);
  const followers = subscribers(
    { head: () => head.position, page: reader.page },
    options.subscriberEventsMax,
  );
  const transaction = logTransaction({ reader, heads, followed: followers.any });
  const mark = markKeeper(
    join(directory, 'log.mark'),
    options.markEveryMs ?? MARK_EVERY_MS,
    () => ({
      id,
      position: head.position,
      seal: head.seal,
    }),
  );
  const committed = (staged: Staged): void => {
    Object.assign(head, staged.head);
    for (const [stream, streamHead] of staged.heads) heads.keep(stream, streamHead);
    index.note(staged.created);
    if (staged.events) followers.push(staged.events);
    else followers.readOn();
    mark.touch();
  };
  const begin = (): Staged => transaction.begin({ ...head });
  const path = join(directory, 'log.db');
  const commits = threadCommits({ store: 'log', path, file }, (text) => writer.stop(text));
  const writer = logWriter(commits, { transaction, begin, committed }, options);
  const close = async (): Promise<void> => {
    await writer.close();
    await commits.close();
    followers.close();
    await mark.close();
    index.close();
    db.close();
  };
  return { head, reader, index, heads, followers, writer, close };
};

/** Throws StartupError when the directory cannot be used as it is. */
export const sqliteEventLog = (options: SqliteLogOptions): SqliteEventLog => {
  mkdirSync(options.directory, { recursive: true, mode: 0o700 });
  const lock = lockDirectory(options.directory);
  let opened: OpenedLog | undefined;
  let log: ReturnType<typeof assemble>;
  try {
    const found = openLog(options.directory, options.checkedAtOpen);
    opened = found;
    log = orRefuse(() => assemble(found, options));
  } catch (error) {
    opened?.db.close();
    lock.release();
    throw error;
  }
  lock.watch(log.writer.stop);
  const { db, id } = opened;
  let closing: Promise<void> | undefined;
  const open = (): typeof log => {
    if (closing) throw new LogUnavailable('closed', 'no', 'the log is closed');
    return log;
  };
  return {
    id,
    async append(stream, expected, events) {
      const encoded = encodeAppend(stream, expected, events);
      return log.writer.append({ stream, expected, ...encoded });
    },
    async readStream(stream, from = 0) {
      const { heads, reader } = open();
      const known = heads.find(stream);
      if (!known || from > known.revision) return [];
      return reader.stream(stream, known.streamId, Math.max(0, from), known.revision);
    },
    readAll: async ({ after, limit, types }) => open().reader.all(after, limit, types),
    readOwner: async (owner, { after, limit, upTo }) =>
      open().reader.owner(owner, after, Math.min(upTo ?? Infinity, log.head.position), limit),
    async readBack({ upTo, limit, owner }) {
      const { reader, head } = open();
      return reader.back(Math.min(upTo, head.position), limit, owner);
    },
    subscribe: (from) => log.followers.subscribe(from),
    readFold: async ({ after, limit }) => open().reader.page(after, limit),
    async head() {
      const { position, at } = open().head;
      return { position, at };
    },
    verify: async (onProgress) => verifyLog(db, open(), onProgress),
    close() {
      closing ??= log.close().finally(() => lock.release());
      return closing;
    },
  };
};
