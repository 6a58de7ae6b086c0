/** The open file views.db, which is replaced by an empty one when it cannot be read. */
import type { DatabaseSync } from 'node:sqlite';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import { isDamage, messageOfError } from '#src/stores/sqlite/failure.ts';
import { closeMarked } from './cache-mark.ts';
import { createCache, openCache } from './read-model-file.ts';
import { prepareStatements } from './read-model-sql.ts';

export type Statements = ReturnType<typeof prepareStatements>;

/** The file of the read models. It is only a cache, so when it cannot be read it is replaced by an empty one. */
export type GuardedFile = {
  /**
   * Runs `work`. Throws ReadModelRebuilding if the file cannot be read: the rows are lost, and the next call creates an
   * empty file, as soon as the disk allows it.
   */
  use<T>(work: (statements: Statements) => T): T;
  close(): void;
};

type OpenFile = { db: DatabaseSync; statements: Statements };

export const openGuarded = (options: {
  file: string;
  log: string;
  onDiscarded(reason: string): void;
  /** Everything that memory has of the file is invalid. */
  onEmptied(): void;
}): GuardedFile => {
  const { file, log, onDiscarded, onEmptied } = options;
  const prepare = (db: DatabaseSync): OpenFile => ({ db, statements: prepareStatements(db) });
  /** Undefined from the discovery that the file cannot be read until an empty one is created. */
  let current: OpenFile | undefined = prepare(openCache(file, log, onDiscarded));

  const openFile = (): OpenFile => {
    try {
      return (current ??= prepare(createCache(file, log)));
    } catch (error) {
      const reason = `the file of the read models cannot be created: ${messageOfError(error)}`;
      throw new ReadModelRebuilding(reason, { cause: error });
    }
  };

  const discard = ({ db }: OpenFile, reason: string): void => {
    current = undefined;
    onEmptied();
    onDiscarded(reason);
    db.close();
  };

  return {
    use(work) {
      const opened = openFile();
      try {
        return work(opened.statements);
      } catch (error) {
        if (!isDamage(error)) throw error;
        discard(opened, error.message);
        const reason = `the file of the read models cannot be read: ${error.message}`;
        throw new ReadModelRebuilding(reason, { cause: error });
      }
    },
    close() {
      if (current) closeMarked(current.db);
    },
  };
};
