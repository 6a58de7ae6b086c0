import type { Position } from '#src/ports/event-log.ts';
import type { Space } from '#src/ports/read-model.ts';
import type { CatalogFollower } from './catalog-follower.ts';
import type { Parked, Target } from './target.ts';

export type Progress = { space: Space; position: Position; head: Position };

export type ProjectionStatus = {
  name: string;
  version: number;
  /** What answers; null while the first build is not done. */
  space: Space | null;
  /** Everything up to here is folded, in every partition. */
  checkpoint: Position;
  /** Head of the log minus checkpoint: events where the log numbers them, bytes in EventStoreDB. */
  lagEvents: number;
  parked: Parked[];
  rebuilding?: Progress;
};

type At = { position: Position; head: Position };

/** Of a projection without a target, because its first space is still being filled. */
export const unbornStatus = (
  { name, version }: Target['projection'],
  { head }: At,
  progress: Progress | undefined,
): ProjectionStatus => {
  const checkpoint = progress?.position ?? 0;
  const lagEvents = Math.max(0, head - checkpoint);
  const status = { name, version, space: null, checkpoint, lagEvents, parked: [] };
  return { ...status, ...(progress && { rebuilding: progress }) };
};

/** `position`: where the fold stands in all partitions that are not parked. */
export const targetStatus = (
  { projection: { name, version }, space, checkpoints, parked }: Target,
  { position, head }: At,
  progress: Progress | undefined,
): ProjectionStatus => {
  let checkpoint = position;
  for (const { partition } of parked.values())
    checkpoint = Math.min(checkpoint, checkpoints[partition] ?? 0);
  const lagEvents = Math.max(0, head - checkpoint);
  const status = { name, version, space, checkpoint, lagEvents, parked: [...parked.values()] };
  return { ...status, ...(progress && { rebuilding: progress }) };
};

export const catalogStatus = (catalog: CatalogFollower, at: At): ProjectionStatus => {
  const parked = catalog.parked();
  const checkpoint = parked ? catalog.checkpoint() : Math.min(at.position, catalog.reached());
  return {
    name: 'catalog',
    version: catalog.version,
    space: null,
    checkpoint,
    lagEvents: Math.max(0, at.head - checkpoint),
    parked: parked ? [parked] : [],
  };
};
