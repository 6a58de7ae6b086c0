import type { Logger } from 'pino';
import type { Engine } from '#projections/engine/engine.ts';
import { rebuild } from '#projections/engine/operator/rebuild.ts';
import {
  type ReadModelVerification,
  verify,
  verifyCatalog,
} from '#projections/engine/operator/verify.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { memoryStore } from '#src/stores/memory/read-model.ts';
import type { CatalogBuilds } from '#src/stores/sqlite/catalog/builds.ts';
import { sqliteCatalog } from '#src/stores/sqlite/catalog/catalog.ts';
import type {
  CheckedRows,
  CheckState,
  ProjectionDesk,
  ProjectionReport,
  VerifyState,
} from '#src/reading/projection-desk.ts';
import { runs } from '#src/shared/runs.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import type { OpenReadModels } from './read-models.ts';

export type ProjectionDeps = Pick<CatalogBuilds, 'catalog' | 'rebuild'> &
  Pick<OpenReadModels, 'stackOf' | 'checkRows'> & {
    log: EventLog;
    engine: Pick<Engine, 'status' | 'recheck'>;
    logger: Logger;
  };

/** Creates the operations on read models: status, and one rebuild and verify at a time for each. */
export const projectionDesk = (deps: ProjectionDeps): ProjectionDesk => {
  const check = runs(
    (): CheckState => ({ done: false, position: 0, rows: 0 }),
    async (rows, state) => {
      const onProgress = (at: Position, count: number) =>
        Object.assign(state, { position: at, rows: count });
      Object.assign(state, await deps.checkRows(JSON.parse(rows) as CheckedRows, onProgress));
    },
  );
  const rebuilds = new Map<string, NonNullable<ProjectionReport['lastRebuild']>>();
  return {
    names: () => [...PROJECTIONS.map(({ name }) => name), 'catalog'],
    status: async () =>
      (await deps.engine.status()).map(({ space, ...status }) => {
        const lastRebuild = rebuilds.get(status.name);
        return { ...status, space: space ?? '', ...(lastRebuild && { lastRebuild }) };
      }),
    rebuild(name) {
      if (rebuilds.get(name)?.state === 'running') return false;
      rebuilds.set(name, { state: 'running' });
      rebuildNow(deps, name).then(
        () => rebuilds.set(name, { state: 'done' }),
        (error: unknown) => {
          deps.logger.error({ err: error, projection: name }, 'rebuild failed');
          rebuilds.set(name, { state: 'failed', failure: String(error) });
        },
      );
      return true;
    },
    verify: runs(
      (): VerifyState => ({ done: false, position: 0, rows: 0, mismatches: [] }),
      (name, state) => verifyNow(deps, name, state),
    ),
    check: (rows, run) => check(JSON.stringify(rows), run),
  };
};

const rebuildNow = async (deps: ProjectionDeps, name: string): Promise<void> => {
  const { log } = deps;
  const stack = deps.stackOf(name);
  const projection = stack.projections.find((one) => one.name === name);
  if (projection) {
    await rebuild({ log, projection, ...stack });
    return;
  }
  await deps.rebuild(log);
  // The new catalog tries the event that parked the previous one.
  deps.engine.recheck();
};

const verifyNow = async (deps: ProjectionDeps, name: string, state: VerifyState): Promise<void> => {
  const result = await compareWithLog(deps, name, (position) => {
    state.position = position;
  });
  state.rows = result.rows;
  state.mismatches = result.mismatches.map(({ partition, checkpoint, live, fresh }) => ({
    partition,
    detail: `at ${checkpoint}: ${live.rows} rows live, ${fresh.rows} rows rebuilt, digests differ`,
  }));
};

const compareWithLog = async (
  { log, catalog, stackOf }: ProjectionDeps,
  name: string,
  onProgress: (position: Position) => void,
): Promise<ReadModelVerification> => {
  const stack = stackOf(name);
  const projections = stack.projections.filter((one) => one.name === name);
  if (projections.length > 0)
    return verify({ log, ...stack, projections, fresh: memoryStore(), onProgress });
  const fresh = sqliteCatalog(':memory:');
  try {
    return await verifyCatalog({ log, catalog, fresh, onProgress });
  } finally {
    fresh.close();
  }
};
