/** The store of one read model as the engine sees it: its spaces, and the state machine of their life. */
import { type Projection, spaceOfBuild } from '#projections/projection.ts';
import type { Position, EventLog } from '#src/ports/event-log.ts';
import {
  ALL_PARTITIONS,
  PARTITIONS,
  type ProjectionStore,
  type Space,
} from '#src/ports/read-model.ts';

/** A partition that stopped before an event that its projection cannot fold. */
export type ParkedPartition = {
  partition: number;
  position: Position;
  stream: string;
  reason: string;
};

/** A space that the engine fills or follows, and what this process knows about it. */
export type FoldTarget = {
  readonly projection: Projection;
  readonly store: ProjectionStore;
  readonly space: Space;
  life: Life;
  /** Checkpoint of each partition; beyond the stored one after events that do not concern it. */
  checkpoints: Position[];
  readonly parked: Map<number, ParkedPartition>;
  /** Partitions that this process folds. */
  readonly own: ReadonlySet<number>;
  /** Position of the last event that this process saw in each partition that others fold. */
  readonly lastSeen: Position[];
  /** Position of the first of those events that others may not have folded; 0 if there is none. */
  readonly firstPending: Position[];
  /** The fill read up to here: the required checkpoints of others' partitions are known so far. */
  filledTo: Position;
  /** Last position to fold in each partition; `verify` compares at exact checkpoints. */
  readonly until?: readonly Position[];
};

const ALL: ReadonlySet<number> = new Set(ALL_PARTITIONS);
const zeros = (): Position[] => new Array<Position>(PARTITIONS).fill(0);

type Opening = { projection: Projection; space: Space; own?: ReadonlySet<number> | undefined };

export const openTarget = async (
  store: ProjectionStore,
  { projection, space, own = ALL }: Opening,
): Promise<FoldTarget> => ({
  projection,
  store,
  space,
  life: { stage: 'filling', isRead: false },
  checkpoints: await store.checkpoints(space),
  parked: new Map(),
  own,
  lastSeen: zeros(),
  firstPending: zeros(),
  filledTo: 0,
});

/**
 * Returns the position up to which every partition of every target is folded. In a partition that
 * others fold, events beyond its checkpoint must have been seen to know its required checkpoint.
 */
export const lowestPosition = (targets: readonly FoldTarget[]): Position => {
  let lowest = Infinity;
  for (const { checkpoints, own, filledTo } of targets)
    for (const [partition, at] of checkpoints.entries())
      lowest = Math.min(lowest, own.has(partition) ? at : Math.max(at, filledTo));
  return lowest === Infinity ? 0 : lowest;
};

/** Returns the checkpoint that rows of this partition need to reflect the position of the loop. */
export const requiredCheckpoint = (
  { own, checkpoints, lastSeen }: FoldTarget,
  partition: number,
): Position => {
  const checkpoint = checkpoints[partition] ?? 0;
  return own.has(partition) ? checkpoint : Math.max(checkpoint, lastSeen[partition] ?? 0);
};

/**
 * Returns the position up to which a partition is complete when its stored checkpoint is `at`, or
 * undefined when no event is pending. In an idle partition this position is far beyond `at`.
 */
export const completeUpTo = (
  target: FoldTarget,
  partition: number,
  at: Position,
): Position | undefined => {
  const { firstPending } = target;
  if (at >= requiredCheckpoint(target, partition)) {
    firstPending[partition] = 0;
    return undefined;
  }
  return Math.max(at, (firstPending[partition] ?? 0) - 1);
};

/**
 * Advances the checkpoints of partitions without events up to `upTo`, so that a restart need not
 * read those events again. Runs rarely: each run writes up to 64 checkpoints.
 */
