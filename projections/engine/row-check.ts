/** Compares stored rows with a fold of the log: for `projections verify`, `audit check`, and the rows of one owner. */
import { hash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { EventLog, FoldEvent, Position } from '#src/ports/event-log.ts';
import {
  entriesInOrder,
  entriesOfNew,
  type OwnerFold,
  type RowPlace,
  type RowJson,
  type RowsReader,
  PARTITIONS,
  partitionOf,
} from '#src/ports/read-model.ts';
import { accessScope } from '#src/ports/rows.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { openOwnerFold } from '#projections/owner-fold.ts';
import type { Projection } from '#projections/projection.ts';
import { compareRows, nameOfRow, type RowChange } from './compare-rows.ts';
import { type FoldedPartition, type FoldedSpace, fillPartitions } from './folded-rows.ts';
import type { Skips } from './fold.ts';

type RowDifference = RowPlace & {
  /** Both sides are as of this position. */
  position: Position;
  live: string | null;
  log: string | null;
  /** The members of the row that differ, and `lists` if the row is in other lists or in other places. */
  fields: string[];
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

export type LogComparisonOptions = Omit<RowCheckOptions, 'skips' | 'sample'> & {
  projections: readonly Projection[];
  partitions: readonly number[];
};

/** A partition whose rows are not those of the log. */
type DifferingPartition = { readModel: string; partition: number; checkpoint: Position };

export type LogComparison = RowCheck & { partitions: number; differing: DifferingPartition[] };

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

const ROWS_IN_TURN = 100;

/** A digest of rows in any order: the sum of their hashes. */
const digestRows = async (rows: readonly RowJson[]): Promise<bigint> => {
  let digest = 0n;
  for (const [index, { scope, key, json, entries }] of rows.entries()) {
    if (index % ROWS_IN_TURN === 0) await turn();
    const text = JSON.stringify([scope, key, json, entries]);
    digest += BigInt(`0x${hash('sha256', text)}`);
  }
  return digest;
};

const jsonOf = ({ rows }: FoldedPartition): RowJson[] =>
  rows.map(({ scope, key, row, ...placed }) => ({
    scope,
    key,
    json: JSON.stringify(row),
    entries: entriesInOrder(entriesOfNew(placed)),
  }));

type LivePartition = DifferingPartition & { digest: bigint };

/**
 * Compares the live rows of some partitions, and their entries in lists, with a fold of the log: reads a digest of each
 * partition with its checkpoint, and folds the log up to exactly these checkpoints, while the engine may continue. Names the
 * first row that differs, and the last event that changed it.
 *
 * Reads the log once for all read models, and again for each `rowsMax` rows and for the row that differs.
 */
export const compareWithLog = async (options: LogComparisonOptions): Promise<LogComparison> => {
  const { log, storeOf, projections, partitions, onProgress, rowsMax } = options;
  const spaces: (FoldedSpace & { until: Position[] })[] = [];
  const live = new Map<string, LivePartition>();
  const compared: LogComparison = { rows: 0, partitions: 0, position: 0, differing: [] };
  for (const projection of projections) {
    const { name } = projection;
    const { live: space } = await storeOf(name).spaces(name);
    if (space === null) continue;
    const until = new Array<Position>(PARTITIONS).fill(0);
    for (const partition of partitions) {
      const { checkpoint, rows } = await storeOf(name).partitionRows(space, partition);
      until[partition] = checkpoint;
      const digest = await digestRows(rows);
      live.set(`${space} ${partition}`, { readModel: name, partition, checkpoint, digest });
      compared.rows += rows.length;
      compared.partitions += 1;
    }
    spaces.push({ projection, space, until });
  }
  const upTo = Math.max(0, ...spaces.flatMap(({ until }) => until));
  compared.position = upTo;
  await fillPartitions({
    log,
    spaces,
    partitions,
    upTo,
    rowsMax,
    pageEvents: BATCH_EVENTS,
    onProgress: (share) => onProgress(Math.floor(share * upTo), compared.rows),
    async write(folded) {
      const space = spaces.find((one) => one.space === folded.space);
      const has = live.get(`${folded.space} ${folded.partition}`);
      if (!space || !has || (await digestRows(jsonOf(folded))) === has.digest) return;
      const { digest: _other, ...differing } = has;
      compared.differing.push(differing);
      compared.difference ??= await firstDifference(options, space, folded.partition);
    },
  });
  return compared;
};

/** Small, so that a request waits for few events: larger batches are no faster. */
const BATCH_EVENTS = 50;

/** Compares a partition row by row; names no row if it was filled again meanwhile. */
const firstDifference = async (
  { log, storeOf }: Pick<RowCheckOptions, 'log' | 'storeOf'>,
  space: FoldedSpace,
  partition: number,
): Promise<RowDifference> => {
  const { name } = space.projection;
  const { checkpoint, rows } = await storeOf(name).partitionRows(space.space, partition);
  const until = new Array<Position>(PARTITIONS).fill(0).with(partition, checkpoint);
  let again: RowJson[] = [];
  await fillPartitions({
    log,
    spaces: [{ ...space, until }],
    partitions: [partition],
    upTo: checkpoint,
    onProgress: () => {},
    write: async (folded) => void (again = jsonOf(folded)),
  });
  const [change] = compareRows(rows, again).first;
  return differenceOf(space.projection, change ?? NO_ROW, {
    position: checkpoint,
    events: (range) => allEvents(log, range),
  });
};

const NO_ROW: RowChange = { scope: '', key: '', before: null, after: null, fields: [] };

/** Describes a row that is another one in the log, with the last event that changed it. */
const differenceOf = async (
  projection: Projection,
  { scope, key, before, after, fields }: RowChange,
  { position, events }: { position: Position; events: Events },
): Promise<RowDifference> => {
  const difference = { readModel: projection.name, scope, key, position, fields };
  const last = await lastEventOf(projection, difference, events);
  return { ...difference, live: before, log: after, ...last };
};

/** Says in a sentence which row differs, in what, and what changed it last. */
export const differenceText = (difference: RowDifference): string => {
  const { scope, key, live, log, fields, lastEvent } = difference;
  if (scope === '' && key === '') return 'its rows differed, and were filled again meanwhile';
  const how =
    live === null
      ? 'is missing'
      : log === null
        ? 'is not in the log'
        : `differs in ${fields.join(', ') || 'the order of its members'}`;
  const after = lastEvent ? `; changed last by ${lastEvent.type} at ${lastEvent.position}` : '';
  return `${key} of ${scope} ${how}${after}`;
};

/** Compares all rows, or those of a sample of the partitions. */
export const checkAllRows = async ({
  skips,
  sample,
  ...options
}: RowCheckOptions): Promise<RowCheck> => {
  const partitions = Array.from({ length: Math.ceil(PARTITIONS / sample) }, (_, n) => n * sample);
  const projections = skips.over(PROJECTIONS);
  const { rows, position, difference } = await compareWithLog({
    ...options,
    projections,
    partitions,
  });
  return { rows, position: difference?.position ?? position, ...(difference && { difference }) };
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
    const [change] = compareRows(own, folded).first;
    if (!change) continue;
    const at = { position: checkpoint, events };
    return { ...check, difference: await differenceOf(projection, change, at) };
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
