/** The embedded log: one directory, one process, every acknowledged event on the disk. */
import { closeSync, existsSync, openSync, readSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import {
  type EventLog,
  LogCorrupted,
  LogIndexDamaged,
  type LogTrouble,
  LogUnavailable,
  replaceAppends,
} from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { type Upcasts, encodeAppends, UPCASTS, Subscribers } from '#src/stores/event-codec.ts';
import { isOutOfSpace, messageOfError, readLogFile } from '#src/stores/sqlite/failure.ts';
import { lockDirectory } from '#src/stores/sqlite/lock.ts';
import { hasContent, inspectStore, openStore, openToRead } from '#src/stores/sqlite/open.ts';
import { threadCommits } from './commits.ts';
import { ensureMark, fileAt, type MarkedFile, readMark, requireMark } from './log-mark.ts';
import { LogReader, LOG_STORE } from './log-reader.ts';
import { type LogHead, LogTransaction, LogWriter, type WriterOptions } from './log-writer.ts';
import { StreamIndex, StreamHeads } from './stream-index.ts';

// A crash most likely damages the newest records; `log verify` checks the others.
const RECORDS_CHECKED = 1_000;

export const logIdIn = (db: DatabaseSync): string => {
  const id = db.prepare('SELECT id FROM about').get()?.['id'];
  return typeof id === 'string' ? id : '';
};

export const logHeadIn = (db: DatabaseSync): LogHead => {
  const row = db
    .prepare('SELECT position, at, seal FROM events ORDER BY position DESC LIMIT 1')
    .get();
  if (!row) return { position: 0, at: null, seal: 0 };
  return { position: Number(row['position']), at: Number(row['at']), seal: Number(row['seal']) };
};

export type LogFile = {
  db: DatabaseSync;
  id: string;
  head: LogHead;
  /** Identity of the file. Later its path can lead to another file or none. */
  file: string | undefined;
};

/** Converts LogCorrupted to StartupError. */
export const refuseDamage = <T>(open: () => T): T => {
  try {
    return open();
  } catch (error) {
    if (error instanceof LogCorrupted) throw new StartupError(error.message, { cause: error });
    throw error;
  }
};

/** Offset of the application_id in the header of a SQLite file. */
const APPLICATION_ID_OFFSET = 68;

/**
 * Throws StartupError if log.db is another application's file. Reads only its header, which creates no
 * file beside it; with a write-ahead log the header proves nothing, and is not checked.
 */
export const requireLogFile = (directory: string): void => {
  const path = join(directory, 'log.db');
  if (!hasContent(path) || existsSync(`${path}-wal`)) return;
  const file = openSync(path, 'r');
  const id = Buffer.alloc(4);
  readSync(file, id, 0, id.length, APPLICATION_ID_OFFSET);
  closeSync(file);
  if (id.readUInt32BE() === LOG_STORE.applicationId) return;
  throw new StartupError(
    `${path} is not a Tributary event log. Nothing was changed in it. Choose another data directory, ` +
      'or move the file away.',
  );
};

const WAY_FORWARD =
  'Restore the data directory from a backup. Deleting log.mark accepts the loss of all events ' +
  'that were acknowledged after the end of this log; then run `tributary log verify`.';

const readLogMark = (directory: string) => readMark(join(directory, 'log.mark'), WAY_FORWARD);

const requireLogMark = (
  mark: ReturnType<typeof readLogMark>,
  log: Omit<MarkedFile, 'what' | 'unit' | 'wayForward'>,
): void => requireMark(mark, { ...log, what: 'log', unit: 'event', wayForward: WAY_FORWARD });

/**
 * Checks, without changing a byte, that the log is the marked one and as long, and that its newest
 * `checked` records have no accidental damage. Returns the last position; null if there is no log and no mark of one.
 * Throws StartupError.
 */
export const inspectLog = (directory: string, checked = RECORDS_CHECKED): number | null => {
  const path = join(directory, 'log.db');
  const mark = readLogMark(directory);
  const inspect = (db: DatabaseSync): number => {
    const { position } = logHeadIn(db);
    const reader = new LogReader(db, () => position);
    const sealAt = (at: number): number | undefined => reader.sealAt(at);
    requireLogMark(mark, { path, id: logIdIn(db), position, sealAt });
    refuseDamage(() => {
      for (let after = Math.max(0, position - checked); after < position; )
        after += reader.fullRows(after, checked).length;
    });
    return position;
  };
  const head = hasContent(path) ? inspectStore(path, LOG_STORE, inspect) : null;
  if (head === null)
    requireLogMark(mark, { path, id: 'none', position: 0, sealAt: () => undefined });
  return head;
};

/**
 * Opens the log of a data directory, or creates it, after checking that it still holds what was last acknowledged.
 * Throws StartupError.
 */
export const openLogFile = (directory: string, checked = RECORDS_CHECKED): LogFile => {
  inspectLog(directory, checked);
  const path = join(directory, 'log.db');
  const db = openStore(path, LOG_STORE);
  return { db, id: logIdIn(db), head: logHeadIn(db), file: fileAt(path) };
};

export type LogSource = Pick<
  EventLog,
  'id' | 'readAll' | 'readFold' | 'readOwnerFold' | 'head' | 'close'
>;

/**
 * Opens the log of a directory; without `upcasts` its events are read as they were written. Throws StartupError if the
 * directory has no log, or not the marked one.
 */
export const sqliteLogSource = (directory: string, upcasts: Upcasts = {}): LogSource => {
  const path = join(directory, 'log.db');
  if (!existsSync(path)) throw new StartupError(`${directory} holds no log`);
  if (inspectStore(path, LOG_STORE, () => true) === null)
    throw new StartupError(`${path} is empty`);
  const db = openToRead(path);
  const id = logIdIn(db);
  // The service may append while a page is read; the page must contain all events up to this position.
  let head = 0;
  const reader = new LogReader(db, () => head, upcasts);
  try {
    // The mark is read first: a running service may append, and is then ahead of its mark.
    const mark = readLogMark(directory);
    const { position } = logHeadIn(db);
    requireLogMark(mark, { path, id, position, sealAt: (at) => reader.sealAt(at) });
  } catch (error) {
    db.close();
    throw error;
  }
  return {
    id,
    async head() {
      const { position, at } = logHeadIn(db);
      return { position, at };
    },
    async readAll({ after, limit, types }) {
      head = logHeadIn(db).position;
      return reader.readAll(after, limit, types);
    },
    async readFold({ after, limit }) {
      head = logHeadIn(db).position;
      return reader.page(after, limit);
    },
    async readOwnerFold(owner, { after, limit, upTo = Infinity }) {
      const upToHead = Math.min(upTo, logHeadIn(db).position);
      return reader.foldOwner(owner, { after, upTo: upToHead, limit });
    },
    close: async () => db.close(),
  };
};

type Fault = { position: number; reason: string };

export type ScrubResult = {
  /** Number of events from the beginning on without accidental damage. */
  events: number;
  /** The first fault; null if there is none. Position 0: in an index or in the structure of the file. */
  fault: Fault | null;
};

const PAGE = 500;

type VerifiedLog = {
  db: DatabaseSync;
  head: { position: number };
  reader: LogReader;
  index: StreamIndex;
};

const faultOfFile = (db: DatabaseSync): Fault | null => {
  // Compares tables and indexes row by row, but not the contents of the records.
  const row = readLogFile(() => db.prepare('PRAGMA integrity_check(1)').get());
  const reason = row?.['integrity_check'];
  return reason === 'ok' ? null : { position: 0, reason: String(reason) };
};

/** Finds the first record after `after` up to `to` whose checksum or index does not fit. */
const findFault = (log: VerifiedLog, after: number, to: number): Fault | null => {
  let [position, start] = [after, after];
  try {
    // Reads the records in pages and, if that fails, one by one.
    while (position < to) {
      start = position;
      for (const [at, stream, revision] of log.reader.fullRows(position, to - position)) {
        position = at;
        if (revision > 0 || log.index.find(stream) === at) continue;
        const reason = `streams.db does not lead to ${stream}: delete it, and a start rebuilds it from the log`;
        return { position, reason };
      }
    }
    return null;
  } catch (error) {
    if (!(error instanceof LogCorrupted)) throw error;
    const isSingle = position > start || to - start === 1;
    if (isSingle) return { position: Math.max(position, start + 1), reason: error.message };
  }
  for (let single = start; single < to; single += 1) {
    const fault = findFault(log, single, single + 1);
    if (fault) return fault;
  }
  return { position: after + 1, reason: 'a page of the log cannot be read' };
};

/** Compares the indexes with what was counted with each event, in steps. Throws LogIndexDamaged. */
const requireCounts = async (reader: LogReader, pause: () => Promise<unknown>): Promise<void> => {
  for (let owners = reader.ownersAfter(''); owners.length > 0; ) {
    for (const owner of owners) {
      for (let at = reader.requireOwned(owner, 0); at !== undefined; ) {
        await pause();
        at = reader.requireOwned(owner, at);
      }
    }
    await pause();
    owners = reader.ownersAfter(owners.at(-1) ?? '');
  }
  for (let id: number | undefined = 0; id !== undefined; id = reader.requireHeads(id))
    await pause();
};

/**
 * Looks for accidental damage in every record and every index entry of the log. Reads a page per turn; `onProgress`
 * gets the last position of each.
 */
export const verifyLog = async (
  log: VerifiedLog,
  onProgress?: (position: number) => void,
): Promise<ScrubResult> => {
  const end = log.head.position;
  for (let after = 0; after < end; ) {
    const to = Math.min(end, after + PAGE);
    const fault = findFault(log, after, to);
    if (fault) return { events: fault.position - 1, fault };
    after = to;
    onProgress?.(after);
    await nextTurn();
  }
  try {
    await requireCounts(log.reader, nextTurn);
  } catch (error) {
    if (!(error instanceof LogCorrupted)) throw error;
    return { events: end, fault: { position: 0, reason: error.message } };
  }
  // Blocks this process: about a second per million events.
  return { events: end, fault: faultOfFile(log.db) };
};

const CHECKED_EVERY_MS = 86_400_000;
/** The share of the event loop that the daily check takes is about a tenth. */
const CHECK_PAUSE_MS = 25;

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
  /** What runs once a day: finds damage and begins to repair it. */
  check(pauseMs?: number): Promise<void>;
};