export const advanceCheckpoints = async (target: FoldTarget, upTo: Position): Promise<void> => {
  const { store, checkpoints, parked, own } = target;
  const batches = [];
  for (const partition of own) {
    const from = checkpoints[partition] ?? 0;
    if (from < upTo && !parked.has(partition))
      batches.push({ partition, from, to: upTo, writes: [] });
  }
  const results = await store.commit(target.space, batches);
  const stale = batches.filter(({ partition, to }, i) => {
    if (results[i] === 'committed') checkpoints[partition] = to;
    return results[i] !== 'committed';
  });
  if (stale.length === 0) return;
  const stored = await store.checkpoints(target.space);
  let mustRepeat = false;
  for (const { partition, from } of stale) {
    // Another process advanced it, and no event since then concerns it. A checkpoint below `from`
    // means that the store lost rows; the next inspection detects that.
    const at = Math.max(from, stored[partition] ?? 0);
    checkpoints[partition] = at;
    mustRepeat ||= from < at && at < upTo;
  }
  if (mustRepeat) await advanceCheckpoints(target, upTo);
};

type Versioned = Pick<Projection, 'name' | 'version'>;

/** Returns true if the rows of the space have the shape that this code reads. */
export const isOfVersion = (space: Space | null, { name, version }: Versioned): space is Space =>
  space?.startsWith(`${name}@${version}.`) === true;

const buildOf = (space: Space): number => Number(space.slice(space.lastIndexOf('.') + 1));
const versionOf = (space: Space): number =>
  Number.parseInt(space.slice(space.indexOf('@') + 1), 10);

/** Compares the builds of two spaces of one version. */
export const isLater = (space: Space, than: Space): boolean => buildOf(space) > buildOf(than);

/** Returns the spaces of this version, oldest build first. */
export const listBuilds = (all: readonly Space[], projection: Versioned): Space[] =>
  all.filter((space) => isOfVersion(space, projection)).toSorted((a, b) => buildOf(a) - buildOf(b));

/** Returns a name that no space of this version has had. */
export const nextSpace = (all: readonly Space[], projection: Versioned): Space => {
  const last = listBuilds(all, projection).at(-1);
  return spaceOfBuild(projection, last === undefined ? 1 : buildOf(last) + 1);
};

/** Returns the space to fill when none is live: all workers must fill the one that exists. */
export const spaceToFill = (all: readonly Space[], projection: Versioned): Space =>
  listBuilds(all, projection).at(-1) ?? nextSpace(all, projection);

/**
 * Returns the live space if it has this version and belongs to this log. A checkpoint beyond the
 * head belongs to a log that no longer exists; such a space is dropped.
 */
export const findLiveSpace = async (
  store: ProjectionStore,
  projection: Versioned,
  log: Pick<EventLog, 'head'>,
): Promise<Space | undefined> => {
  const { live } = await store.spaces(projection.name);
  if (!isOfVersion(live, projection)) return undefined;
  const checkpoints = await store.checkpoints(live);
  // Reads the head last, because other processes fold new events in the meantime.
  const { position } = await log.head();
  if (Math.max(...checkpoints) <= position) return live;
  await store.drop(live);
  return undefined;
};

/** Returns the space with the highest checkpoint; the latest one of equals. */
const findFurthest = async (
  store: ProjectionStore,
  spaces: readonly Space[],
): Promise<Space | undefined> => {
  let furthest: Space | undefined;
  let highest = 0;
  const inOrder = spaces.toSorted((a, b) => versionOf(a) - versionOf(b) || buildOf(a) - buildOf(b));
  for (const space of inOrder) {
    const checkpoint = Math.max(...(await store.checkpoints(space)));
    if (checkpoint < highest) continue;
    furthest = space;
    highest = checkpoint;
  }
  return furthest;
};

/**
 * Returns the spaces that may be dropped: all except `retained` (the live one, and the previous one,
 * which other processes may still read) and the furthest space of another version. That one serves processes of the other version
 * during an upgrade, and after a downgrade.
 */
export const findObsolete = async (
  store: ProjectionStore,
  projection: Versioned,
  retained: readonly (Space | null)[],
): Promise<Space[]> => {
  const { all } = await store.spaces(projection.name);
  const others = all.filter((space) => !retained.includes(space));
  const otherVersions = others.filter((space) => !isOfVersion(space, projection));
  const furthest = await findFurthest(store, otherVersions);
  return others.filter((space) => space !== furthest);
};

