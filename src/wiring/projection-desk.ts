import type { Logger } from 'pino';
import { rebuild } from '#projections/engine/rebuild.ts';
import type { Engine } from '#projections/engine/run.ts';
import { type Verification, verify, verifyCatalog } from '#projections/engine/verify.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { memoryStore } from '#src/adapters/memory/read-model.ts';
import type { CatalogBuilds } from '#src/adapters/sqlite/catalog/builds.ts';
import { sqliteCatalog } from '#src/adapters/sqlite/catalog/catalog.ts';
import type {
  ProjectionDesk,
  ProjectionStatus,
  VerifyState,
} from '#src/app/read-models/projection-desk.ts';
import type { Catalog } from '#src/ports/catalog.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { ProjectionStore } from '#src/ports/read-model.ts';

/** Runs that were asked about last; an older one is simply started again. */
const RUNS_MAX = 50;

/** What operators do with the engine: status, rebuild and verify, one at a time per read model. */
export const projectionDesk = (deps: {
  log: EventLog;
  store: ProjectionStore;
  engine: Engine;
  catalog: Catalog;
  /** Builds the catalog afresh beside the one that answers. */
  rebuild: CatalogBuilds['rebuild'];
  logger: Logger;
}): ProjectionDesk => {
  const { log, store, engine, catalog, logger } = deps;
  const rebuilds = new Map<string, NonNullable<ProjectionStatus['lastRebuild']>>();
  const runs = new Map<string, VerifyState>();
  /** Those under way, by read model. */
  const verifying = new Map<string, VerifyState>();

  const rebuildNow = async (name: string): Promise<void> => {
    const projection = PROJECTIONS.find((known) => known.name === name);
    if (projection) {
      await rebuild({ log, store, engine, projection });
      return;
    }
    await deps.rebuild(log);
    // What the one before could not take is tried with the new one.
    engine.recheck();
  };

  const compare = async (name: string, state: VerifyState): Promise<Verification> => {
    const projection = PROJECTIONS.find((known) => known.name === name);
    const onProgress = ({ position }: { position: number }) => {
      state.position = position;
    };
    if (projection)
      return verify({ log, store, projections: [projection], fresh: memoryStore(), onProgress });
    const fresh = sqliteCatalog(':memory:');
    try {
      return await verifyCatalog({ log, catalog, fresh, onProgress });
    } finally {
      fresh.close();
    }
  };

  const verifyNow = async (name: string, state: VerifyState): Promise<void> => {
    const result = await compare(name, state);
    state.rows = result.rows;
    state.mismatches = result.mismatches.map(({ partition, checkpoint, live, fresh: again }) => ({
      partition,
      detail: `at ${checkpoint}: ${live.rows} rows live, ${again.rows} afresh, digests differ`,
    }));
  };

  return {
    names: () => [...PROJECTIONS.map(({ name }) => name), 'catalog'],
    status: async () =>
      (await engine.status()).map(({ space, ...status }) => {
        const lastRebuild = rebuilds.get(status.name);
        return { ...status, space: space ?? '', ...(lastRebuild && { lastRebuild }) };
      }),
    rebuild(name) {
      if (rebuilds.get(name)?.state === 'running') return false;
      rebuilds.set(name, { state: 'running' });
      rebuildNow(name).then(
        () => rebuilds.set(name, { state: 'done' }),
        (error: unknown) => {
          logger.error({ err: error, projection: name }, 'rebuild failed');
          rebuilds.set(name, { state: 'failed', failure: String(error) });
        },
      );
      return true;
    },
    verify(name, run) {
      const id = `${name}/${run}`;
      const known = runs.get(id);
      if (known) return known;
      for (const old of runs.keys()) {
        if (runs.size < RUNS_MAX) break;
        runs.delete(old);
      }
      // Whoever asks while one is under way is told what that one finds.
      const running = verifying.get(name);
      const state = running ?? { done: false, position: 0, rows: 0, mismatches: [] };
      runs.set(id, state);
      if (running) return state;
      verifying.set(name, state);
      verifyNow(name, state)
        .catch((error: unknown) => {
          state.failure = error instanceof Error ? error.message : String(error);
        })
        .finally(() => {
          state.done = true;
          verifying.delete(name);
        });
      return state;
    },
  };
};
