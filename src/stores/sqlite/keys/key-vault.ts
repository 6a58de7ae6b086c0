import { createSecretKey, type KeyObject } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import type { KeyVault, MovableKeys, SubjectKey, Unsealed } from '#src/ports/system.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
import { GenerationCache } from '#src/stores/generation-cache.ts';
import { freshKey, openText, sealText, subjectOf, wrapKey } from '#src/system/crypto-seal.ts';
import { type CommitResult, Committer } from '#src/stores/sqlite/log/committer.ts';
import { type Commits, threadCommits } from '#src/stores/sqlite/log/commits.ts';
import { fileAt } from '#src/stores/sqlite/log/log-file.ts';
import { KEY_RECORDING, KEY_STORE, openKeyFile } from './key-file.ts';
import { exportKey, KeyReader } from './key-reader.ts';
import { KeyWriter } from './key-writer.ts';

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

class SqliteKeyVault implements KeyVault, MovableKeys {
  readonly #db: DatabaseSync;
  readonly #wrapping: KeyObject;
  readonly #reader: KeyReader;
  readonly #writer: KeyWriter;
  /** Valid because no other process changes the file while this one has it. */
  readonly #cached = new GenerationCache<string, KeyObject>(CACHED_KEYS_MAX);
  /** Subjects whose row is being written, with its future key. */
  readonly #pending = new Map<string, Promise<KeyObject | null>>();

  constructor(file: string, wrappingKey: Buffer) {
    const { db, start } = file === ':memory:' ? openInMemory() : openInFile(file);
    this.#db = db;
    this.#wrapping = createSecretKey(wrappingKey);
    this.#reader = new KeyReader(db, file, this.#wrapping);
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
    const key = this.#find(subject);
    // Also without a key: an erased subject must never get a first one.
    if (key !== null) await this.#erase(subject);
    // Also without a row to change: this completes an erasure that failed before.
    requireCommitted(await this.#writer.scrub(), NOT_DESTROYED);
    return Boolean(key);
  }

  async knows(subject: string): Promise<'key' | 'destroyed' | 'never'> {
    const key = this.#find(subject);
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

  /** Returns null if the key was destroyed, undefined if there never was one. */
  #find(subject: string): KeyObject | null | undefined {
    const cached = this.#cached.get(subject);
    if (cached) return cached;
    const key = this.#reader.read(subject);
    if (key) this.#cached.set(subject, key);
    return key;
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
      // Even if the write failed: the file has the current state.
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
    if (subject === undefined) return undefined;
    const key = this.#find(subject);
    return key && openText(key, subject, sealed);
  }
}

/**
 * Opens a file of personal data's keys, each wrapped by `wrappingKey` (AES-256-GCM, the subject as
 * associated data). Destroying a key overwrites it in the file (secure_delete) and truncates the
 * write-ahead log. A destroyed subject keeps a row without a key, so that it cannot get a new one. A
 * thread writes the file. `file` can be ':memory:'. Throws StartupError if the keys in the file were
 * wrapped with another key.
 */
export const sqliteKeyVault = (file: string, wrappingKey: Buffer): KeyVault & MovableKeys =>
  new SqliteKeyVault(file, wrappingKey);

/** The connection that reads, and the function that starts the writer. */
type OpenKeys = { db: DatabaseSync; start(): Commits };

const openInFile = (path: string): OpenKeys => {
  const db = openKeyFile(path);
  // Completes an erasure that a crash interrupted. If the disk is full, the next erasure does it.
  new Committer(db, KEY_RECORDING).scrub();
  const file = { store: 'keys', path, file: fileAt(path) } as const;
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
      close: async () => {},
    }),
  };
};
