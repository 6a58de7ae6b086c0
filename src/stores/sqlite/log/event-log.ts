/** The embedded log: one directory, one process, every acknowledged event on the disk. */
import { closeSync, existsSync, openSync, readSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { UPCASTS, type Upcasts } from '#contracts/registries/events.ts';
import {
  type EventLog,
  LogCorrupted,
  LogIndexDamaged,
  type LogTrouble,
  LogUnavailable,
  replaceAppends,
  type AppendResult,
  type FoldEvent,
  NO_STREAM,
  type Position,
  StreamAdvanced,
  type StreamRevision,
} from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import {
  encodeAppends,
  readAnyEvent,
  Subscribers,
  type EncodedAppend,
  versionedType,
} from '#src/stores/event-codec.ts';
import { isOutOfSpace, messageOfError, readLogFile } from '#src/stores/sqlite/failure.ts';
import { lockDirectory } from '#src/stores/sqlite/lock.ts';
import { hasContent, inspectStore, openStore, openToRead } from '#src/stores/sqlite/open.ts';
import { ensureMark, fileAt, type MarkedFile, readMark, requireMark } from './log-mark.ts';
import { LOG_STORE, foldCrc, sealOf } from './log-file.ts';
import { LogReader } from './log-reader.ts';
import { StreamIndex, StreamHeads, type StreamHead } from './stream-index.ts';
import type { CommitResult, Records } from './committer.ts';
import type { StoreFile, ThreadReply, ThreadRequest } from './commit-thread.ts';

/** The main thread's side of a thread that writes a file: one request at a time, each answered. */
export type Commits = {
  /** Resolves when the records are on the disk, or with the reason why they may not be. */
  commit(records: Records): Promise<CommitResult>;
  /** Resolves when nothing overwritten is left in the write-ahead log, or with the reason. */
  scrub(): Promise<CommitResult>;
  /** Resolves when the indexes of the log are built again, or with the reason. Commits wait meanwhile. */
  rebuild(): Promise<CommitResult>;
  /** Resolves when the thread has closed the file. */
  close(): Promise<void>;
};

/**
 * Starts the thread with the first commit, so that a process that only reads does not wait for it.
 * Calls `onFault` when the file can accept nothing more, also without a commit under way.
 */
export const threadCommits = (file: StoreFile, onFault: (text: string) => void): Commits => {
  let thread: CommitThread | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  const request = (what: ThreadRequest): Promise<CommitResult> => {
    const result = turn.then(() => (thread ??= new CommitThread(file, onFault)).request(what));
    turn = result;
    return result;
  };
  return {
    commit: (records) => request({ kind: 'commit', records }),
    scrub: () => request({ kind: 'scrub' }),
    rebuild: () => request({ kind: 'rebuild' }),
    close: async () => thread?.close(),
  };
};

const faultResult = (text: string, committing: boolean): CommitResult => ({
  kind: 'failed',
  failure: 'fault',
  committing,
  text,
});

class CommitThread {
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  #settle: ((result: CommitResult) => void) | undefined;
  #fault: string | undefined;

  constructor(file: StoreFile, onFault: (text: string) => void) {
    this.#worker = new Worker(new URL('./commit-thread.ts', import.meta.url), { workerData: file });
    this.#worker.on('message', (reply: ThreadReply) => {
      if (reply.kind === 'checkpoint failed') onFault(reply.text);
      else this.#answer(reply);
    });
    this.#worker.on('error', (error) => {
      this.#fault = messageOfError(error);
      onFault(this.#fault);
    });
    this.#exited = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#fault ??= 'its thread has ended';
        // It is unknown whether the commit under way reached the disk.
        this.#answer(faultResult(this.#fault, true));
        resolve();
      });
    });
  }

  request(request: ThreadRequest): Promise<CommitResult> {
    if (this.#fault !== undefined) return Promise.resolve(faultResult(this.#fault, false));
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#worker.ref();
      this.#worker.postMessage(request);
    });
  }

  async close(): Promise<void> {
    this.#worker.ref();
    this.#worker.postMessage({ kind: 'close' } satisfies ThreadRequest);
    await this.#exited;
  }

  #answer(result: CommitResult): void {
    // The thread keeps the process alive only while a caller waits for a commit.
    this.#worker.unref();
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.(result);
  }
}

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
 * Opens the log of a directory to read it. Throws StartupError if the directory has no log, or not the marked one.
 */
export const sqliteLogSource = (directory: string, upcasts: Upcasts = UPCASTS): LogSource => {
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
        return reader.readStream({ stream, streamId }, [first, last]);
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
  return replaceAppends(unwritten, async (appends) =>
    log.writer.append(encodeAppends(appends, options.upcasts)),
  );
};

