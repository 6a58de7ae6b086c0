/** keys.db for whoever only looks, also while a service has it: no byte of it is changed. */
import { createSecretKey } from 'node:crypto';
import type { MovableKeys } from '#src/ports/system.ts';
import { unwrapKey } from '#src/adapters/sealing.ts';
import { KEY_STORE } from './key-file.ts';
import { requireSameKey } from './key-vault.ts';
import { inspectStore, openToRead } from '../open.ts';

/** Those of the subjects that the file has no key of, and had none to destroy. Needs no secret. */
export const unknownIn = (file: string, subjects: ReadonlySet<string>): string[] => {
  const unknown = inspectStore(file, KEY_STORE, (db) => {
    const find = db.prepare('SELECT 1 FROM keys WHERE subject = ?');
    return [...subjects].filter((subject) => find.get(subject) === undefined);
  });
  return unknown ?? [...subjects];
};

export type ReadKeys = Pick<MovableKeys, 'keyOf'> & { close(): void };

/** undefined where the file is empty. Throws StartupError as the vault itself does. */
export const keysToRead = (file: string, wrappingKey: Buffer): ReadKeys | undefined => {
  if (inspectStore(file, KEY_STORE, () => true) === null) return undefined;
  const wrapping = createSecretKey(wrappingKey);
  const db = openToRead(file);
  requireSameKey(db, file, wrapping);
  const find = db.prepare('SELECT wrapped FROM keys WHERE subject = ?');
  return {
    async keyOf(subject) {
      const row = find.get(subject) as { wrapped: Uint8Array | null } | undefined;
      if (!row) return 'never';
      return row.wrapped
        ? unwrapKey(wrapping, subject, Buffer.from(row.wrapped)).export()
        : 'destroyed';
    },
    close: () => db.close(),
  };
};
