/** Reads keys.db without changing a byte of it, also while a service has it open. */
import { createSecretKey } from 'node:crypto';
import type { MovableKeys } from '#src/ports/system.ts';
import { inspectStore, openToRead } from '#src/stores/sqlite/open.ts';
import { KEY_STORE } from './key-file.ts';
import { KeyReader } from './key-reader.ts';

/** Lists the subjects without a row in the file, which never had a key. Needs no root secret. */
export const listUnknownSubjects = (file: string, subjects: ReadonlySet<string>): string[] => {
  const unknown = inspectStore(file, KEY_STORE, (db) => {
    const find = db.prepare('SELECT 1 FROM keys WHERE subject = ?');
    return [...subjects].filter((subject) => find.get(subject) === undefined);
  });
  return unknown ?? [...subjects];
};

export type ReadOnlyKeys = Pick<MovableKeys, 'keyOf'> & { close(): void };

/** Returns undefined if the file is empty. Throws StartupError as the vault does. */
export const openKeysToRead = (file: string, wrappingKey: Buffer): ReadOnlyKeys | undefined => {
  if (inspectStore(file, KEY_STORE, () => true) === null) return undefined;
  const db = openToRead(file);
  const reader = new KeyReader(db, file, createSecretKey(wrappingKey));
  return {
    keyOf: async (subject) => reader.exportKey(subject),
    close: () => db.close(),
  };
};
