/** Looks for accidental damage in every record and every index entry of the log. */
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LogCorrupted } from '#src/ports/event-log.ts';
import { readLogFile } from '#src/stores/sqlite/failure.ts';
import type { LogReader } from './log-reader.ts';
import type { StreamIndex } from './stream-index.ts';

type Fault = { position: number; reason: string };

export type ScrubResult = {
  /** Number of events from the beginning on without accidental damage. */
  events: number;
  /** The first fault; null if there is none. Position 0: in an index or in the structure of the file. */
  fault: Fault | null;
};

const PAGE = 500;

type VerifiedLog = {
  db: DatabaseSync;
  head: { position: number };
  reader: LogReader;
  index: StreamIndex;
};

const faultOfFile = (db: DatabaseSync): Fault | null => {
  // Compares tables and indexes row by row, but not the contents of the records.
  const row = readLogFile(() => db.prepare('PRAGMA integrity_check(1)').get());
  const reason = row?.['integrity_check'];
  return reason === 'ok' ? null : { position: 0, reason: String(reason) };
};

/** Finds the first record after `after` up to `to` whose checksum or index does not fit. */
const findFault = (log: VerifiedLog, after: number, to: number): Fault | null => {
  let position = after;
  try {
    // Reads the page as a whole and, if that fails, record by record.
    for (const [at, stream, revision] of log.reader.fullRows(after, to - after)) {
      position = at;
      if (revision > 0 || log.index.find(stream) === at) continue;
      const reason = `streams.db does not lead to ${stream}: delete it, and a start rebuilds it from the log`;
      return { position, reason };
    }
    return null;
  } catch (error) {
    if (!(error instanceof LogCorrupted)) throw error;
    const isSingle = position > after || to - after === 1;
    if (isSingle) return { position: Math.max(position, after + 1), reason: error.message };
  }
  for (let single = after; single < to; single += 1) {
    const fault = findFault(log, single, single + 1);
    if (fault) return fault;
  }
  return { position: after + 1, reason: 'a page of the log cannot be read' };
};

/** Reads a page per turn; `onProgress` gets the last position of each. */
export const verifyLog = async (
  log: VerifiedLog,
  onProgress?: (position: number) => void,
): Promise<ScrubResult> => {
  const end = log.head.position;
  for (let after = 0; after < end; ) {
    const to = Math.min(end, after + PAGE);
    const fault = findFault(log, after, to);
    if (fault) return { events: fault.position - 1, fault };
    after = to;
    onProgress?.(after);
    await nextTurn();
  }
  // Blocks this process: about a second per million events.
  return { events: end, fault: faultOfFile(log.db) };
};
