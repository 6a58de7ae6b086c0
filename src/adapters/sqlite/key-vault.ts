import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import type { KeyVault } from '#src/ports/system.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';
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

const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const PREFIX = 's1';

const encrypt = (key: Buffer, bound: string, plain: Buffer): Buffer => {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(bound));
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]);
};

const decrypt = (key: Buffer, bound: string, sealed: Buffer): Buffer => {
  const iv = sealed.subarray(0, IV_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, iv)
    .setAAD(Buffer.from(bound))
    .setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
};

/**
 * Keys of personal data in a file of their own, wrapped by `wrappingKey`: AES-256-GCM, the subject as
 * associated data. Destroying a key overwrites it where SQLite kept it: secure_delete, then the
 * write-ahead log folded in and cut off. A destroyed subject keeps a row without a key, so that its
 * data cannot come back under a fresh one. `file` may be ':memory:'.
 */
export const sqliteKeyVault = (file: string, wrappingKey: Buffer): KeyVault => {
  const db = file === ':memory:' ? memory() : openStore(file, KIND);
  db.exec('PRAGMA secure_delete = ON');
  const find = db.prepare('SELECT wrapped FROM keys WHERE subject = ?');
  const insert = db.prepare('INSERT INTO keys VALUES (?, ?)');
  const forget = db.prepare(
    'INSERT INTO keys VALUES (?, NULL) ON CONFLICT (subject) DO UPDATE SET wrapped = NULL',
  );

  const keyOf = (subject: string): Buffer | null | undefined => {
    const row = find.get(subject) as { wrapped: Uint8Array | null } | undefined;
    if (row === undefined) return undefined;
    return row.wrapped === null ? null : decrypt(wrappingKey, subject, Buffer.from(row.wrapped));
  };

  return {
    seal(subject, text) {
      let key = keyOf(subject);
      if (key === null) throw new Error(`${subject} was erased; nothing can be sealed for it`);
      if (key === undefined) {
        key = randomBytes(KEY_BYTES);
        try {
          insert.run(subject, encrypt(wrappingKey, subject, key));
        } catch (error) {
          const reason = failureOf(error) === 'full' ? 'full' : 'fault';
          throw new LogUnavailable(reason, 'no', `no key was stored: ${textOf(error)}`);
        }
      }
      const sealed = encrypt(key, subject, Buffer.from(text)).toString('base64url');
      return `${PREFIX}.${subject}.${sealed}`;
    },
    unseal(sealed) {
      const [prefix, subject = '', body = ''] = sealed.split('.');
      const key = prefix === PREFIX ? keyOf(subject) : null;
      return key ? decrypt(key, subject, Buffer.from(body, 'base64url')).toString() : null;
    },
    destroy(subject) {
      const had = keyOf(subject);
      if (had === null) return false;
      // Also without a key: whoever was erased must not come back under a first one.
      forget.run(subject);
      if (had === undefined) return false;
      db.exec('PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
      return true;
    },
    knows(subject) {
      const key = keyOf(subject);
      if (key === undefined) return 'never';
      return key === null ? 'destroyed' : 'key';
    },
    close: () => db.close(),
  };
};

const memory = (): DatabaseSync => {
  const db = new DatabaseSync(':memory:');
  db.exec(KIND.schema);
  return db;
};
