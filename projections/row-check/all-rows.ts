/** Compares all live rows with a fold of the log byte for byte, and names the first that differs. */
import { hash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { EventLog, FoldEvent, Position } from '#src/ports/event-log.ts';
import {
  PARTITIONS,
  type ProjectionStore,
  type RowJson,
  type Space,
} from '#src/ports/read-model.ts';
import { fill, withSharedTurns } from '../engine/fill.ts';
import { type FoldTarget, openTarget } from '../engine/target.ts';
import { PROJECTIONS } from '../index.ts';
import type { Projection } from '../projection.ts';
import {
  firstDifference,
  lastEventOf,
  type RowCheck,
  type RowCheckOptions,
  type RowDifference,
} from './difference.ts';

/** Folded rows in memory at a time: a few hundred MB. */
const ROWS_MAX = 500_000;
/** Small, so that a request waits for few events: larger batches are no faster. */
const BATCH_EVENTS = 50;
const ROWS_IN_TURN = 100;

/** A digest of rows in any order: the sum of their hashes. */
const digestOf = async (rows: readonly RowJson[]): Promise<bigint> => {
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

/** Live rows of a read model, and the checkpoints that they were read with. */
type Digested = { target: FoldTarget & { until: Position[] }; digests: Map<number, bigint> };

/**
 * Compares all rows: reads a digest of the live rows of each partition with its checkpoint, folds the log up to these
 * checkpoints, and reads the rows of the first partition whose digests differ again. Reads the log once for all read
 * models, and again for each `rowsMax` rows.
 */
export const checkAllRows = async (
  options: RowCheckOptions & { log: EventLog },
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
  { log, storeOf, onProgress }: RowCheckOptions & { log: EventLog },
  {
    fresh,
    check,
    partitions,
  }: { fresh: () => ProjectionStore; check: RowCheck; partitions: readonly number[] },
): Promise<void> => {
  const again = fresh();
  const digested: Digested[] = [];
  for (const projection of PROJECTIONS) {
    const { live: space } = await storeOf(projection.name).spaces(projection.name);
    if (space === null) continue;
    const digests = new Map<number, bigint>();
    const until = new Array<Position>(PARTITIONS).fill(0);
    for (const partition of partitions) {
      const { checkpoint, rows } = await storeOf(projection.name).partitionRows(space, partition);
      digests.set(partition, await digestOf(rows));
      until[partition] = checkpoint;
      check.rows += rows.length;
    }
    digested.push({
      target: {
        ...(await openTarget(again, { projection: withoutLists(projection), space })),
        until,
      },
      digests,
    });
  }
  const targets = digested.map(({ target }) => target);
  const upTo = Math.max(0, ...targets.flatMap(({ until }) => until));
  const onFilled = (position: Position): void => onProgress(position, check.rows);
  const filling = { log, store: again, targets, upTo, onProgress: onFilled };
  await fill(withSharedTurns({ ...filling, batchEvents: BATCH_EVENTS }));
  check.position = Math.max(check.position, upTo);
  for (const { target, digests } of digested)
    for (const [partition, digest] of digests) {
      const { projection, space } = target;
      if ((await digestOf((await again.partitionRows(space, partition)).rows)) === digest) continue;
      const store = storeOf(projection.name);
      check.difference = await comparePartition({ log, store, fresh }, projection, {
        space,
        partition,
      });
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
  { log, store, fresh }: { log: EventLog; store: ProjectionStore; fresh: () => ProjectionStore },
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
