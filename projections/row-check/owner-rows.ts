/** Compares live rows with a fold of the log byte for byte, and names the first that differs. */
import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { EventLog, FoldEvent, Position } from '#src/ports/event-log.ts';
import type { RowPlace } from '#src/ports/owner-fold.ts';
import {
  partitionOf,
  PARTITIONS,
  type ProjectionStore,
  type RowJson,
  type Space,
} from '#src/ports/read-model.ts';
import { accessScope } from '#src/ports/rows.ts';
import { fill } from './engine/fill.ts';
import { openTarget } from './engine/target.ts';
import { PROJECTIONS } from './index.ts';
import { openOwnerFold } from './owner-fold.ts';
import type { Projection } from './projection.ts';

export type RowDifference = RowPlace & {
  /** Both sides are as of this position. */
  position: Position;
  live: string | null;
  log: string | null;
  lastEvent?: Pick<FoldEvent, 'position' | 'type' | 'stream'>;
};

export type RowCheck = { rows: number; position: Position; difference?: RowDifference };

type StoreOf = (projection: string) => ProjectionStore;
type Events = (range: { after: Position; upTo: Position }) => AsyncIterable<readonly FoldEvent[]>;

export type RowCheckOptions = {
  log: Pick<EventLog, 'readFold' | 'head'>;
  storeOf: StoreOf;
  /** One of so many partitions; 1 for all. */
  sample: number;
  onProgress(position: Position, rows: number): void;
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
      if (place.key === key || place.others?.includes(key)) ofRow = event;
    }
  const last = ofRow ?? ofScope;
  return last
    ? { lastEvent: { position: last.position, type: last.type, stream: last.stream } }
    : {};
};

/** Live rows that belong to an owner, and the checkpoint that they were read with. */
type Snapshot = {
  projection: Projection;
  partition: number;
  checkpoint: Position;
  rows: RowJson[];
};

/** The scopes that have rows of this owner only. */
const ownScopesOf = (owner: string): string[] => [
  owner,
  ...(['agent', 'key', 'desk'] as const).map((kind) => accessScope(owner, kind)),
];

/** Reads which scopes the owner's events change, by read model; others can have rows in them, too. */
const changedScopes = async (
  pages: ReturnType<Events>,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> => {
  const fold = openOwnerFold(PROJECTIONS);
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
  { storeOf, sample, log, onProgress }: RowCheckOptions,
  events: Events,
): Promise<RowCheck> => {
  const { position: head } = await log.head();
  const ownScopes = new Set(ownScopesOf(owner));
  const changed = await changedScopes(events({ after: 0, upTo: head }));
  const scopesOf = ({ name }: Projection) =>
    ownScopes.union(changed.get(name) ?? new Set<string>());
  const snapshots = await snapshotsOf({ storeOf, sample, scopesOf });
  snapshots.sort((a, b) => a.checkpoint - b.checkpoint);
  const fold = openOwnerFold(PROJECTIONS);
  const check: RowCheck = { rows: 0, position: 0 };
  for (const { projection, partition, checkpoint, rows } of snapshots) {
    for await (const page of events({ after: check.position, upTo: checkpoint }))
      for (const event of page) fold.add(event);
    check.position = Math.max(check.position, checkpoint);
    const folded = fold
      .rowsOf(projection.name)
      .filter(({ scope }) => partitionOf(scope) === partition);
    const names = new Set(folded.map(nameOfRow));
    // A scope that others share has their rows, too.
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

const snapshotsOf = async ({
  storeOf,
  sample,
  scopesOf,
}: Pick<RowCheckOptions, 'storeOf' | 'sample'> & {
  scopesOf(projection: Projection): ReadonlySet<string>;
}): Promise<Snapshot[]> => {
  const snapshots: Snapshot[] = [];
  for (const projection of PROJECTIONS) {
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

const digestOf = (rows: readonly RowJson[]): string => {
  const hash = createHash('sha256');
  const texts = rows.map(({ scope, key, json }) => JSON.stringify([scope, key, json]));
  for (const text of texts.sort()) hash.update(text);
  return hash.digest('hex');
};

/**
 * Compares all rows: reads a digest of the live rows of each partition with its checkpoint, folds the log up to these
 * checkpoints, and reads the rows of the first partition whose digests differ again.
 */
export const checkAllRows = async (
  { log, storeOf, sample, onProgress }: RowCheckOptions & { log: EventLog },
  fresh: () => ProjectionStore,
): Promise<RowCheck> => {
  const check: RowCheck = { rows: 0, position: 0 };
  for (const projection of PROJECTIONS) {
    const store = storeOf(projection.name);
    const { live: space } = await store.spaces(projection.name);
    if (space === null) continue;
    const digests = new Map<number, string>();
    const until = new Array<Position>(PARTITIONS).fill(0);
    for (let partition = 0; partition < PARTITIONS; partition += sample) {
      const { checkpoint, rows } = await store.partitionRows(space, partition);
      digests.set(partition, digestOf(rows));
      until[partition] = checkpoint;
      check.rows += rows.length;
      await turn();
    }
    const upTo = Math.max(...until);
    const again = fresh();
    await fill({
      log,
      store: again,
      targets: [{ ...(await openTarget(again, { projection, space })), until }],
      upTo,
      onProgress: (position) => onProgress(position, check.rows),
    });
    check.position = Math.max(check.position, upTo);
    for (const [partition, digest] of digests) {
      if (digestOf((await again.partitionRows(space, partition)).rows) === digest) continue;
      const place = { space, partition };
      const difference = await comparePartition({ log, store, fresh }, projection, place);
      return { ...check, position: difference.position, difference };
    }
  }
  return check;
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