// Appends that arrive while a commit is under way share the next one (group commit: 19 times the throughput with 256 in
// flight). There is no timer: the slower the disk, the more appends share.

export type WriterOptions = {
  /** 'each' uses one transaction for every append, to measure what sharing gains. */
  commit?: 'turn' | 'each';
  /** Limits how long one turn occupies the event loop. */
  appendsInTurnMax?: number;
  queueAppendsMax?: number;
  queueBytesMax?: number;
  /** A monotonic clock in milliseconds. */
  monotonic?: () => number;
  /** The disk failed, and it is unknown what is stored. The process should end. */
  onFatal?: (error: Error) => void;
};

const APPENDS_IN_TURN_MAX = 512;
const BYTES_IN_TURN_MAX = 8_388_608;
const QUEUE_APPENDS_MAX = 4_096;
const QUEUE_BYTES_MAX = 67_108_864;
const SPACE_CHECKED_EVERY_MS = 1_000;

type Waiting = {
  since: number;
  requests: readonly EncodedAppend[];
  bytes: number;
  resolve(result: AppendResult): void;
  reject(error: Error): void;
};

type FailedCommit = Omit<Extract<CommitResult, { kind: 'failed' }>, 'kind'>;

type WriterSteps = {
  commits: Commits;
  /** Whether the disk of the log has no space. Writes a file to find out. */
  isOutOfSpace(): boolean;
  begin(): LogTransaction;
  /** Called with the error of an append that could not read what it needs. */
  onDamage(error: Error): void;
  /** Runs after a commit and before its appends are answered. */
  onCommitted(transaction: LogTransaction): void;
};

/**
 * Resolves when everything that can continue without waiting has run: subscribers have folded the
 * events, and remote stores have been sent them, before callers spend time on their answers.
 */
const subscribersHaveRun = (): Promise<void> =>
  new Promise((resolve) => {
    process.nextTick(resolve);
  });

export class LogWriter {
  readonly #steps: WriterSteps;
  readonly #options: WriterOptions;
  readonly #turnMax: number;
  readonly #monotonic: () => number;
  #queue: Waiting[] = [];
  #queuedBytes = 0;
  #isScheduled = false;
  #isClosing = false;
  #fault: string | undefined;
  /** When space was last missed, by the monotonic clock; undefined since a later commit, or a later look. */
  #fullAt: number | undefined;
  #onDrained: (() => void) | undefined;

  constructor(steps: WriterSteps, options: WriterOptions) {
    this.#steps = steps;
    this.#options = options;
    this.#monotonic = options.monotonic ?? (() => performance.now());
    this.#turnMax =
      options.commit === 'each' ? 1 : (options.appendsInTurnMax ?? APPENDS_IN_TURN_MAX);
  }

