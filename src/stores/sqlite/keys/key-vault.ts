/** The key vault of the embedded log. */
import { type KeyObject, createSecretKey } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LogUnavailable, type Position } from '#src/ports/event-log.ts';
import { subjectOf } from '#src/ports/sealed-text.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import type {
  KeyringStore,
  SubjectKey,
  KeyVault,
  MovableKeys,
  Unsealed,
} from '#src/ports/system.ts';
import { GenerationCache } from '#src/stores/caches.ts';
import { messageOfError } from '#src/stores/sqlite/failure.ts';
import { type Commits, threadCommits } from '#src/stores/sqlite/log/event-log.ts';
import { type CommitResult, type Records, Committer } from '#src/stores/sqlite/log/committer.ts';
import { ensureMark, fileAt } from '#src/stores/sqlite/log/log-mark.ts';
import { hasContent, inspectStore, openToRead, queryValue } from '#src/stores/sqlite/open.ts';
import {
  unwrapKey,
  freshKey,
  generationOf,
  KeyDamaged,
  openText,
  sealText,
  type Wrapping,
  wrapKey,
} from '#src/system/crypto-seal.ts';
import {
  acceptsKeyLoss,
  isIntact,
  type WrappedRow,
  replaceKeys,
  KEY_RECORDING,
  KEY_STORE,
  keyCrc,
  keyEndReader,
  keyMarkOf,
  openKeyFile,
  requireKeyMark,
  vaultIdIn,
} from './key-file.ts';

const ROWS = 'SELECT subject, wrapped, crc FROM keys';

/** Reads keys of keys.db and unwraps them. */
export class KeyReader {
  readonly #wrapping: Wrapping;
  readonly #find;

  /** Throws StartupError, and closes `db`, if the keys were wrapped with another key. */
  constructor(db: DatabaseSync, file: string, wrapping: Wrapping) {
    requireSameKey(db, file, wrapping);
    this.#wrapping = wrapping;
    this.#find = db.prepare(`${ROWS} WHERE subject = ?`);
  }

  /** Returns null if the key was destroyed, undefined if there never was one. Throws LogUnavailable, also KeyDamaged. */
  read(subject: string): KeyObject | null | undefined {
    const row = this.#readRow(subject);
    if (!row) return undefined;
    if (!isIntact(row)) throw new KeyDamaged(subject);
    const { wrapped } = row;
    return wrapped && unwrapKey(this.#wrapping, subject, Buffer.from(wrapped));
  }

  #readRow(subject: string): WrappedRow | undefined {
    try {
      return this.#find.get(subject) as WrappedRow | undefined;
    } catch (error) {
      const text = `the key vault cannot be read: ${messageOfError(error)}`;
      throw new LogUnavailable('fault', 'no', text);
    }
  }

  exportKey(subject: string): SubjectKey {
    return exportKey(this.read(subject));
  }
}

export const exportKey = (key: KeyObject | null | undefined): SubjectKey =>
  key === undefined ? 'never' : (key?.export() ?? 'destroyed');

/** Unwraps the first intact key of the file: with other secrets, none of them opens. */
const requireSameKey = (db: DatabaseSync, file: string, wrapping: Wrapping): void => {
  const row = db
    .prepare(`${ROWS} WHERE wrapped IS NOT NULL LIMIT 100`)
    .all()
    .find((one) => isIntact(one as WrappedRow)) as WrappedRow | undefined;
  if (!row) return;
  try {
    unwrapKey(wrapping, row.subject, Buffer.from(row.wrapped ?? []));
  } catch (error) {
    db.close();
    throw new StartupError(
      `${file} was made with another root key than this one, or lost its keyring, and nothing in it can be opened. ` +
        'Restore root.key, or set ROOT_KEY to what it was; or restore the file.',
      { cause: error },
    );
  }
};

type Waiting = { records: Records; resolve(result: CommitResult): void };

const CLOSED: CommitResult = {
  kind: 'failed',
  failure: 'fault',
  committing: false,
  text: 'the key vault is closed',
};

/** Writes keys to the disk: those of one turn in one commit, those that arrive meanwhile in the next. */
export class KeyWriter {
  readonly #start: () => Commits;
  #commits: Commits;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #isClosing = false;

  /** `start` opens the file's writer, and a new one after each fault. */
  constructor(start: () => Commits) {
    this.#start = start;
    this.#commits = start();
  }

  /** `wrapped` null destroys the subject's key. */
  write(subject: string, wrapped: Uint8Array | null): Promise<CommitResult> {
    return this.#request([subject, wrapped, keyCrc(subject, wrapped)]);
  }

