/** Digests of the rows that a fold of the log makes, to compare them with live ones. */
import { hash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import type { ProjectionStore, RowJson, Space } from '#src/ports/read-model.ts';
import { fill, withSharedTurns } from '../engine/fill.ts';
import { openTarget } from '../engine/target.ts';
import type { Projection } from '../projection.ts';

/** Small, so that a request waits for few events: larger batches are no faster. */
const BATCH_EVENTS = 50;
const ROWS_IN_TURN = 100;

/** A digest of rows in any order: the sum of their hashes. */
export const digestRows = async (rows: readonly RowJson[]): Promise<bigint> => {
  let digest = 0n;
  for (const [index, { scope, key, json }] of rows.entries()) {
    if (index % ROWS_IN_TURN === 0) await turn();
    digest += BigInt(`0x${hash('sha256', `${scope}\0${key}\0${json}`)}`);
  }
  return digest;
};

/** A projection without what only readers of lists need, which is not compared. */
const withoutLists = ({ lists: _lists, sort: _sort, ...projection }: Projection): Projection =>
  projection;

/** The partitions to fold; `until` has the last position of each partition of a space. */
type FoldOrder = {
  spaces: readonly { projection: Projection; space: Space; until: readonly Position[] }[];
  partitions: readonly number[];
};

type FoldParts = {
  log: Pick<EventLog, 'readFold'>;
  /** Opens an empty store for the rows. */
  fresh(): ProjectionStore;
  onProgress(position: Position): void;
};

/** Reads the log once for all spaces. Returns the digests of the folded rows by space, in the order of the partitions. */
export const digestFold = async (
  { spaces, partitions }: FoldOrder,
  { log, fresh, onProgress }: FoldParts,
): Promise<ReadonlyMap<Space, readonly bigint[]>> => {
  const store = fresh();
  const upTo = Math.max(0, ...spaces.flatMap(({ until }) => until));
  const targets = await Promise.all(
    spaces.map(async ({ projection, space, until }) => {
      const target = await openTarget(store, { projection: withoutLists(projection), space });
      return { ...target, until };
    }),
  );
  const filling = { log, store, targets, upTo, onProgress, batchEvents: BATCH_EVENTS };
  await fill(withSharedTurns(filling));
  const folded = new Map<Space, bigint[]>();
  for (const { space } of spaces) {
    const digests: bigint[] = [];
    for (const partition of partitions)
      digests.push(await digestRows((await store.partitionRows(space, partition)).rows));
    folded.set(space, digests);
  }
  return folded;
};
