/** The scrub: every record and every index entry, against what was written. */
import type { DatabaseSync } from 'node:sqlite';
import { LogCorrupted } from '#src/ports/event-log.ts';
import { reading } from '../failure.ts';
import type { LogReader } from './log-reader.ts';
import type { StreamIndex } from './stream-index.ts';

type Fault = { position: number; reason: string };

export type Verification = {
  /** Events found intact from the beginning on. */
  events: number;
  /** null when all is well. Position 0: not of one record, but of an index or the file's frame. */
  fault: Fault | null;
};

const PAGE = 500;

type Parts = { head: { position: number }; reader: LogReader; index: StreamIndex };

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const fileFault = (db: DatabaseSync): string | null => {
  // Compares tables and indexes row by row; records themselves are none of its business.
  const found = reading(() => db.prepare('PRAGMA integrity_check(1)').get())?.['integrity_check'];
  return found === 'ok' ? null : String(found);
};

/** The first record after `after` up to `to` that is not what was written. */
const faultIn = (
  { reader, index }: Pick<Parts, 'reader' | 'index'>,
  after: number,
  to: number,
): Fault | null => {
  let position = after;
  try {
    // The page as a whole, then, when it is at fault, record by record.
    const rows = reader.fullRows(after, to - after);
    for (const [at, stream, revision] of rows) {
      position = at;
      if (revision > 0 || index.find(stream) === at) continue;
      const reason = `streams.db does not lead to ${stream}: delete it, it is rebuilt from the log`;
      return { position, reason };
    }
    return null;
  } catch (error) {
    if (!(error instanceof LogCorrupted)) throw error;
    const alone = position > after || to - after === 1;
    if (alone) return { position: Math.max(position, after + 1), reason: error.message };
  }
  for (let single = after; single < to; single += 1) {
    const fault = faultIn({ reader, index }, single, single + 1);
    if (fault) return fault;
  }
  return { position: after + 1, reason: 'a page of the log cannot be read' };
};

export const verifyLog = async (
  db: DatabaseSync,
  parts: Parts,
  onProgress?: (position: number) => void,
): Promise<Verification> => {
  const end = parts.head.position;
  for (let after = 0; after < end; ) {
    const to = Math.min(end, after + PAGE);
    const fault = faultIn(parts, after, to);
    if (fault) return { events: fault.position - 1, fault };
    after = to;
    onProgress?.(after);
    await nextTurn();
  }
  // Blocks this process while it runs: about a second per million events.
  const reason = fileFault(db);
  return { events: end, fault: reason === null ? null : { position: 0, reason } };
};