  /** Removes every byte of the keys that were destroyed before. */
  scrub(): Promise<CommitResult> {
    return this.#request([]);
  }

  /** Resolves when all waiting calls are answered and the file is closed. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#running;
    await this.#commits.close();
  }

  #request(records: Records): Promise<CommitResult> {
    if (this.#isClosing) return Promise.resolve(CLOSED);
    this.#running ??= this.#run();
    return new Promise((resolve) => {
      this.#waiting.push({ records, resolve });
    });
  }

  async #run(): Promise<void> {
    await nextTurn();
    while (this.#waiting.length > 0) {
      const { writes = [], scrubs = [] } = Object.groupBy(this.#waiting, ({ records }) =>
        records.length > 0 ? 'writes' : 'scrubs',
      );
      this.#waiting = [];
      await this.#settle(writes, (commits) =>
        commits.commit(writes.flatMap(({ records }) => records)),
      );
      await this.#settle(scrubs, (commits) => commits.scrub());
    }
    this.#running = undefined;
  }

  async #settle(
    batch: readonly Waiting[],
    act: (commits: Commits) => Promise<CommitResult>,
  ): Promise<void> {
    if (batch.length === 0) return;
    const result = await act(this.#commits);
    if (result.kind === 'failed' && result.failure === 'fault') {
      await this.#commits.close();
      this.#commits = this.#start();
    }
    for (const { resolve } of batch) resolve(result);
  }
}

/** Of a few hundred bytes each. */
const CACHED_KEYS_MAX = 10_000;

const NOT_STORED = { text: 'no key was stored', applied: 'no' } as const;
const NOT_DESTROYED = { text: 'a key may not be destroyed yet', applied: 'unknown' } as const;

/** Throws LogUnavailable unless the records were committed. */
const requireCommitted = (
  result: CommitResult,
  { text, applied }: { text: string; applied: 'no' | 'unknown' },
): void => {
  if (result.kind === 'committed') return;
  const reason = result.failure === 'full' ? 'full' : 'fault';
  throw new LogUnavailable(reason, applied, `${text}: ${result.text}`);
};

export type VaultOptions = {
  /** The position of the log up to which an empty keys.mark accepts the loss of keys. */
  head?: Position;
  /** Called before a key is destroyed; while it throws, none is. */
  onDestroy?(subject: string): void;
};

class SqliteKeyVault implements KeyVault, MovableKeys {
  readonly #db: DatabaseSync;
  readonly #wrapping: Wrapping;
  readonly #reader: KeyReader;
  readonly #writer: KeyWriter;
  /** Valid because no other process changes the file while this one has it. */
  readonly #cached = new GenerationCache<string, KeyObject>(CACHED_KEYS_MAX);
  /** Subjects whose row is being written, with its future key. */
  readonly #pending = new Map<string, Promise<KeyObject | null>>();

  readonly #onDestroy: (subject: string) => void;

