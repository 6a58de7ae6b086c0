/** Compares all live rows with a fold of the log byte for byte, and names the first that differs. */
import type { EventLog, FoldEvent, Position } from '#src/ports/event-log.ts';
import {
  PARTITIONS,
  type ProjectionStore,
  type RowsReader,
  type Space,
} from '#src/ports/read-model.ts';
import { fill } from '../engine/fill.ts';
import { openTarget } from '../engine/target.ts';
import { PROJECTIONS } from '../index.ts';
import type { Projection } from '../projection.ts';
import {
  firstDifference,
  lastEventOf,
  type RowCheck,
  type RowCheckOptions,
  type RowDifference,
} from './difference.ts';
import { digestFold, digestRows } from './fold-digests.ts';

/** Folded rows in memory at a time: a few hundred MB. */
const ROWS_MAX = 500_000;
/** Live rows of a partition, with the checkpoint that they were read with. */
type Digested = { projection: Projection; space: Space; until: Position[]; digests: bigint[] };

/**
 * Compares all rows: reads a digest of the live rows of each partition with its checkpoint, folds the log up to these
 * checkpoints, and reads the rows of the first partition whose digests differ again. Reads the log once for all read
 * models, and again for each `rowsMax` rows.
 */
export const checkAllRows = async (
  options: RowCheckOptions,
  fresh: () => ProjectionStore,
): Promise<RowCheck> => {
  const { storeOf, sample, rowsMax = ROWS_MAX } = options;
  const check: RowCheck = { rows: 0, position: 0 };
  let rows = 0;
  for (const { name } of PROJECTIONS) {
    const { live } = await storeOf(name).spaces(name);
    if (live !== null) rows += await storeOf(name).count(live);
  }
  const partitions = Array.from({ length: Math.ceil(PARTITIONS / sample) }, (_, n) => n * sample);
  const readings = Math.max(1, Math.ceil(rows / sample / rowsMax));
  const size = Math.ceil(partitions.length / readings);
  for (let first = 0; first < partitions.length && !check.difference; first += size)
    await checkPartitions(options, {
      fresh,
      check,
      partitions: partitions.slice(first, first + size),
    });
  return check;
};

/** Compares some partitions of all read models, and adds what it finds to the check. */
const checkPartitions = async (
  options: RowCheckOptions,
  {
    fresh,
    check,
    partitions,
  }: { fresh: () => ProjectionStore; check: RowCheck; partitions: readonly number[] },
): Promise<void> => {
  const { log, storeOf } = options;
  const digested: Digested[] = [];
  for (const projection of PROJECTIONS) {
    const { live: space } = await storeOf(projection.name).spaces(projection.name);
    if (space === null) continue;
    const digests: bigint[] = [];
    const until = new Array<Position>(PARTITIONS).fill(0);
    for (const partition of partitions) {
      const { checkpoint, rows } = await storeOf(projection.name).partitionRows(space, partition);
      digests.push(await digestRows(rows));
      until[partition] = checkpoint;
      check.rows += rows.length;
    }
    digested.push({ projection, space, until, digests });
  }
  const onProgress = (position: Position) => options.onProgress(position, check.rows);
  const order = { spaces: digested, partitions };
  const folded = await digestFold(order, { log, fresh, onProgress });
  check.position = Math.max(check.position, ...digested.flatMap(({ until }) => until));
  for (const { projection, space, digests } of digested)
    for (const [index, partition] of partitions.entries()) {
      if (folded.get(space)?.[index] === digests[index]) continue;
      const store = storeOf(projection.name);
      const place = { space, partition };
      check.difference = await comparePartition({ log, store, fresh }, projection, place);
      check.position = check.difference.position;
      return;
    }
};

const PAGE = 1_000;

async function* allEvents(
  log: Pick<EventLog, 'readFold'>,
  { after, upTo }: { after: Position; upTo: Position },
): AsyncGenerator<readonly FoldEvent[]> {
  for (let last = after; last < upTo; ) {
    const page = await log.readFold({ after: last, limit: PAGE });
    yield page.filter(({ position }) => position <= upTo);
    last = page.length < PAGE ? upTo : (page.at(-1)?.position ?? upTo);
  }
}

/** Compares a partition row by row; names no row if it was filled again meanwhile. */
const comparePartition = async (
  {
    log,
    store,
    fresh,
  }: Pick<RowCheckOptions, 'log'> & { store: RowsReader; fresh: () => ProjectionStore },
  projection: Projection,
  { space, partition }: { space: Space; partition: number },
): Promise<RowDifference> => {
  const { checkpoint, rows } = await store.partitionRows(space, partition);
  const empty = fresh();
  const until = new Array<Position>(PARTITIONS).fill(0).with(partition, checkpoint);
  const target = { ...(await openTarget(empty, { projection, space })), until };
  await fill({ log, store: empty, targets: [target], upTo: checkpoint });
  const again = await empty.partitionRows(space, partition);
  const found = firstDifference(rows, again.rows) ?? { scope: '', key: '', live: null, log: null };
  const difference = { readModel: projection.name, ...found, position: checkpoint };
  const last = await lastEventOf(projection, difference, (range) => allEvents(log, range));
  return { ...difference, ...last };
};
