/** Compares the live rows of an owner with a fold of its events byte for byte, and names the first that differs. */
import type { Position } from '#src/ports/event-log.ts';
import { partitionOf, type RowJson } from '#src/ports/read-model.ts';
import { accessScope } from '#src/ports/rows.ts';
import { PROJECTIONS } from '../index.ts';
import { openOwnerFold } from '../owner-fold.ts';
import type { Projection } from '../projection.ts';
import {
  type Events,
  firstDifference,
  lastEventOf,
  nameOfRow,
  type RowCheck,
  type RowCheckOptions,
} from './difference.ts';

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

/** Reads which scopes the owner's events change, by read model; others can also have rows in them. */
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
