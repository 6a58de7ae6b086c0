/** Builds that are filled and compared, and wait until an operator switches to them or drops them. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Projection } from '#projections/projection.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import { PARTITIONS, type ProjectionStore, type Space } from '#src/ports/read-model.ts';
import { addDifferences, compareRows, noDifferences, type RowDifferences } from './compare-rows.ts';
import type { Engine } from './engine.ts';
import type { FillControl } from './fill-control.ts';
import { fill, type FillInThreads } from './fill.ts';
import { findRefusal } from './operator.ts';
import { findObsolete, isOfVersion, lowestPosition, nextSpace, openTarget } from './target.ts';

/**
 * A build is held while its store has an empty space of this name, which belongs to no read model: the mark is where the
 * rows are, so that it is right for processes that share the store and for those that share the log alone.
 */
const markOf = (space: Space): Space => space.replace('@', '-held@');
const buildOf = (mark: Space): Space => mark.replace('-held@', '@');

type Builds = Pick<ProjectionStore, 'spaces'>;

/** Returns the held build of a read model, which may have no rows yet. */
export const findHeld = async (store: Builds, name: string): Promise<Space | undefined> => {
  const { all } = await store.spaces(`${name}-held`);
  if (all.length === 0) return undefined;
  const { live } = await store.spaces(name);
  // The live one was switched to by a process that ended before it removed the mark.
  return all.map(buildOf).find((space) => space !== live);
};

/**
 * Leaves out held builds where a store lists what it has, so that nothing that decides about builds fills one, drops one or
 * takes one for a later build. `findHeld` finds them there as well.
 */
export const withoutHeld = <Store extends ProjectionStore>(store: Store): Store => ({
  ...store,
  async spaces(name: string) {
    const { live, all } = await store.spaces(name);
    const { all: marks } = await store.spaces(`${name}-held`);
    const held = new Set(marks.map(buildOf));
    return { live, all: all.filter((space) => space === live || !held.has(space)) };
  },
});

type Filling = {
  log: Pick<EventLog, 'readFold' | 'head'>;
  store: ProjectionStore;
  projection: Projection;
  engine: Pick<Engine, 'adopt' | 'passed' | 'parkedFor' | 'reportFill' | 'requiredCheckpoint'>;
  control: FillControl;
  inThreads?: FillInThreads | undefined;
  signal: AbortSignal;
};

/** Fills a build that stays held up to the head of the log: the present one, or a new one. */
export const fillHeld = async (filling: Filling): Promise<Space> => {
  const { store, projection } = filling;
  const held = await findHeld(store, projection.name);
  const { all } = await store.spaces(projection.name);
  const space = held ?? nextSpace(all, projection);
  if (held === undefined) await store.goLive(markOf(space));
  await fillUp(filling, space);
  await store.flush();
  return space;
};

const fillUp = async (
  { log, store, projection, engine, control, inThreads, signal }: Filling,
  space: Space,
) => {
  const target = await openTarget(store, { projection, space });
  const { position: head } = await log.head();
  const onProgress = (position: Position): void =>
    engine.reportFill(projection.name, { space, position, head });
  onProgress(lowestPosition([target]));
  try {
    await control.run(() =>
      fill({ log, targets: [target], control, inThreads, signal, onProgress }),
    );
  } finally {
    engine.reportFill(projection.name, undefined);
  }
  return target;
};

/** How the rows of a held build differ from the live ones. */
export type HeldComparison = RowDifferences & {
  compared: number;
  /** Partitions that one side cannot fold, or whose rows other processes have not folded. */
  notCompared: number[];
};

const WAIT_MS = 100;
const WAITS_MAX = 50;

/**
 * Compares a held build, which is filled, with the live rows beside traffic. Reads the live rows of each partition with
 * their checkpoint, fills the partition of the build up to exactly this checkpoint, and compares the rows: live rows that
 * change afterwards are not seen, and no event is on one side alone. `scopeIn` names a scope of a partition.
 */
export const compareHeld = async (
  filling: Filling,
  space: Space,
  scopeIn: (partition: number) => string,
): Promise<HeldComparison> => {
  const { log, store, projection, engine, signal } = filling;
  const comparison: HeldComparison = { ...noDifferences(), compared: 0, notCompared: [] };
  const { live } = await store.spaces(projection.name);
  if (live === null) return comparison;
  // The build has these events, so the live rows need them.
  await engine.passed((await log.head()).position, Infinity);
  for (let partition = 0; partition < PARTITIONS; partition++) {
    signal.throwIfAborted();
    const scope = scopeIn(partition);
    const before = await readComplete(filling, { live, partition, scope });
    const own = new Set([partition]);
    const target = await openTarget(store, { projection, space, own });
    const at = target.checkpoints[partition] ?? 0;
    // Nothing before is read again, however low the checkpoint of another partition is.
    target.filledTo = at;
    if (before && at < before.checkpoint)
      await fill({ log, targets: [target], upTo: before.checkpoint, signal });
    const after = await store.partitionRows(space, partition);
    const isParked = engine.parkedFor(projection.name, scope) ?? target.parked.size > 0;
    if (!before || isParked || after.checkpoint < before.checkpoint) {
      comparison.notCompared.push(partition);
      continue;
    }
    comparison.compared += before.rows.length;
    addDifferences(comparison, compareRows(before.rows, after.rows));
  }
  return comparison;
};

/** Reads a live partition once the process that folds it has folded what this one has seen; undefined if it does not. */
const readComplete = async (
  { store, projection, engine }: Filling,
  { live, partition, scope }: { live: Space; partition: number; scope: string },
) => {
  const required = engine.requiredCheckpoint(projection.name, scope) ?? Infinity;
  for (let waits = 0; waits < WAITS_MAX; waits++) {
    const read = await store.partitionRows(live, partition);
    if (read.checkpoint >= required) return read;
    await pause(WAIT_MS);
  }
  return undefined;
};

/**
 * Fills a held build up to the head of the log and makes it the live one. Returns why it must not go live, if so: it stays
 * held then.
 */
export const switchToHeld = async (filling: Filling, space: Space): Promise<string | undefined> => {
  const { store, projection, engine } = filling;
  const isReadable: boolean = isOfVersion(space, projection);
  if (!isReadable)
    return `${space} has rows of another version than ${projection.version}: drop it`;
  const target = await fillUp(filling, space);
  const { live: previous } = await store.spaces(projection.name);
  const rows = await store.count(space);
  const refusal = await findRefusal(target, { live: previous, rows });
  if (refusal !== undefined) return `${space} ${refusal}`;
  await engine.adopt(target);
  await store.drop(markOf(space));
  for (const other of await findObsolete(store, projection, [space, previous]))
    await store.drop(other);
  await store.flush();
  return undefined;
};

/** Drops a held build, and its mark last, so that it stays held if this is interrupted. */
export const dropHeld = async (store: ProjectionStore, space: Space): Promise<void> => {
  await store.drop(space);
  await store.drop(markOf(space));
  await store.flush();
};
