import type { KeyObject } from 'node:crypto';
import { createSecretKey } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import type { KeyVault, MovableKeys } from '#src/ports/system.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { freshKey, openText, sealText, subjectOf, unwrapKey, wrapKey } from '../sealing.ts';
import { failureOf, textOf } from './failure.ts';
import type { StoreKind } from './open.ts';
import { openStore } from './open.ts';

const KIND: StoreKind = {
  what: 'key vault',
  applicationId: 0x74726b76,
  version: 1,
  // A sealed text whose key is lost is lost: the key is durable before the event that needs it.
  synchronous: 'FULL',
  schema: 'CREATE TABLE keys (subject TEXT PRIMARY KEY, wrapped BLOB) STRICT, WITHOUT ROWID',
};

/** Of a few hundred bytes each. */
const KNOWN_MAX = 10_000;

/**
 * Keys of personal data in a file of their own, wrapped by `wrappingKey`: AES-256-GCM, the subject as
 * associated data. Destroying a key overwrites it where SQLite kept it: secure_delete, then the
 * write-ahead log folded in and cut off. A destroyed subject keeps a row without a key, so that its
 * data cannot come back under a fresh one. `file` may be ':memory:'. Throws StartupError when what is
 * there was wrapped with another key.
 */
export const sqliteKeyVault = (file: string, wrappingKey: Buffer): KeyVault & MovableKeys => {
  const db = file === ':memory:' ? memory() : openStore(file, KIND);
  db.exec('PRAGMA secure_delete = ON');
  const wrapping = createSecretKey(wrappingKey);
  requireSameKey(db, file, wrapping);
  const find = db.prepare('SELECT wrapped FROM keys WHERE subject = ?');
  const insert = db.prepare('INSERT INTO keys VALUES (?, ?)');
  const forget = db.prepare(
    'INSERT INTO keys VALUES (?, NULL) ON CONFLICT (subject) DO UPDATE SET wrapped = NULL',
  );

  /** Keys asked for lately. No other process changes the file while this one has it. */
  const known = new Map<string, KeyObject>();

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

  /** Durable before the event that needs it. */
  const store = (subject: string, key: KeyObject): KeyObject => {
    try {
      insert.run(subject, wrapKey(wrapping, subject, key));
      return keep(subject, key);
    } catch (error) {
      const reason = failureOf(error) === 'full' ? 'full' : 'fault';
      throw new LogUnavailable(reason, 'no', `no key was stored: ${textOf(error)}`);
    }
  };
  const open = (sealed: string): string | null => {
    const subject = subjectOf(sealed);
    const key = subject === undefined ? undefined : keyOf(subject);
    return key && subject !== undefined ? openText(key, subject, sealed) : null;
  };

  const destroy = (subject: string): boolean => {
    const had = keyOf(subject);
    if (had === null) return false;
    // Also without a key: whoever was erased must not come back under a first one.
    known.delete(subject);
    forget.run(subject);
    if (had === undefined) return false;
    db.exec('PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
    return true;
  };

  // All is done when the call returns; the promises are the port's.
  return {
    async seal(subject, text) {
      const found = keyOf(subject);
      if (found === null) return null;
      return sealText(found ?? store(subject, freshKey()), subject, text);
    },
    async unseal(sealed) {
      return sealed.map(open);
    },
    async destroy(subject) {
      return destroy(subject);
    },
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
        destroy(subject);
        return true;
      }
      const found = keyOf(subject);
      if (found === null) return false;
      const given = createSecretKey(key);
      return (found ?? store(subject, given)).equals(given);
    },
    close: () => db.close(),
  };
};

/** Any key tells: with another secret none of them opens, and nothing that they sealed. */
const requireSameKey = (db: DatabaseSync, file: string, wrapping: KeyObject): void => {
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

const memory = (): DatabaseSync => {
  const db = new DatabaseSync(':memory:');
  db.exec(KIND.schema);
  return db;
};