/**
 * The life of a space, as one process sees it: a pure state machine. `engine.ts` observes the store and performs the
 * effects.
 *
 *              filled, own partitions       complete: goLive
 *   filling ─────────────────────► awaiting ───────────────► live
 *    ▲ │ │        filled, all partitions: goLive              ▲ │
 *    │ │ └─────────────────────────────────────────┐          │ │
 *    │ │ filled by an operator                     │          │ │
 *    │ └──────────► verifying ──── verified ───────┴──────────┘ │
 *    │                  │ refused: drop                         │
 *    │                  ▼                                       │
 *    │               dropped         the store has less than it │
 *    │                               confirmed, another space   │
 *    │ opened again                  is live, or its borrowed   │
 *    └──────────── lost ◄─────────── partitions are due ────────┘ (also from awaiting)
 *
 * The loop follows spaces that are awaiting activation or live. A process that folds nothing loses no space: it switches to
 * the live one (`follow`). A parked partition is part of any of these stages: the other partitions continue.
 */
export type Life =
  /** `isRead`: readers use it already, so no later position is reached until it is filled. */
  | { stage: 'filling' | 'lost'; isRead: boolean }
  | { stage: 'verifying' | 'dropped' }
  /** Other processes have not filled their partitions up to `until` yet. */
  | { stage: 'awaiting'; until: Position }
  /** `returnsAt`: when this process returns the partitions that it borrowed, on the monotonic clock. */
  | { stage: 'live'; returnsAt: number };

export type Observation =
  /** `isWhole`: all partitions, also those of other processes, which are borrowed until `returnsAt`. */
  | { is: 'filled'; upTo: Position; isWhole: boolean; returnsAt: number }
  | { is: 'rebuilt' | 'refused' | 'lost' }
  | {
      is: 'inspected';
      /** The space is the live one. */
      isLive: boolean;
      /** A later build is live or being filled. */
      isOvertaken: boolean;
      /** This process folds partitions of it. */
      isFolded: boolean;
      /** Every partition has this stored checkpoint at least. */
      lowest: Position;
      now: number;
    };

/** `advance`: the checkpoints of idle partitions, for which other processes may wait. */
export type Effect = 'goLive' | 'advance' | 'follow' | 'drop';
export type Step = { life: Life; effect?: Effect };

/** Returns the next stage of a space, and what to do before it is reached; an observation that does not concern the stage changes nothing. */
export const nextLife = (life: Life, seen: Observation): Step => {
  switch (life.stage) {
    case 'filling':
      if (seen.is === 'rebuilt') return { life: { stage: 'verifying' } };
      return seen.is === 'filled' ? afterFill(seen) : { life };
    case 'verifying':
      if (seen.is === 'refused') return { life: { stage: 'dropped' }, effect: 'drop' };
      return seen.is === 'filled' ? afterFill(seen) : { life };
    case 'awaiting':
    case 'live':
      if (seen.is === 'lost') return { life: { stage: 'lost', isRead: true } };
      return seen.is === 'inspected' ? afterInspection(life, seen) : { life };
    case 'lost':
    case 'dropped':
      return { life };
  }
};

const afterFill = ({ upTo, isWhole, returnsAt }: Observation & { is: 'filled' }): Step =>
  isWhole
    ? { life: { stage: 'live', returnsAt }, effect: 'goLive' }
    : { life: { stage: 'awaiting', until: upTo } };

/** A live space without borrowed partitions. */
export const LIVE: Life = { stage: 'live', returnsAt: Infinity };

const afterInspection = (
  life: Life & { stage: 'awaiting' | 'live' },
  { isLive, isOvertaken, isFolded, lowest, now }: Observation & { is: 'inspected' },
): Step => {
  const isAwaiting = life.stage === 'awaiting';
  if (isLive) {
    if (isAwaiting) return { life: LIVE };
    return isFolded && now >= life.returnsAt
      ? { life: { stage: 'lost', isRead: false } }
      : { life };
  }
  if (!isAwaiting || isOvertaken)
    return isFolded ? { life: { stage: 'lost', isRead: false } } : { life, effect: 'follow' };
  return lowest < life.until ? { life, effect: 'advance' } : { life: LIVE, effect: 'goLive' };
};
