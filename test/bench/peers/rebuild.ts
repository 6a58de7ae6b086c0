/**
 * P beside peers: a rebuild of the read models of links, leads and handoffs, with their lists, compared with one table of
 * records in PostgreSQL, from the same million events. PostgreSQL gets one `INSERT … ON CONFLICT` for each page of events,
 * once by a loop of our own and once by Emmett; both wait for no commit to be durable, as our rebuild does.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECTIONS } from '#projections/index.ts';
import { rebuildAll } from '#projections/engine/operator.ts';
import { Skips } from '#projections/engine/fold.ts';
import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { sqliteStore } from '#src/stores/sqlite/rows/read-model.ts';
import { fillsInThreads } from '#src/wiring/fill-threads.ts';
import type { Bench } from '../bench.ts';
import type { Role } from '../children.ts';
import { once } from '../rows/rebuild.ts';
import { rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';
import { emmett, isInstalled, pg } from './packages.ts';
import { endPostgres, hasPostgres, type Postgres, startPostgres, USER } from './postgres.ts';

type Rebuilt = { seconds: number; rows: number };
type Args = { directory: string };

const READ_MODELS = ['links', 'leads', 'handoffs'];
const TYPES = [
  ...new Set(
    PROJECTIONS.filter(({ name }) => READ_MODELS.includes(name)).flatMap(({ handles }) => handles),
  ),
];
const PAGE_EVENTS = 1_000;
const COPIED_BYTES = 1_000_000;

/** Rebuilds our read models of records, in threads, into an empty file. */
export const ownRebuild: Role<Args, Rebuilt> = async ({ directory }) => {
  const log = sqliteEventLog({ directory });
  const store = sqliteStore({ file: join(temporaryDirectory(), 'views.db'), log: log.id });
  const skips = new Skips();
  const inThreads = fillsInThreads({ directory, store, skips, isServing: () => false });
  const projections = PROJECTIONS.filter(({ name }) => READ_MODELS.includes(name));
  const startedAt = performance.now();
  await rebuildAll({ log, stores: [{ store, projections }], inThreads });
  const seconds = (performance.now() - startedAt) / 1_000;
  let rows = 0;
  for (const { name } of projections) {
    const { live } = await store.spaces(name);
    if (live !== null) rows += await store.count(live);
  }
  await store.close();
  await log.close();
  return { details: { seconds, rows } };
};

const RECORD = `CREATE TABLE record (id text PRIMARY KEY, owner text NOT NULL, at bigint NOT NULL, state jsonb NOT NULL);
  CREATE INDEX ON record (owner, at DESC);
  CREATE TABLE checkpoint (name text PRIMARY KEY, position bigint NOT NULL);
  ALTER DATABASE postgres SET synchronous_commit = off`;

type Peeked = { type: string; data: Record<string, unknown>; owner: string; at: number };

const idOf = ({ data }: Peeked): unknown =>
  data['lead_id'] ?? data['handoff_id'] ?? data['link_id'];

/** One statement for a page of events; a record occurs once in it, as PostgreSQL requires. */
const upsertOf = (events: readonly Peeked[]): string | undefined => {
  const records = new Map<unknown, { owner: string; at: number; state: object }>();
  for (const event of events) {
    const id = idOf(event);
    const { type, data, owner, at } = event;
    const state = { ...records.get(id)?.state, ...data, last: type };
    records.set(id, { owner, at, state });
  }
  const text = (value: unknown): string => `'${String(value).replaceAll("'", "''")}'`;
  const values = Array.from(
    records,
    ([id, { owner, at, state }]) =>
      `(${text(id)}, ${text(owner)}, ${at}, ${text(JSON.stringify(state))})`,
  );
  if (values.length === 0) return undefined;
  return `INSERT INTO record (id, owner, at, state) VALUES ${values.join()}
    ON CONFLICT (id) DO UPDATE SET state = record.state || excluded.state, at = excluded.at`;
};

const connected = async ({ directory: host }: Postgres) => {
  const client = new (pg().Client)({ host, user: USER, database: 'postgres' });
  await client.connect();
  return client;
};

const urlOf = ({ directory }: Postgres): string =>
  `postgresql://${USER}@localhost/postgres?host=${encodeURIComponent(directory)}`;

const quoted = (value: string): string => `"${value.replaceAll('"', '""')}"`;

const lineOf = (event: FoldEvent, revision: number): string => {
  const { position, owner, stream, type, data, at } = event;
  const json = [JSON.stringify(data), JSON.stringify({ owner, at })].map(quoted);
  return `${revision},${position},1,${quoted(stream)},1,${stream}.${revision},${type},${json.join()}\n`;
};

