/** The format of keys.db, which keeps no byte of a destroyed key. */
import type { DatabaseSync } from 'node:sqlite';
import type { Recording } from '#src/stores/sqlite/log/committer.ts';
import { openStore, type StoreKind } from '#src/stores/sqlite/open.ts';

// Rows are in the order of their insertion and never move to another page. When SQLite moves a row, it
// sometimes leaves a copy in free space, where a key that is destroyed later would survive. Format 1
// had this fault, because its rows were in the order of their subjects.
const SCHEMA = 'CREATE TABLE keys (subject TEXT NOT NULL UNIQUE, wrapped BLOB) STRICT';

export const KEY_STORE: StoreKind = {
  what: 'key vault',
  applicationId: 0x74726b76,
  version: 2,
  // A sealed text is lost with its key, so the key must be durable before the event that needs it.
  synchronous: 'FULL',
  schema: SCHEMA,
  migrate: (db) =>
    db.exec(`
      PRAGMA secure_delete = ON;
      ALTER TABLE keys RENAME TO keys_1;
      ${SCHEMA};
      INSERT INTO keys SELECT subject, wrapped FROM keys_1;
      DROP TABLE keys_1;
    `),
};

/** Stores a key for a subject without one; or NULL, which replaces the key for good. */
export const KEY_RECORDING: Recording = {
  // A second key fails: a STRICT column of bytes accepts no text.
  insert: `
    INSERT INTO keys VALUES (?, ?)
    ON CONFLICT (subject) DO UPDATE SET wrapped = iif(excluded.wrapped IS NULL, NULL, 'second key')`,
  columns: 2,
};

/** Throws StartupError. */
export const openKeyFile = (path: string): DatabaseSync => {
  const db = openStore(path, KEY_STORE);
  db.exec('PRAGMA secure_delete = ON');
  return db;
};