  constructor(
    file: string,
    wrappingKeys: readonly Buffer[],
    { head = 0, onDestroy = () => {} }: VaultOptions,
  ) {
    this.#onDestroy = onDestroy;
    const { db, start } = file === ':memory:' ? openInMemory() : openInFile(file, head);
    this.#db = db;
    this.#wrapping = wrappingKeys.map((key) => createSecretKey(key));
    this.#reader = new KeyReader(db, file, this.#wrapping);
    wrapAgain(db, this.#wrapping);
    this.#writer = new KeyWriter(start);
  }

  async seal(subject: string, text: string): Promise<string | null> {
    const key = await this.#findOrStore(subject, freshKey);
    return key && sealText(key, subject, text);
  }

  async unseal(sealed: readonly string[]): Promise<Unsealed[]> {
    return sealed.map((text) => this.#open(text));
  }

  async destroy(subject: string): Promise<boolean> {
    for (let other; (other = this.#pending.get(subject)); ) await other.catch(() => null);
    const key = this.#stateOf(subject);
    // Also without a key: an erased subject must never get a first one.
    if (key !== null) {
      this.#announce(subject);
      await this.#erase(subject);
    }
    // Also without a row to change: this completes an erasure that failed before.
    requireCommitted(await this.#writer.scrub(), NOT_DESTROYED);
    return Boolean(key);
  }

  async knows(subject: string): Promise<'key' | 'destroyed' | 'never'> {
    const key = this.#stateOf(subject);
    if (key === undefined) return 'never';
    return key === null ? 'destroyed' : 'key';
  }

  async keyOf(subject: string): Promise<SubjectKey> {
    return exportKey(this.#find(subject));
  }

  async adopt(subject: string, key: Uint8Array | 'destroyed'): Promise<boolean> {
    if (key === 'destroyed') {
      await this.destroy(subject);
      return true;
    }
    const adopted = createSecretKey(key);
    const current = await this.#findOrStore(subject, () => adopted);
    return current !== null && current.equals(adopted);
  }

  async close(): Promise<void> {
    await this.#writer.close();
    this.#db.close();
  }

  /** Throws LogUnavailable. */
  #announce(subject: string): void {
    try {
      this.#onDestroy(subject);
    } catch (error) {
      const text = `${NOT_DESTROYED.text}: ${messageOfError(error)}`;
      throw new LogUnavailable('fault', NOT_DESTROYED.applied, text);
    }
  }

  /** Returns null if the key was destroyed, undefined if there never was one. */
  #find(subject: string): KeyObject | null | undefined {
    const cached = this.#cached.get(subject);
    if (cached) return cached;
    const key = this.#reader.read(subject);
    if (key) this.#cached.set(subject, key);
    return key;
  }

  /** As `#find`, and 'damaged'. */
  #stateOf(subject: string): KeyObject | 'damaged' | null | undefined {
    try {
      return this.#find(subject);
    } catch (error) {
      if (error instanceof KeyDamaged) return 'damaged';
      throw error;
    }
  }

  /** Stores the key of `make` if the subject never had one; null if its key was destroyed. */
  async #findOrStore(subject: string, make: () => KeyObject): Promise<KeyObject | null> {
    const current = this.#pending.get(subject) ?? this.#find(subject);
    return current === undefined ? this.#store(subject, make()) : current;
  }

  #store(subject: string, key: KeyObject): Promise<KeyObject | null> {
    return this.#trackWrite(subject, async () => {
      const wrapped = new Uint8Array(wrapKey(this.#wrapping, subject, key));
      requireCommitted(await this.#writer.write(subject, wrapped), NOT_STORED);
      this.#cached.set(subject, key);
      return key;
    });
  }

  #erase(subject: string): Promise<KeyObject | null> {
    return this.#trackWrite(subject, async () => {
      const result = await this.#writer.write(subject, null);
      // Even if the write failed: the file holds the current state.
      this.#cached.delete(subject);
      requireCommitted(result, NOT_DESTROYED);
      return null;
    });
  }

  #trackWrite(subject: string, write: () => Promise<KeyObject | null>): Promise<KeyObject | null> {
    const written = write().finally(() => this.#pending.delete(subject));
    this.#pending.set(subject, written);
    return written;
  }

  #open(sealed: string): Unsealed {
    const subject = subjectOf(sealed);
    const key = subject === undefined ? undefined : this.#stateOf(subject);
    if (subject === undefined || key === undefined) return { key: 'missing' };
    if (key === 'damaged') return { key };
    return key && openText(key, subject, sealed);
  }
}

/** Wraps the keys of earlier generations under the newest one, and leaves no byte of what they were. */
const wrapAgain = (db: DatabaseSync, wrapping: Wrapping): void => {
  const newest = wrapping.length;
  if (newest === 1) return;
  const rows = db.prepare('SELECT wrapped FROM keys WHERE wrapped IS NOT NULL').iterate();
  if (!rows.some((row) => generationOf((row as { wrapped: Uint8Array }).wrapped) < newest)) return;
  replaceKeys(db, (subject, wrapped) => {
    if (generationOf(wrapped) === newest) return wrapped;
    return wrapKey(wrapping, subject, unwrapKey(wrapping, subject, Buffer.from(wrapped)));
  });
  new Committer(db, KEY_RECORDING).scrub();
};

/**
 * Opens a file of personal data's keys, each wrapped by the newest of `wrappingKeys` (AES-256-GCM, the subject as associated
 * data); those of earlier generations are wrapped again. Destroying a key overwrites it in the file (secure_delete) and
 * truncates the write-ahead log. A destroyed subject keeps a row without a key, so that it cannot get a new one. A thread
 * writes the file. `file` can be ':memory:'. Throws StartupError if the keys in the file were wrapped with another key, or
 * acknowledged ones are missing.
 */
export const sqliteKeyVault = (
  file: string,
  wrappingKeys: readonly Buffer[],
  options: VaultOptions = {},
): KeyVault & MovableKeys => new SqliteKeyVault(file, wrappingKeys, options);

/** The connection that reads, and the function that starts the writer. */
type OpenKeys = { db: DatabaseSync; start(): Commits };

