/** Writes rows of log.db directly, because a million appends through the adapter take too long. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Meta } from '#src/ports/event-log.ts';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { foldCrc, LOG_RECORDING, sealOf } from '#src/stores/sqlite/log/log-file.ts';

export type MadeEvent = { id: string; type: string; data: object; meta: Meta };

export type MadeLog = {
  append(owner: string, stream: string, events: readonly MadeEvent[]): void;
  /** Closes the log; the adapter verifies the rows when it opens them. */
  close(): void;
};

const COMMIT_EVENTS = 50_000;

/** Opens a log for this writer only; the adapter has created its file. */
export const madeLog = async (directory: string): Promise<MadeLog> => {
  await sqliteEventLog({ directory }).close();
  const db = new DatabaseSync(join(directory, 'log.db'));
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -65536; BEGIN');
  const insert = db.prepare(LOG_RECORDING.insert);
  const heads = new Map<string, { streamId: number; revision: number }>();
  let position = 0;
  return {
    append(owner, stream, events) {
      let head = heads.get(stream);
      if (!head) heads.set(stream, (head = { streamId: position + 1, revision: -1 }));
      for (const { id, type, data, meta } of events) {
        position += 1;
        head.revision += 1;
        const { streamId, revision } = head;
        const dataText = JSON.stringify(data);
        const metaText = JSON.stringify(meta);
        const crc = foldCrc([position, stream, revision, type, meta.at, dataText]);
        const seal = sealOf(crc, id, metaText);
        const columns = [position, streamId, revision, owner, stream, id, type, meta.at] as const;
        insert.run(...columns, dataText, metaText, crc, seal);
        if (position % COMMIT_EVENTS === 0) db.exec('COMMIT; BEGIN');
      }
    },
    close() {
      db.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)');
      db.close();
    },
  };
};
