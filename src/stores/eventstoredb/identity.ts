/** The identity of the log on a server, and its comparison with the log that this installation remembers. */
import { randomBytes } from 'node:crypto';
import { type EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import { hostsOf } from '#src/system/hosts.ts';
import { type LogMark, NO_LOG } from '#src/stores/log-memory.ts';
import { failureOf, isDeleted } from './failures.ts';
import type { Reads } from './reads.ts';
import type { Recorded } from './recorded-events.ts';

/** The name has no dash and the type begins with `$`, so neither belongs to an owner or to the log. */
const IDENTITY_STREAM = 'tributary_log';
const IDENTITY_TYPE = '$TributaryLog';

/** Reads one event of a stream; empty when there is none. */
export type ReadOne = (stream: string, revision: number) => Promise<Recorded[]>;

/** Returns the identity of the log; undefined when the database has none. */
export const readIdentity = async (readOne: ReadOne): Promise<string | undefined> => {
  const [first] = await readOne(IDENTITY_STREAM, 0);
  return (first?.data as { id?: string } | undefined)?.id;
};

/** Reads the log's identity, and creates it in a database that has none. */
export const readOrCreateIdentity = async (
  client: EventStoreDBClient,
  reads: Reads,
): Promise<string> => {
  const readOne: ReadOne = (stream, revision) => reads.streamOnce(stream, revision, 1);
  const existing = await readIdentity(readOne);
  if (existing) return existing;
  // When two processes start on an empty server one append succeeds, and both read its result.
  const id = randomBytes(16).toString('hex');
  const event = jsonEvent({ type: IDENTITY_TYPE, data: { id } });
  await client
    .appendToStream(IDENTITY_STREAM, event, { expectedRevision: NO_STREAM, requiresLeader: true })
    .catch((error: unknown) => {
      if (failureOf(error) !== 'conflict') throw error;
    });
  const created = await readIdentity(readOne);
  if (!created) throw new Error('14 UNAVAILABLE: the identity of the log cannot be read yet');
  return created;
};

/** Whether the acknowledged event of the mark is where it was acknowledged. */
const hasNewest = async ({ newest }: LogMark, readOne: ReadOne): Promise<boolean> => {
  if (!newest) return true;
  const { stream, revision, event, position } = newest;
  try {
    const [record] = await readOne(stream, revision);
    return record?.id === event && record.position === position;
  } catch (error) {
    // An operator deleted the stream in the database; that happens only in the same log.
    if (failureOf(error) === 'deleted' || isDeleted(error)) return true;
    throw error;
  }
};

/** The database that the processes of this log found at its address. `id`: null when it has no log. */
export type FoundLog = { id: string | null; isKnown: boolean };

/** Compares the log on the server with the mark: its identity, and its newest acknowledged event. */
export const findLog = async (mark: LogMark, readOne: ReadOne): Promise<FoundLog> => {
  const [id, isComplete] = await Promise.all([readIdentity(readOne), hasNewest(mark, readOne)]);
  return { id: id ?? null, isKnown: id === mark.id && isComplete };
};

/** Explains that the server holds a different log from the remembered one, and what the operator can do. */
export const describeReplacement = (
  { url, names }: { url: string; names: string },
  mark: LogMark,
  found: FoundLog,
): string => {
  const at = `EventStoreDB at ${hostsOf(url)}`;
  const { id, newest } = mark;
  const difference =
    found.id === null
      ? 'has no log'
      : found.id === id
        ? `has log ${id} without the event at position ${newest?.position} that was acknowledged ` +
          `(revision ${newest?.revision} of ${newest?.stream})`
        : `has log ${found.id}`;
  const belongs =
    names === '' ? `This process belongs to log ${id}` : `${names} belong to log ${id}`;
  return (
    `${at} ${difference}. ${belongs}, so nothing is written. If the address, the volume or the backup ` +
    'is the wrong one, correct it and start again. To continue with the log that is there, stop all ' +
    `processes and run: tributary log adopt ${id} ${found.id ?? NO_LOG}`
  );
};
