/** keys.db: what lies in it, and that nothing of a destroyed key stays there. */
import type { DatabaseSync } from 'node:sqlite';
import type { Recording } from '../log/committer.ts';
import { openStore, type StoreKind } from '../open.ts';

// Rows in the order they came, never moved from page to page: where SQLite moves a row it leaves, now
// and then, a copy behind in room that is free, and a key destroyed later would live on in it. That
// is what format 1 did, whose rows were in the order of their subjects.
const SCHEMA = 'CREATE TABLE keys (subject TEXT NOT NULL UNIQUE, wrapped BLOB) STRICT';

export const KEY_STORE: StoreKind = {
  what: 'key vault',
  applicationId: 0x74726b76,
  version: 2,
  // A sealed text whose key is lost is lost: the key is durable before the event that needs it.
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

/** A key for a subject without one; or NULL, which takes its place for ever. */
export const KEY_RECORDING: Recording = {
  // A second key is an error: a STRICT column of bytes takes no text.
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