/** Checks, without changing a byte, that the vault is the marked one and as long. Throws StartupError. */
export const inspectKeys = (path: string): void => {
  const inspect = (db: DatabaseSync): true => {
    requireKeyMark(path, db);
    return true;
  };
  const isChecked = hasContent(path) && inspectStore(path, KEY_STORE, inspect);
  if (!isChecked) requireKeyMark(path, undefined);
};

const openInFile = (path: string, head: Position): OpenKeys => {
  inspectKeys(path);
  const isAccepted = acceptsKeyLoss(path);
  const db = openKeyFile(path);
  if (isAccepted) db.prepare('UPDATE about SET accepted = ?').run(head);
  const mark = { path: keyMarkOf(path), id: vaultIdIn(db) };
  ensureMark(mark, keyEndReader(db)());
  // Completes an erasure that a crash interrupted. If the disk is full, the next erasure does it.
  new Committer(db, KEY_RECORDING).scrub();
  const file = { store: 'keys', path, file: fileAt(path), mark } as const;
  // A failed checkpoint left the write-ahead log as it was: the next one merges it.
  return { db, start: () => threadCommits(file, () => {}) };
};

const openInMemory = (): OpenKeys => {
  const db = new DatabaseSync(':memory:');
  db.exec(KEY_STORE.schema);
  const committer = new Committer(db, KEY_RECORDING);
  return {
    db,
    start: () => ({
      commit: async (records) => committer.commit(records),
      scrub: async () => committer.scrub(),
      rebuild: async () => committer.run(() => {}),
      close: async () => {},
    }),
  };
};

/** Lists the subjects without a row in the file, which never had a key. Needs no root secret. */
export const listUnknownSubjects = (file: string, subjects: ReadonlySet<string>): string[] => {
  if (!hasContent(file)) return [...subjects];
  const unknown = inspectStore(file, KEY_STORE, (db) => {
    const find = db.prepare('SELECT 1 FROM keys WHERE subject = ?');
    return [...subjects].filter((subject) => find.get(subject) === undefined);
  });
  return unknown ?? [...subjects];
};

/** The position of the log up to which a person accepts that keys are missing; Infinity if the next start accepts more. */
export const acceptedKeyLoss = (file: string): Position => {
  if (acceptsKeyLoss(file)) return Infinity;
  if (!hasContent(file)) return 0;
  const accepted = inspectStore(file, KEY_STORE, (db) =>
    Number(queryValue(db, 'SELECT accepted FROM about')),
  );
  return accepted ?? 0;
};

/**
 * The keyring in keys.db. `isUsed`: the log beside it has events. Reading changes no byte. A person who accepts the loss of
 * keys accepts that of the keyring, and gets a new one.
 */
export const sqliteKeyring = (file: string, isUsed: boolean): KeyringStore => ({
  async readKeyring() {
    inspectKeys(file);
    const stored = hasContent(file)
      ? inspectStore(file, KEY_STORE, (db) => queryValue(db, 'SELECT keyring FROM about'))
      : null;
    if (typeof stored === 'string') return stored;
    return isUsed && !acceptsKeyLoss(file) ? null : undefined;
  },
  async replaceKeyring(before, text) {
    inspectKeys(file);
    const db = openKeyFile(file);
    try {
      const replace = db.prepare('UPDATE about SET keyring = ? WHERE keyring IS ?');
      const { changes } = replace.run(text, before ?? null);
      // Nothing that another root key wraps is left in the write-ahead log.
      new Committer(db, KEY_RECORDING).scrub();
      return changes === 1;
    } catch (error) {
      throw new StartupError(`the keyring in ${file} cannot be written: ${messageOfError(error)}`);
    } finally {
      db.close();
    }
  },
});

export type ReadOnlyKeys = Pick<MovableKeys, 'keyOf'> & { close(): void };

/**
 * Opens keys.db to read it without changing a byte, even while a service has it open. Returns undefined if the file is
 * empty. Throws StartupError as the vault does.
 */
export const openKeysToRead = (
  file: string,
  wrappingKeys: readonly Buffer[],
): ReadOnlyKeys | undefined => {
  inspectKeys(file);
  if (inspectStore(file, KEY_STORE, () => true) === null) return undefined;
  const db = openToRead(file);
  const wrapping = wrappingKeys.map((key) => createSecretKey(key));
  const reader = new KeyReader(db, file, wrapping);
  return {
    keyOf: async (subject) => reader.exportKey(subject),
    close: () => db.close(),
  };
};
