/** The packages of infra/peers, as far as the benchmarks use them; only `make bench-peers` installs them. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { hasPostgres } from './postgres.ts';

const require = createRequire(join(import.meta.dirname, '../../../infra/peers/package.json'));

const packageOf =
  <Package>(name: string) =>
  (): Package =>
    require(name) as Package;

type PgRows = { rows: Record<string, unknown>[] };
export type PgClient = {
  query(sql: string | { name: string; text: string; values: unknown[] }): Promise<PgRows>;
  query(sql: string, values: unknown[]): Promise<PgRows>;
};
type PgSettings = { host: string; user: string; database: string; max?: number };
export const pg = packageOf<{
  Client: new (
    settings: PgSettings,
  ) => PgClient & { connect(): Promise<void>; end(): Promise<void> };
  Pool: new (
    settings: PgSettings,
  ) => PgClient & {
    connect(): Promise<PgClient & { release(): void }>;
    end(): Promise<void>;
  };
}>('pg');

export const duckdb = packageOf<{
  DuckDBInstance: {
    create(
      path: string,
      options: Record<string, string>,
    ): Promise<{
      connect(): Promise<{
        runAndReadAll(
          sql: string,
          values?: unknown[],
        ): Promise<{ getRowObjectsJson(): Record<string, unknown>[] }>;
      }>;
    }>;
  };
}>('@duckdb/node-api');

export const emmett = packageOf<{
  getPostgreSQLEventStore(url: string): {
    appendToStream(
      stream: string,
      events: { type: string; data: object; metadata: object }[],
      options: { expectedStreamVersion: 'STREAM_DOES_NOT_EXIST' },
    ): Promise<unknown>;
    schema: { migrate(): Promise<unknown> };
    close(): Promise<void>;
  };
  postgreSQLRawBatchSQLProjection<Event>(projection: {
    name: string;
    canHandle: readonly string[];
    evolve(events: Event[]): string[];
  }): object;
  rebuildPostgreSQLProjections(options: {
    connectionString: string;
    projections: readonly object[];
    pulling: { batchSize: number };
  }): { start(): Promise<void>; close(): Promise<void> };
}>('@event-driven-io/emmett-postgresql');

/** Returns whether the package is installed. */
export const isInstalled = (load: () => unknown): boolean => {
  try {
    load();
    return true;
  } catch {
    return false;
  }
};

/** Names each peer that this machine lacks, with the way to get it. */
export const missingPeers = (): string[] => [
  ...(hasPostgres ? [] : ['PostgreSQL and Emmett, no postgres (apt-get install postgresql)']),
  ...Object.entries({ pg, duckdb, emmett })
    .filter(([, load]) => !isInstalled(load))
    .map(([name]) => `${name} (npm ci --prefix infra/peers)`),
];
