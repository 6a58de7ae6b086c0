/** The format of keys.db, which keeps no byte of a destroyed key. */
import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { Recording } from '#src/stores/sqlite/log/committer.ts';
import { type LogEnd, readMark, requireMark } from '#src/stores/sqlite/log/log-mark.ts';
import {
  FIRST_FORMAT,
  inTransaction,
  openStore,
  queryValue,
  type StoreKind,
} from '#src/stores/sqlite/open.ts';

// Rows are in the order of their insertion and never move to another page. When SQLite moves a row, it
// sometimes leaves a copy in free space, where a key that is destroyed later would survive.
// A row is never removed, so the last rowid counts the subjects. `accepted` is the position of the log
// up to which a person accepts that keys are missing. `keyring` has the wrapped secrets of the service.
const KEYS = `
  CREATE TABLE keys (subject TEXT NOT NULL UNIQUE, wrapped BLOB, crc INTEGER NOT NULL) STRICT;`;
const SCHEMA = `${KEYS}
  CREATE TABLE about (id TEXT NOT NULL, accepted INTEGER NOT NULL, keyring TEXT) STRICT;
  INSERT INTO about VALUES (lower(hex(randomblob(16))), 0, NULL);`;

/** The checksum of a row: a flipped bit could turn a key into one that was destroyed. */
export const keyCrc = (subject: string, wrapped: Uint8Array | null): number =>
  crc32(wrapped ?? 'destroyed', crc32(subject));

export type WrappedRow = { subject: string; wrapped: Uint8Array | null; crc: number };

export const isIntact = ({ subject, wrapped, crc }: WrappedRow): boolean =>
  (wrapped === null || wrapped instanceof Uint8Array) && keyCrc(subject, wrapped) === crc;

export const KEY_STORE: StoreKind = {
  what: 'key vault',
  applicationId: 0x74726b76,
  version: FIRST_FORMAT,
  // A sealed text is lost with its key, so the key must be durable before the event that needs it.
  synchronous: 'FULL',
  schema: SCHEMA,
};

/**
 * Replaces each key with what `rewrap` returns, in one transaction. Writes all rows again in their order, so that none is
 * moved.
 */
export const replaceKeys = (
  db: DatabaseSync,
  rewrap: (subject: string, wrapped: Uint8Array) => Uint8Array,
): void =>
  inTransaction(db, () => {
    db.exec(`ALTER TABLE keys RENAME TO keys_before; ${KEYS}`);
    const insert = db.prepare('INSERT INTO keys VALUES (?, ?, ?)');
    const rows = db.prepare('SELECT subject, wrapped, crc FROM keys_before ORDER BY rowid');
    for (const row of rows.iterate()) {
      const { subject, wrapped, crc } = row as WrappedRow;
      const next = wrapped && isIntact(row as WrappedRow) ? rewrap(subject, wrapped) : wrapped;
      insert.run(subject, next, next === wrapped ? crc : keyCrc(subject, next));
    }
    db.exec('DROP TABLE keys_before');
  });

/** Stores a key for a subject without one; or NULL, which replaces the key for good. */
export const KEY_RECORDING: Recording = {
  // A second key fails: a STRICT column of bytes accepts no text.
  insert: `
    INSERT INTO keys VALUES (?, ?, ?)
    ON CONFLICT (subject) DO UPDATE
    SET wrapped = iif(excluded.wrapped IS NULL, NULL, 'second key'), crc = excluded.crc`,
  columns: 3,
};

/** Throws StartupError. */
export const openKeyFile = (path: string): DatabaseSync => {
  const db = openStore(path, KEY_STORE);
  db.exec('PRAGMA secure_delete = ON');
  return db;
};

/** Reads the number of subjects and the checksum of the last one, which no erasure changes. */
export const keyEndReader = (db: DatabaseSync): (() => LogEnd) => {
  const last = db.prepare('SELECT rowid, subject FROM keys ORDER BY rowid DESC LIMIT 1');
  return () => {
    const row = last.get() as { rowid: number; subject: string } | undefined;
    return row ? { position: row.rowid, seal: crc32(row.subject) } : { position: 0, seal: 0 };
  };
};

export const vaultIdIn = (db: DatabaseSync): string =>
  String(queryValue(db, 'SELECT id FROM about'));

/** The path of the mark beside a vault. */
export const keyMarkOf = (path: string): string => path.replace(/\.db$/, '.mark');

export const KEYS_WAY_FORWARD =
  'Restore a keys.db that is as new as the log. An empty file in place of keys.mark accepts that nobody can read the ' +
  'personal data of the missing keys again.';

/** Whether a person accepts the loss of keys with an empty file in place of the mark. The next start writes a mark. */
export const acceptsKeyLoss = (path: string): boolean =>
  statSync(keyMarkOf(path), { throwIfNoEntry: false })?.size === 0;

/** Throws StartupError if the vault is not the marked one, or has lost keys. `db` is undefined if the file is empty. */
export const requireKeyMark = (path: string, db: DatabaseSync | undefined): void => {
  if (acceptsKeyLoss(path)) return;
  const mark = readMark(keyMarkOf(path), KEYS_WAY_FORWARD);
  if (!mark) return;
  const seal = db?.prepare('SELECT subject FROM keys WHERE rowid = ?');
  requireMark(mark, {
    path,
    id: db ? vaultIdIn(db) : 'none',
    position: db ? keyEndReader(db)().position : 0,
    sealAt(position) {
      const subject = seal?.get(position)?.['subject'];
      return typeof subject === 'string' ? crc32(subject) : undefined;
    },
    what: 'key vault',
    unit: 'key',
    wayForward: KEYS_WAY_FORWARD,
  });
};
