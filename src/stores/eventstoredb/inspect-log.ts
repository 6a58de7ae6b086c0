import type { LogMark } from '#src/stores/log-memory.ts';
import { awaitAnswer, createClient } from './connect.ts';
import { findLog, type ReadOne, readIdentity } from './identity.ts';
import { Reads } from './reads.ts';
import { TIMING } from './retries.ts';

/** Identity of the log on the server, null if it has none; and whether it is the log of each mark. */
export type InspectedLog = { id: string | null; isKnown: boolean[] };

/**
 * Compares the log on the server with the marks of several places; a place may have none. Writes nothing. Throws StartupError
 * within five seconds when the server cannot be used.
 */
export const inspectLogServer = async (
  url: string,
  marks: readonly (LogMark | undefined)[],
): Promise<InspectedLog> => {
  const hooks = { onChanged: () => {}, beforeAppend: async () => {} };
  const client = createClient(url, hooks);
  const reads = new Reads(client, TIMING);
  const readOne: ReadOne = (stream, revision) => reads.streamOnce(stream, revision, 1);
  try {
    return await awaitAnswer({ url, client, reads, timing: TIMING }, async () => {
      const id = (await readIdentity(readOne)) ?? null;
      const isKnown: boolean[] = [];
      for (const mark of marks)
        isKnown.push(mark !== undefined && (await findLog(mark, readOne)).isKnown);
      return { id, isKnown };
    });
  } finally {
    await client.dispose();
  }
};
