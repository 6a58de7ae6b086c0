import type { EventLog } from '#src/ports/event-log.ts';
import type { ProjectionStore, Space } from '#src/ports/read-model.ts';
import { type Projection, spaceOf } from '../projection.ts';

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
  return spaceOf(projection, last === undefined ? 1 : buildOf(last) + 1);
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