  /** Appends all of `requests` in one commit, or none. */
  append(requests: readonly EncodedAppend[]): Promise<AppendResult> {
    let bytes = 0;
    for (const { events } of requests) for (const event of events) bytes += event.bytes;
    const refusal = this.#refusalOf(bytes);
    if (refusal) return Promise.reject(refusal);
    this.#queuedBytes += bytes;
    if (!this.#isScheduled) this.#schedule();
    return new Promise((resolve, reject) => {
      this.#queue.push({ since: this.#monotonic(), requests, bytes, resolve, reject });
    });
  }

  /** Milliseconds that the first append in the queue has waited for the commit under way; 0 if none waits. */
  queuedMs(): number {
    const [first] = this.#queue;
    return first ? this.#monotonic() - first.since : 0;
  }

  /**
   * Whether the last commit found no space, and there is none yet. Looks again, because nobody may write to a service
   * that says so.
   */
  isFull(): boolean {
    if (this.#fullAt === undefined) return false;
    const now = this.#monotonic();
    if (now - this.#fullAt < SPACE_CHECKED_EVERY_MS) return true;
    this.#fullAt = this.#steps.isOutOfSpace() ? now : undefined;
    return this.#fullAt !== undefined;
  }

  /** Refuses all appends from now on and reports `text` to `onFatal`, once. */
  stop(text: string): void {
    if (this.#fault) return;
    this.#fault = `the log stopped writing: ${text}`;
    const queue = this.#queue;
    this.#queue = [];
    this.#queuedBytes = 0;
    for (const { reject } of queue) reject(new LogUnavailable('fault', 'no', this.#fault));
    this.#options.onFatal?.(new Error(this.#fault));
  }

  /** Refuses new appends; resolves when all queued ones are answered. */
  async close(): Promise<void> {
    this.#isClosing = true;
    if (!this.#isScheduled) return;
    await new Promise<void>((resolve) => {
      this.#onDrained = resolve;
    });
  }

  #refusalOf(bytes: number): LogUnavailable | undefined {
    if (this.#isClosing) return new LogUnavailable('closed', 'no', 'the log is closed');
    if (this.#fault) return new LogUnavailable('fault', 'no', this.#fault);
    const { queueAppendsMax = QUEUE_APPENDS_MAX, queueBytesMax = QUEUE_BYTES_MAX } = this.#options;
    const count = this.#queue.length;
    if (count < queueAppendsMax && this.#queuedBytes + bytes <= queueBytesMax) return undefined;
    const detail = `${count} appends (${this.#queuedBytes} bytes) are waiting`;
    return new LogUnavailable('overloaded', 'no', detail);
  }

  #schedule(): void {
    this.#isScheduled = true;
    setImmediate(() => void this.#runTurn());
  }

  async #runTurn(): Promise<void> {
    let count = 0;
    let bytes = 0;
    const queue = this.#queue;
    while (count < this.#turnMax && count < queue.length && bytes < BYTES_IN_TURN_MAX) {
      bytes += queue[count]?.bytes ?? 0;
      count += 1;
    }
    this.#queuedBytes -= bytes;
    const batch = queue.splice(0, count);
    if (batch.length > 0) await this.#write(batch);
    if (this.#queue.length > 0) {
      this.#schedule();
      return;
    }
    this.#isScheduled = false;
    this.#onDrained?.();
  }

  async #write(batch: Waiting[]): Promise<void> {
    const transaction = this.#steps.begin();
    let decisions: AppendDecision[];
    try {
      decisions = batch.map(({ requests }) => transaction.append(requests));
    } catch (error) {
      // The file could not be read, and nothing was written.
      const text = messageOfError(error);
      this.#fail(batch, { failure: 'fault', committing: false, text });
      return;
    }
    if (transaction.records.length > 0) {
      const result = await this.#steps.commits.commit(transaction.records);
      if (result.kind === 'failed') {
        this.#fail(batch, result);
        return;
      }
      this.#fullAt = undefined;
      this.#steps.onCommitted(transaction);
      await subscribersHaveRun();
    }
    this.#answer(batch, decisions);
  }

  #answer(batch: Waiting[], decisions: AppendDecision[]): void {
    const later: Waiting[] = [];
    for (const [index, waiting] of batch.entries()) {
      const decision = decisions[index];
      if (decision instanceof Error) {
        this.#steps.onDamage(decision);
        waiting.reject(decision);
      } else if (decision === 'later') later.push(waiting);
      else if (decision) waiting.resolve(decision);
    }
    for (const { bytes } of later) this.#queuedBytes += bytes;
    if (later.length > 0) this.#queue = [...later, ...this.#queue];
  }

  #fail(batch: Waiting[], { failure, committing, text }: FailedCommit): void {
    const isFull = failure === 'full';
    if (isFull) this.#fullAt = this.#monotonic();
    const applied = committing && !isFull ? 'unknown' : 'no';
    const detail = isFull ? `no space on the disk: ${text}` : `the log failed: ${text}`;
    for (const { reject } of batch)
      reject(new LogUnavailable(isFull ? 'full' : 'fault', applied, detail));
    if (!isFull && (committing || failure !== 'busy')) this.stop(text);
  }
}

/** The end of the log as committed; replaced as a whole, and only after a commit. */
export type LogHead = { position: Position; at: number | null; seal: number };

/** `later`: depends on an append of the same transaction, which the file does not have yet. */
type AppendDecision = AppendResult | LogCorrupted | StreamAdvanced | 'later';

type State = { head: LogHead; heads: StreamHeads; reader: LogReader; hasSubscribers: boolean };

/**
 * One transaction of the log: decides appends in order, each against the state after the previous. Its fields are what
 * a commit would make true; nothing outside sees them before.
 */
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
      const { id, data, meta } = event;
      const type = versionedType(event);
      position += 1;
      revision += 1;
      at = event.at;
      const crc = foldCrc([position, stream, revision, type, at, data]);
      seal = sealOf(crc, id, meta);
      this.records.push(position, streamId, revision, owner, stream, id);
      this.records.push(type, at, data, meta, crc, seal);
      // Made of the stored text, so that a subscriber sees exactly what a later reader sees.
      this.events?.push(this.#reader.toFold([position, stream, revision, type, at, data, crc]));
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
    const range = [expected + 1, last] as const;
    const stored = this.#reader.readStream({ stream, streamId }, range, readAnyEvent);
    const isSame = stored.every((event, index) => event.id === events[index]?.id);
    const position = stored.at(-1)?.position;
    if (!isSame || position === undefined) return { outcome: 'conflict' };
    return { outcome: 'appended', revision: last, position };
  }
}
