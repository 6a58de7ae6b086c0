import { removeDatabase } from '../database.ts';
import { isDamage } from '../failure.ts';
import { closeMarked } from './cache-mark.ts';
import { openCache } from './read-model-file.ts';
import { prepareStatements } from './read-model-sql.ts';

type Statements = ReturnType<typeof prepareStatements>;

/** The file of the read models. It is only a cache, so when it is damaged it is emptied and reused. */
export type GuardedFile = {
  /** Runs `work`; if it finds damage, empties the file and runs `work` again. */
  use<T>(work: (statements: Statements) => T): T;
  close(): void;
};

export const openGuarded = (options: {
  file: string;
  log: string;
  onDiscarded(reason: string): void;
  /** Everything that memory has of the file is invalid. */
  onEmptied(): void;
}): GuardedFile => {
  const { file, log, onDiscarded, onEmptied } = options;
  let db = openCache(file, log, onDiscarded);
  let statements = prepareStatements(db);

  const empty = (): void => {
    try {
      db.close();
    } finally {
      removeDatabase(file);
      db = openCache(file, log, onDiscarded);
      statements = prepareStatements(db);
      onEmptied();
    }
  };

  return {
    use(work) {
      try {
        return work(statements);
      } catch (error) {
        if (!isDamage(error)) throw error;
        empty();
        onDiscarded(error.message);
        return work(statements);
      }
    },
    close: () => closeMarked(db),
  };
};
