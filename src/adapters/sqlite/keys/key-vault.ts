import { createSecretKey, type KeyObject } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import type { KeyVault, MovableKeys, Unsealed } from '#src/ports/system.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import {
  freshKey,
  openText,
  sealText,
  subjectOf,
  unwrapKey,
  wrapKey,
} from '#src/adapters/sealing.ts';
import { type CommitResult, committer } from '../log/committer.ts';
import { type Commits, threadCommits } from '../log/commits.ts';
import { KEY_RECORDING, KEY_STORE, openKeyFile } from './key-file.ts';
import { keyWriter } from './key-writer.ts';
import { fileAt } from '../log/log-file.ts';

/** Of a few hundred bytes each. */
const KNOWN_MAX = 10_000;

/** LogUnavailable where what was asked for did not happen. */
const required = (
  result: CommitResult,
  { failed, applied }: { failed: string; applied: 'no' | 'unknown' },
): void => {
  if (result.kind === 'committed') return;
  const reason = result.failure === 'full' ? 'full' : 'fault';
  throw new LogUnavailable(reason, applied, `${failed}: ${result.text}`);
};
const STORED = { failed: 'no key was stored', applied: 'no' } as const;
const DESTROYED = { failed: 'a key may not be destroyed yet', applied: 'unknown' } as const;

/**
 * Keys of personal data in a file of their own, wrapped by `wrappingKey`: AES-256-GCM, the subject as
 * associated data. Destroying a key overwrites it where SQLite kept it: secure_delete, then the
 * write-ahead log folded in and cut off. A destroyed subject keeps a row without a key, so that its
 * data cannot come back under a fresh one. A thread writes the file. `file` may be ':memory:'. Throws
 * StartupError when what is there was wrapped with another key.
 */
export const sqliteKeyVault = (file: string, wrappingKey: Buffer): KeyVault & MovableKeys => {
  const { db, start } = file === ':memory:' ? inMemory() : inFile(file);
  const wrapping = createSecretKey(wrappingKey);
  requireSameKey(db, file, wrapping);
  const find = db.prepare('SELECT wrapped FROM keys WHERE subject = ?');
  const writer = keyWriter(start);

  /** Keys asked for lately. No other process changes the file while this one has it. */
  const known = new Map<string, KeyObject>();
  /** Subjects whose row is being written, and what it will have. */
  const underWay = new Map<string, Promise<KeyObject | null>>();

  const keep = (subject: string, key: KeyObject): KeyObject => {
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(subject, key);
    return key;
  };

  const keyOf = (subject: string): KeyObject | null | undefined => {
    const kept = known.get(subject);
    if (kept) return kept;
    const row = find.get(subject) as { wrapped: Uint8Array | null } | undefined;
    if (row === undefined) return undefined;
    if (row.wrapped === null) return null;
    return keep(subject, unwrapKey(wrapping, subject, Buffer.from(row.wrapped)));
  };

  const write = (
    subject: string,
    work: () => Promise<KeyObject | null>,
  ): Promise<KeyObject | null> => {
    const written = work().finally(() => underWay.delete(subject));
    underWay.set(subject, written);
    return written;
  };

  const store = (subject: string, key: KeyObject) =>
    write(subject, async () => {
      const wrapped = new Uint8Array(wrapKey(wrapping, subject, key));
      required(await writer.write(subject, wrapped), STORED);
      return keep(subject, key);
    });

  const forget = (subject: string) =>
    write(subject, async () => {
      const result = await writer.write(subject, null);
      // Whatever became of it, the file knows.
      known.delete(subject);
      required(result, DESTROYED);
      return null;
    });

  /** The subject's key, else `make`'s, durable before the event that needs it; null when destroyed. */
  const keyFor = async (subject: string, make: () => KeyObject): Promise<KeyObject | null> => {
    const found = underWay.get(subject) ?? keyOf(subject);
    return found === undefined ? store(subject, make()) : found;
  };

  const open = (sealed: string): Unsealed => {
    const subject = subjectOf(sealed);
    if (subject === undefined) return undefined;
    const key = keyOf(subject);
    return key && openText(key, subject, sealed);
  };

  const destroy = async (subject: string): Promise<boolean> => {
    for (let other; (other = underWay.get(subject)); ) await other.catch(() => null);
    const had = keyOf(subject);
    // Also without a key: whoever was erased must not come back under a first one.
    if (had !== null) await forget(subject);
    // Also without a row to change: it makes good what failed before.
    required(await writer.scrub(), DESTROYED);
    return Boolean(had);
  };

  return {
    async seal(subject, text) {
      const key = await keyFor(subject, freshKey);
      return key && sealText(key, subject, text);
    },
    async unseal(sealed) {
      return sealed.map(open);
    },
    destroy,
    async knows(subject) {
      const key = keyOf(subject);
      if (key === undefined) return 'never';
      return key === null ? 'destroyed' : 'key';
    },
    async keyOf(subject) {
      const key = keyOf(subject);
      if (key === undefined) return 'never';
      return key?.export() ?? 'destroyed';
    },
    async adopt(subject, key) {
      if (key === 'destroyed') {
        await destroy(subject);
        return true;
      }
      const given = createSecretKey(key);
      const found = await keyFor(subject, () => given);
      return found !== null && found.equals(given);
    },
    async close() {
      await writer.close();
      db.close();
    },
  };
};

/** Any key tells: with another secret none of them opens, and nothing that they sealed. */
export const requireSameKey = (db: DatabaseSync, file: string, wrapping: KeyObject): void => {
  const any = db.prepare('SELECT subject, wrapped FROM keys WHERE wrapped IS NOT NULL LIMIT 1');
  const row = any.get() as { subject: string; wrapped: Uint8Array } | undefined;
  if (!row) return;
  try {
    unwrapKey(wrapping, row.subject, Buffer.from(row.wrapped));
  } catch (error) {
    db.close();
    throw new StartupError(
      `${file} was made with another root secret than this one, and nothing in it can be opened. ` +
        'Restore root.key, or set ROOT_KEY to what it was.',
      { cause: error },
    );
  }
};

/** The file's connection for reads, and who writes it. */
type Opened = { db: DatabaseSync; start(): Commits };

const inFile = (path: string): Opened => {
  const db = openKeyFile(path);
  // What an erasure left undone before a crash. Without room for it now, the next one does it.
  committer(db, KEY_RECORDING).scrub();
  const place = { store: 'keys', path, file: fileAt(path) } as const;
  // A checkpoint that failed left the write-ahead log as it was: the next one does it again.
  return { db, start: () => threadCommits(place, () => {}) };
};

const inMemory = (): Opened => {
  const db = new DatabaseSync(':memory:');
  db.exec(KEY_STORE.schema);
  const { commit, scrub } = committer(db, KEY_RECORDING);
  const close = async (): Promise<void> => {};
  return {
    db,
    start: () => ({
      commit: async (records) => commit(records),
      scrub: async () => scrub(),
      close,
    }),
  };
};
