import type { DatabaseSync } from 'node:sqlite';

/** All of `work` or nothing; what it throws is thrown on. */
export const inTransaction = <Result>(db: DatabaseSync, work: () => Result): Result => {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    // SQLite rolls back by itself on some errors.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
};
