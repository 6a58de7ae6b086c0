/** Compares stored rows with a new fold of the log, for `audit check` and `projections verify`. */
import { hash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { fill, withSharedTurns } from './fill.ts';
import { openTarget } from './target.ts';
import type { EventLog, FoldEvent, Position } from '#src/ports/event-log.ts';
import {
  type OwnerFold,
  type RowPlace,
  type RowJson,
  type RowsReader,
  type ProjectionStore,
  type Space,
  PARTITIONS,
  partitionOf,
} from '#src/ports/read-model.ts';
import { accessScope } from '#src/ports/rows.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { openOwnerFold } from '#projections/owner-fold.ts';
import type { Projection } from '#projections/projection.ts';
import type { Skips } from './skips.ts';

type RowDifference = RowPlace & {
  /** Both sides are as of this position. */
  position: Position;
  live: string | null;
  log: string | null;
  lastEvent?: Pick<FoldEvent, 'position' | 'type' | 'stream'>;
};

export type RowCheck = { rows: number; position: Position; difference?: RowDifference };

type StoreOf = (projection: string) => RowsReader;
type Events = (range: { after: Position; upTo: Position }) => AsyncIterable<readonly FoldEvent[]>;

export type RowCheckOptions = {
  log: Pick<EventLog, 'readFold' | 'head'>;
  skips: Skips;
  storeOf: StoreOf;
  /** One of so many partitions; 1 for all. */
  sample: number;
  onProgress(position: Position, rows: number): void;
  /** Folded rows in memory at a time: the log is read again for each so many. */
  rowsMax?: number;
};

const nameOfRow = ({ scope, key }: Pick<RowJson, 'scope' | 'key'>): string =>
  JSON.stringify([scope, key]);

/** The first place, in order of scope and key, at which two sets of rows differ. */
const firstDifference = (
  live: readonly RowJson[],
  log: readonly RowJson[],
): Pick<RowDifference, 'scope' | 'key' | 'live' | 'log'> | undefined => {
  const sides = [live, log].map((rows) => new Map(rows.map((row) => [nameOfRow(row), row.json])));
  const names = [...new Set(sides.flatMap((side) => [...side.keys()]))].sort();
  for (const name of names) {
    const [has = null, wants = null] = sides.map((side) => side.get(name) ?? null);
    const [scope, key] = JSON.parse(name) as [string, string];
    if (has !== wants) return { scope, key, live: has, log: wants };
  }
  return undefined;
};

/** The last event up to the position of the difference that changed the row, or one of its scope. */
const lastEventOf = async (
  projection: Projection,
  { scope, key, position }: Pick<RowDifference, 'scope' | 'key' | 'position'>,
  events: Events,
): Promise<Pick<RowDifference, 'lastEvent'>> => {
  const handled: ReadonlySet<string> = new Set(projection.handles);
  let [ofRow, ofScope]: (FoldEvent | undefined)[] = [];
  for await (const page of events({ after: 0, upTo: position }))
    for (const event of page) {
      const place = handled.has(event.type) ? projection.place(event) : undefined;
      if (place?.scope !== scope) continue;
      ofScope = event;
      if (place.key === key || projection.others?.(event).includes(key)) ofRow = event;
    }
  const last = ofRow ?? ofScope;
  return last
    ? { lastEvent: { position: last.position, type: last.type, stream: last.stream } }
    : {};
};

/** Small, so that a request waits for few events: larger batches are no faster. */
const BATCH_EVENTS = 50;
const ROWS_IN_TURN = 100;

/** A digest of rows in any order: the sum of their hashes. */
const digestRows = async (rows: readonly RowJson[]): Promise<bigint> => {
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

/** The partitions to fold; `until` holds the last position of each of a space's partitions. */
type FoldOrder = {
  spaces: readonly { projection: Projection; space: Space; until: readonly Position[] }[];
  partitions: readonly number[];
};

type FoldParts = {
  log: Pick<EventLog, 'readFold' | 'head'>;
  /** Opens an empty store for the rows. */
  fresh(): ProjectionStore;
  onProgress(position: Position): void;
};

/** Reads the log once for all spaces. Returns the digests of the folded rows by space, in the order of the partitions. */
const digestFold = async (
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
  const filling = { log, targets, upTo, onProgress, batchEvents: BATCH_EVENTS };
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
  const { log, skips, storeOf } = options;
  const digested: Digested[] = [];
  for (const projection of skips.over(PROJECTIONS)) {
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
  log: Pick<EventLog, 'readFold' | 'head'>,
  { after, upTo }: { after: Position; upTo: Position },
): AsyncGenerator<readonly FoldEvent[]> {
  for (let last = after; last < upTo; ) {
    const page = await log.readFold({ after: last, limit: PAGE });
    yield page.filter(({ position }) => position <= upTo);
    last = page.at(-1)?.position ?? upTo;
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
  await fill({ log, targets: [target], upTo: checkpoint });
  const again = await empty.partitionRows(space, partition);
  const found = firstDifference(rows, again.rows) ?? { scope: '', key: '', live: null, log: null };
  const difference = { readModel: projection.name, ...found, position: checkpoint };
  const last = await lastEventOf(projection, difference, (range) => allEvents(log, range));
  return { ...difference, ...last };
};

/** Live rows that belong to an owner, and the checkpoint that they were read with. */
type Snapshot = {
  projection: Projection;
  partition: number;
  checkpoint: Position;
  rows: RowJson[];
};

/** The scopes that contain only rows of this owner. */
export const ownScopesOf = (owner: string): string[] => [
  owner,
  ...(['agent', 'key', 'desk'] as const).map((kind) => accessScope(owner, kind)),
];

/** Reads which scopes the owner's events change, by read model; others can also have rows in them. */
const changedScopes = async (
  fold: OwnerFold,
  pages: ReturnType<Events>,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> => {
  const scopes = new Map(PROJECTIONS.map(({ name }) => [name, new Set<string>()]));
  for await (const page of pages)
    for (const event of page)
      for (const { readModel, scope } of fold.placesOf(event)) scopes.get(readModel)?.add(scope);
  return scopes;
};

/**
 * Compares the rows of one owner: reads the live rows of each partition with its checkpoint, and folds the owner's events
 * up to each of these checkpoints. `events` reads the owner's events.
 */
export const checkOwnerRows = async (
  owner: string,
  { storeOf, sample, log, skips, onProgress }: RowCheckOptions,
  events: Events,
): Promise<RowCheck> => {
  const projections = skips.over(PROJECTIONS);
  const { position: head } = await log.head();
  const ownScopes = new Set(ownScopesOf(owner));
  const changed = await changedScopes(openOwnerFold(projections), events({ after: 0, upTo: head }));
  const scopesOf = ({ name }: Projection) =>
    ownScopes.union(changed.get(name) ?? new Set<string>());
  const snapshots = await snapshotsOf({ storeOf, sample, scopesOf }, projections);
  snapshots.sort((a, b) => a.checkpoint - b.checkpoint);
  const fold = openOwnerFold(projections);
  const check: RowCheck = { rows: 0, position: 0 };
  for (const { projection, partition, checkpoint, rows } of snapshots) {
    for await (const page of events({ after: check.position, upTo: checkpoint }))
      for (const event of page) fold.add(event);
    check.position = Math.max(check.position, checkpoint);
    const folded = fold
      .rowsOf(projection.name)
      .filter(({ scope }) => partitionOf(scope) === partition);
    const names = new Set(folded.map(nameOfRow));
    // A scope that others share also has their rows.
    const own = rows.filter((row) => ownScopes.has(row.scope) || names.has(nameOfRow(row)));
    check.rows += own.length;
    onProgress(check.position, check.rows);
    const found = firstDifference(own, folded);
    if (!found) continue;
    const difference = { readModel: projection.name, ...found, position: checkpoint };
    return {
      ...check,
      difference: { ...difference, ...(await lastEventOf(projection, difference, events)) },
    };
  }
  return check;
};

const snapshotsOf = async (
  {
    storeOf,
    sample,
    scopesOf,
  }: Pick<RowCheckOptions, 'storeOf' | 'sample'> & {
    scopesOf(projection: Projection): ReadonlySet<string>;
  },
  projections: readonly Projection[],
): Promise<Snapshot[]> => {
  const snapshots: Snapshot[] = [];
  for (const projection of projections) {
    const store = storeOf(projection.name);
    const { live } = await store.spaces(projection.name);
    if (live === null) continue;
    const scopes = scopesOf(projection);
    const partitions = new Set([...scopes].map(partitionOf));
    for (const partition of partitions) {
      if (partition % sample > 0) continue;
      const { checkpoint, rows } = await store.partitionRows(live, partition);
      const own = rows.filter(({ scope }) => scopes.has(scope));
      snapshots.push({ projection, partition, checkpoint, rows: own });
    }
  }
  return snapshots;
};
