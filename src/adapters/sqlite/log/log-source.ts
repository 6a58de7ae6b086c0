/** A log to read and nothing else, also while a service writes it: no lock is taken, no byte changed. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { EventLog } from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { readMark, requireMark } from './log-mark.ts';
import { logReader } from './log-reader.ts';
import { LOG_STORE } from './log-records.ts';
import { inspectStore, openToRead } from '../open.ts';

export type LogSource = Pick<EventLog, 'id' | 'readAll' | 'head' | 'close'>;

/** Throws StartupError when there is no log in the directory, or not the one it should be. */
export const sqliteLogSource = (directory: string): LogSource => {
  const path = join(directory, 'log.db');
  if (!existsSync(path)) throw new StartupError(`${directory} holds no log`);
  if (inspectStore(path, LOG_STORE, () => true) === null)
    throw new StartupError(`${path} is empty`);
  const db = openToRead(path);
  const last = db.prepare('SELECT position, at FROM events ORDER BY position DESC LIMIT 1');
  const headNow = (): { position: number; at: number | null } => {
    const row = last.get();
    return row
      ? { position: Number(row['position']), at: Number(row['at']) }
      : { position: 0, at: null };
  };
  const id = String(db.prepare('SELECT id FROM about').get()?.['id']);
  // The service may go on while a page is read: what was there before must be in it.
  let known = 0;
  // As they were written: what an upcast would make of them is for readers, not for a copy.
  const reader = logReader(db, () => known, {});
  try {
    // The mark first: a service that runs goes on, and is then further than it says.
    const mark = readMark(join(directory, 'log.mark'));
    const { position } = headNow();
    requireMark(mark, { path, id, position, sealAt: reader.sealAt });
  } catch (error) {
    db.close();
    throw error;
  }
  return {
    id,
    head: async () => headNow(),
    async readAll({ after, limit, types }) {
      known = headNow().position;
      return reader.all(after, limit, types);
    },
    close: async () => db.close(),
  };
};