/** An index that is found damaged again is not built again sooner. */
const REPAIRED_EVERY_MS = 60_000;

const isIndexDamage = (error: unknown): boolean => error instanceof LogIndexDamaged;
/** Damage that SQLite found, in an index or in the records. */
const isFileDamage = (error: unknown): boolean =>
  error instanceof LogCorrupted && error.cause !== undefined;

/** The parts of an open log, around the head that a commit moves. */
class OpenLog {
  readonly #commits;
  /** What is wrong with an index; undefined if nothing is. */
  #damage: string | undefined;
  #isRepairing = false;
  #isClosing = false;
  readonly #daily = setInterval(() => void this.check(), CHECKED_EVERY_MS).unref();
  #repairedAt = -Infinity;
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
        isOutOfSpace: () => isOutOfSpace(pathOf('log.db')),
        begin: () => this.#begin(),
        onDamage: (error) => this.noticeDamage(error),
        onCommitted: (transaction) => this.#apply(transaction),
      },
      options,
    );
  }

  trouble(): LogTrouble | undefined {
    if (this.writer.isFull())
      return { reason: 'storage_full', detail: 'The disk has no space. Writes are refused.' };
    return this.#damage === undefined
      ? undefined
      : { reason: 'log_index_damaged', detail: `log index damaged: ${this.#damage}` };
  }

  /** Builds the indexes again if the error shows that one may be damaged; meanwhile calls that need the part fail. */
  noticeDamage(error: unknown): void {
    if (!isIndexDamage(error) && !isFileDamage(error)) return;
    const now = performance.now();
    if (this.#isRepairing || now - this.#repairedAt < REPAIRED_EVERY_MS) return;
    this.#isRepairing = true;
    if (isIndexDamage(error)) this.#damage = messageOfError(error);
    void this.#repair();
  }

  /** Reads all records, and compares the indexes with them and with their counts, while the service runs. */
  async check(pauseMs = CHECK_PAUSE_MS): Promise<void> {
    try {
      const end = this.head.position;
      for (let after = 0; after < end; ) {
        const rows = this.reader.fullRows(after, PAGE);
        for (const [position, stream, revision] of rows)
          if (revision === 0 && this.index.find(stream) !== position)
            throw new LogIndexDamaged(`streams.db does not lead to position ${position}`);
        after += rows.length;
        await delay(pauseMs);
      }
      await requireCounts(this.reader, () => delay(pauseMs));
    } catch (error) {
      if (!this.#isClosing) this.noticeDamage(error);
    }
  }

  async #repair(): Promise<void> {
    try {
      // An index that is built from damaged records would hide them.
      for (let after = 0; after < this.head.position; ) {
        after += this.reader.fullRows(after, PAGE).length;
        await nextTurn();
      }
      const rebuilt = await this.#commits.rebuild();
      if (rebuilt.kind === 'failed') throw new Error(rebuilt.text);
      this.index.rebuild();
      this.#damage = undefined;
    } catch (error) {
      this.#damage &&= `${this.#damage}. It could not be built again: ${messageOfError(error)}`;
    } finally {
      this.#isRepairing = false;
      this.#repairedAt = performance.now();
    }
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#daily);
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
  const noticing = <T>(read: (log: OpenLog) => T): T => {
    const opened = open();
    try {
      return read(opened);
    } catch (error) {
      opened.noticeDamage(error);
      throw error;
    }
  };
  const unwritten: Omit<SqliteEventLog, 'append' | 'appendAll'> = {
    id,
    readStream: async (stream, from = 0, limit = Infinity) =>
      noticing(({ heads, reader }) => {
        const head = heads.find(stream);
        if (!head || from > head.revision) return [];
        const { streamId, revision } = head;
        const first = Math.max(0, from);
        const last = Math.min(revision, first + limit - 1);
        return reader.readStream({ stream, streamId }, first, last);
      }),
    readAll: async ({ after, limit, types }) =>
      noticing(({ reader }) => reader.readAll(after, limit, types)),
    readOwner: async (owner, { after, limit, upTo = Infinity }) =>
      noticing(({ reader, head }) =>
        reader.readOwner(owner, { after, upTo: Math.min(upTo, head.position), limit }),
      ),
    readOwnerText: async (owner, { after, limit, upTo = Infinity }) =>
      noticing(({ reader, head }) =>
        reader.textsOfOwner(owner, { after, upTo: Math.min(upTo, head.position), limit }),
      ),
    readOwnerFold: async (owner, { after, limit, upTo = Infinity }) =>
      noticing(({ reader, head }) =>
        reader.foldOwner(owner, { after, upTo: Math.min(upTo, head.position), limit }),
      ),
    readBack: async ({ upTo, limit, owner }) =>
      noticing(({ reader, head }) => reader.readBack(Math.min(upTo, head.position), limit, owner)),
    readTimesBack: async (query) => noticing(({ reader }) => reader.timesBack(query)),
    subscribe: log.subscribers.subscribe,
    readFold: async ({ after, limit }) => open().reader.page(after, limit),
    head: async () => ({ position: open().head.position, at: open().head.at }),
    queuedMs: () => log.writer.queuedMs(),
    trouble: () => log.trouble(),
    verify: async (onProgress) => verifyLog(open(), onProgress),
    check: async (pauseMs) => open().check(pauseMs),
    close() {
      closing ??= log.close().finally(() => lock.release());
      return closing;
    },
  };
  return replaceAppends(unwritten, async (appends) => log.writer.append(encodeAppends(appends)));
};
