import type { KeyObject } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { LogUnavailable } from '#src/ports/event-log.ts';
import type { SubjectKey } from '#src/ports/system.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { unwrapKey } from '#src/system/crypto-seal.ts';
import { messageOfError } from '#src/stores/sqlite/failure.ts';

/** Reads keys of keys.db and unwraps them. */
export class KeyReader {
  readonly #wrapping: KeyObject;
  readonly #find;

  /** Throws StartupError, and closes `db`, if the keys were wrapped with another key. */
  constructor(db: DatabaseSync, file: string, wrapping: KeyObject) {
    requireSameKey(db, file, wrapping);
    this.#wrapping = wrapping;
    this.#find = db.prepare('SELECT wrapped FROM keys WHERE subject = ?');
  }

  /** Returns null if the key was destroyed, undefined if there never was one. Throws LogUnavailable. */
  read(subject: string): KeyObject | null | undefined {
    const wrapped = this.#readRow(subject)?.wrapped;
    return wrapped ? unwrapKey(this.#wrapping, subject, Buffer.from(wrapped)) : wrapped;
  }

  #readRow(subject: string): { wrapped: Uint8Array | null } | undefined {
    try {
      return this.#find.get(subject) as { wrapped: Uint8Array | null } | undefined;
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

/** Unwraps any key of the file: with another root secret, none of them opens. */
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
