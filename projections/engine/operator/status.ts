import type { Position } from '#src/ports/event-log.ts';
import type { Space } from '#src/ports/read-model.ts';
import type { LoopState } from '../loop-state.ts';
import type { ParkedPartition } from '../target.ts';

export type FillProgress = { space: Space; position: Position; head: Position };

export type ReadModelStatus = {
  name: string;
  version: number;
  /** The live space; null while the first build runs, and for the catalog. */
  space: Space | null;
  /** Every partition is folded up to here. */
  checkpoint: Position;
  /** Head of the log minus checkpoint: events where the log numbers them, bytes in EventStoreDB. */
  lagEvents: number;
  parked: ParkedPartition[];
  rebuilding?: FillProgress;
};

/** Returns the status of each read model, and of the catalog if there is one. */
export const listStatuses = async (state: LoopState): Promise<ReadModelStatus[]> => {
  const position = state.rowsReached();
  const head = (await state.options.log.head()).position;
  const lagEvents = (checkpoint: Position): number => Math.max(0, head - checkpoint);
  const statuses = state.options.projections.map(({ name, version }): ReadModelStatus => {
    const rebuilding = state.fills.get(name);
    const target = state.findTarget(name);
    const parked = [...(target?.parked.values() ?? [])];
    const parkedAt = parked.map(({ partition }) => target?.checkpoints[partition] ?? 0);
    // Without a target the first space is still being filled.
    const checkpoint = target ? Math.min(position, ...parkedAt) : (rebuilding?.position ?? 0);
    const space = target?.space ?? null;
    const status = { name, version, space, checkpoint, lagEvents: lagEvents(checkpoint), parked };
    return { ...status, ...(rebuilding && { rebuilding }) };
  });
  if (!state.catalog) return statuses;
  const { version, parked } = state.catalog;
  const checkpoint = parked
    ? state.catalog.checkpoint()
    : Math.min(position, state.catalog.reached());
  const catalog = { name: 'catalog', version, space: null, checkpoint };
  return [
    ...statuses,
    { ...catalog, lagEvents: lagEvents(checkpoint), parked: parked ? [parked] : [] },
  ];
};
