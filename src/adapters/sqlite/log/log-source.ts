/** Reads a log without a lock and without changing a byte, also while a service writes it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { EventLog } from '#src/ports/event-log.ts';
import type { Upcasts } from '#src/adapters/event-codec.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { inspectStore, openToRead } from '../open.ts';
import { readMark, requireMark } from './log-mark.ts';
import { logHeadIn, logIdIn } from './log-open.ts';
import { LogReader } from './log-reader.ts';
import { LOG_STORE } from './log-records.ts';

export type LogSource = Pick<
  EventLog,
  'id' | 'readAll' | 'readFold' | 'readOwnerFold' | 'head' | 'close'
>;

/**
 * Opens the log of a directory; without `upcasts` its events are read as they were written. Throws StartupError if the
 * directory has no log, or not the marked one.
 */
export const sqliteLogSource = (directory: string, upcasts: Upcasts = {}): LogSource => {
  const path = join(directory, 'log.db');
  if (!existsSync(path)) throw new StartupError(`${directory} holds no log`);
  if (inspectStore(path, LOG_STORE, () => true) === null)
    throw new StartupError(`${path} is empty`);
  const db = openToRead(path);
  const id = logIdIn(db);
  // The service may append while a page is read; the page must have all events up to this position.
  let head = 0;
  const reader = new LogReader(db, () => head, upcasts);
  try {
    // The mark is read first: a running service may append, and is then ahead of its mark.
    const mark = readMark(join(directory, 'log.mark'));
    const { position } = logHeadIn(db);
    requireMark(mark, { path, id, position, sealAt: (at) => reader.sealAt(at) });
  } catch (error) {
    db.close();
    throw error;
  }
  return {
    id,
    async head() {
      const { position, at } = logHeadIn(db);
      return { position, at };
    },
    async readAll({ after, limit, types }) {
      head = logHeadIn(db).position;
      return reader.readAll(after, limit, types);
    },
    async readFold({ after, limit }) {
      head = logHeadIn(db).position;
      return reader.page(after, limit);
    },
    async readOwnerFold(owner, { after, limit, upTo = Infinity }) {
      const upToHead = Math.min(upTo, logHeadIn(db).position);
      return reader.foldOwner(owner, { after, upTo: upToHead, limit });
    },
    close: async () => db.close(),
  };
};
