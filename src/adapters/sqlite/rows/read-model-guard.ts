import { closeMarked } from './cache-mark.ts';
import { isDamage } from '../failure.ts';
import { discard, openCache } from './read-model-file.ts';
import { statements } from './read-model-sql.ts';

type Statements = ReturnType<typeof statements>;

/** The file, and what is done about damage: it is only a cache, so it is emptied and used again. */
export type GuardedFile = {
  use<T>(work: (sql: Statements) => T): T;
  close(): void;
};

export const guardedFile = (options: {
  file: string;
  log: string;
  onDiscarded(reason: string): void;
  /** Everything that memory knew of the file is void. */
  onEmptied(): void;
}): GuardedFile => {
  const { file, log, onDiscarded, onEmptied } = options;
  let db = openCache(file, log, onDiscarded);
  let sql = statements(db);

  const startAfresh = (): void => {
    try {
      db.close();
    } finally {
      discard(file);
      db = openCache(file, log, onDiscarded);
      sql = statements(db);
      onEmptied();
    }
  };

  return {
    use(work) {
      try {
        return work(sql);
      } catch (error) {
        if (!isDamage(error)) throw error;
        startAfresh();
        onDiscarded(error.message);
        return work(sql);
      }
    },
    close: () => closeMarked(db),
  };
};
