import type { EventLog } from '#src/ports/event-log.ts';
import type { ProjectionStore, Space } from '#src/ports/read-model.ts';
import { type Projection, spaceOf } from '../projection.ts';

type Versioned = Pick<Projection, 'name' | 'version'>;

/** Is this a space that the code's shape of a row can be read from? */
export const ofVersion = (space: Space | null, { name, version }: Versioned): space is Space =>
  space?.startsWith(`${name}@${version}.`) === true;

const buildOf = (space: Space): number => Number(space.slice(space.lastIndexOf('.') + 1));
const versionOf = (space: Space): number =>
  Number.parseInt(space.slice(space.indexOf('@') + 1), 10);

/** Of two spaces of one version. */
export const isLater = (space: Space, than: Space): boolean => buildOf(space) > buildOf(than);

/** The spaces of this version, oldest first. */
export const builds = (all: readonly Space[], projection: Versioned): Space[] =>
  all.filter((space) => ofVersion(space, projection)).sort((a, b) => buildOf(a) - buildOf(b));

/** A name that no space of this version has had. */
export const nextSpace = (all: readonly Space[], projection: Versioned): Space => {
  const last = builds(all, projection).at(-1);
  return spaceOf(projection, last === undefined ? 1 : buildOf(last) + 1);
};

/** What to fill when no space answers: what somebody began, for all who fold must fill the same. */
export const spaceToFill = (all: readonly Space[], projection: Versioned): Space =>
  builds(all, projection).at(-1) ?? nextSpace(all, projection);

/**
 * The space that answers, if it is of this version and of this log: positions beyond the head
 * belong to a log that is gone, and so do its rows.
 */
export const liveSpace = async (
  store: ProjectionStore,
  projection: Versioned,
  log: Pick<EventLog, 'head'>,
): Promise<Space | undefined> => {
  const { live } = await store.spaces(projection.name);
  if (!ofVersion(live, projection)) return undefined;
  const checkpoints = await store.checkpoints(live);
  // Asked after the checkpoints: others fold meanwhile what happens meanwhile.
  const { position } = await log.head();
  if (Math.max(...checkpoints) <= position) return live;
  await store.drop(live);
  return undefined;
};

/** Where several are as far, the latest. */
const furthest = async (
  store: ProjectionStore,
  spaces: readonly Space[],
): Promise<Space | undefined> => {
  let found: Space | undefined;
  let reached = 0;
  const inOrder = spaces.toSorted((a, b) => versionOf(a) - versionOf(b) || buildOf(a) - buildOf(b));
  for (const space of inOrder) {
    const at = Math.max(...(await store.checkpoints(space)));
    if (at < reached) continue;
    found = space;
    reached = at;
  }
  return found;
};

/**
 * All spaces but these (the one that answers, and the one it can be rolled back to), and but the one
 * of another version that is folded furthest: in an upgrade it answers the processes which are not of
 * this version yet, and after it whoever goes back.
 */
export const ofNoUse = async (
  store: ProjectionStore,
  projection: Versioned,
  kept: readonly (Space | null)[],
): Promise<Space[]> => {
  const { all } = await store.spaces(projection.name);
  const others = all.filter((space) => !kept.includes(space));
  const spared = await furthest(
    store,
    others.filter((space) => !ofVersion(space, projection)),
  );
  return others.filter((space) => space !== spared);
};

export const dropOthers = async (
  store: ProjectionStore,
  projection: Versioned,
  kept: readonly (Space | null)[],
): Promise<void> => {
  for (const space of await ofNoUse(store, projection, kept)) await store.drop(space);
};