/** Copies the log into Emmett's table of messages, from which both peers read. */
export const emmettLog: Role<Args & { postgres: Postgres }> = async ({ directory, postgres }) => {
  const store = emmett().getPostgreSQLEventStore(urlOf(postgres));
  await store.schema.migrate();
  await store.close();
  const file = join(postgres.directory, 'messages.csv');
  const out = openSync(file, 'w', 0o644);
  const log = sqliteEventLog({ directory });
  const revisions = new Map<string, number>();
  let lines = '';
  for (let after: Position = 0; ; ) {
    const events = await log.readFold({ after, limit: PAGE_EVENTS });
    for (const event of events) {
      const revision = revisions.get(event.stream) ?? 0;
      revisions.set(event.stream, revision + 1);
      lines += lineOf(event, revision);
    }
    if (events.length === 0 || lines.length > COPIED_BYTES) {
      writeSync(out, lines);
      lines = '';
    }
    const last = events.at(-1);
    if (!last) break;
    after = last.position;
  }
  closeSync(out);
  await log.close();
  const client = await connected(postgres);
  const columns =
    'stream_position, global_position, transaction_id, stream_id, message_schema_version, message_id, message_type, message_data, message_metadata';
  await client.query(`ALTER TABLE emt_messages ALTER COLUMN message_kind SET DEFAULT 'E'`);
  await client.query(`COPY emt_messages (${columns}) FROM '${file}' (FORMAT csv)`);
  await client.query('VACUUM ANALYZE');
  await client.query(RECORD);
  await client.end();
  return { details: undefined };
};

const counted = async (postgres: Postgres): Promise<number> => {
  const client = await connected(postgres);
  const { rows } = await client.query('SELECT count(*) FROM record');
  await client.query('TRUNCATE record');
  await client.end();
  return Number(rows[0]?.['count']);
};

type Message = { type: string; data: Peeked['data']; metadata: { owner: string; at: number } };
const peekedOf = ({ type, data, metadata: { owner, at } }: Message): Peeked => ({
  type,
  data,
  owner,
  at,
});

/** Rebuilds the table in a loop, with the checkpoint in the transaction of each page. */
export const upsertRebuild: Role<{ postgres: Postgres }, Rebuilt> = async ({ postgres }) => {
  const client = await connected(postgres);
  const types = new Set<string>(TYPES);
  const page = `SELECT global_position, message_type AS type, message_data AS data, message_metadata AS metadata
    FROM emt_messages WHERE global_position > $1 ORDER BY transaction_id, global_position LIMIT ${PAGE_EVENTS}`;
  const startedAt = performance.now();
  for (let after = '0'; ; ) {
    const { rows } = await client.query(page, [after]);
    const last = rows.at(-1);
    if (!last) break;
    after = String(last['global_position']);
    const events = (rows as unknown as Message[]).filter(({ type }) => types.has(type));
    const upsert = upsertOf(events.map(peekedOf));
    await client.query('BEGIN');
    if (upsert !== undefined) await client.query(upsert);
    await client.query(`INSERT INTO checkpoint VALUES ('record', ${after})
      ON CONFLICT (name) DO UPDATE SET position = excluded.position`);
    await client.query('COMMIT');
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  await client.end();
  return { details: { seconds, rows: await counted(postgres) } };
};

/** The same with a projection of Emmett over batches, which it rebuilds. */
export const emmettRebuild: Role<{ postgres: Postgres }, Rebuilt> = async ({ postgres }) => {
  const { postgreSQLRawBatchSQLProjection, rebuildPostgreSQLProjections } = emmett();
  const projection = postgreSQLRawBatchSQLProjection({
    name: 'record',
    canHandle: TYPES,
    evolve: (events: Message[]) => {
      const upsert = upsertOf(events.map(peekedOf));
      return upsert === undefined ? [] : [upsert];
    },
  });
  const startedAt = performance.now();
  const consumer = rebuildPostgreSQLProjections({
    connectionString: urlOf(postgres),
    projections: [projection],
    pulling: { batchSize: PAGE_EVENTS },
  });
  await consumer.start();
  const seconds = (performance.now() - startedAt) / 1_000;
  await consumer.close();
  return { details: { seconds, rows: await counted(postgres) } };
};

export const benchPeerRebuilds: Bench = async ({ million }) => {
  if (!hasPostgres || !isInstalled(pg) || !isInstalled(emmett)) return [];
  await million.log();
  const { directory, events } = million;
  const postgres = await startPostgres();
  try {
    await once('emmettLog', { directory, postgres });
    const own = await once<Rebuilt>('ownRebuild', { directory });
    const upsert = await once<Rebuilt>('upsertRebuild', { postgres });
    const byEmmett = await once<Rebuilt>('emmettRebuild', { postgres });
    const us = ({ seconds }: Rebuilt): number => (1e6 * seconds) / events;
    const count = events.toLocaleString('en');
    const row = (what: string, theirs: Rebuilt) =>
      rowOf({ id: 'P', what, value: us(own), unit: 'us', control: us(theirs) });
    return [
      row(
        `rebuild of ${READ_MODELS.join(', ')}, ${count} events, vs upserts into PostgreSQL`,
        upsert,
      ),
      row('  the same, vs a rebuild by Emmett into PostgreSQL', byEmmett),
      rowOf({
        id: 'P',
        what: '  rows, vs those of PostgreSQL',
        value: own.rows,
        unit: 'count',
        control: Math.min(upsert.rows, byEmmett.rows),
      }),
    ];
  } finally {
    await endPostgres();
  }
};
