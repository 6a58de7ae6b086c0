/**
 * W beside peers: a durable createLink compared with the insert of a link and of its audit row in PostgreSQL, and with an
 * append by Emmett to PostgreSQL, both behind a bare fastify; and appends to our log compared with Emmett's, without HTTP.
 */
import Fastify from 'fastify';
import { systemClock, systemIds } from '#src/system/ids.ts';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { NO_STREAM } from '#src/ports/event-log.ts';
import { metaAt } from '../../conformance/log-events.ts';
import type { Bench } from '../bench.ts';
import {
  compared,
  type Role,
  sampled,
  type Started,
  start,
  startLoad,
  type Target,
} from '../children.ts';
import { interleaved, middleOf } from '../measure.ts';
import { appendRate } from '../rows/eventstoredb.ts';
import { callsFor, type WriteDetails } from '../rows/write.ts';
import { listen } from '../service.ts';
import { type Row, rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';
import { emmett, isInstalled, pg } from './packages.ts';
import {
  endPostgres,
  hasPostgres,
  type Postgres,
  postgresCpuUs,
  startPostgres,
  USER,
} from './postgres.ts';

type Peer = 'insert' | 'emmett';
type Args = { peer: Peer; postgres: Postgres };
type Writer = { write(id: string, body: object): Promise<unknown>; close(): Promise<void> };

const CONNECTIONS = 64;
const SAMPLE_MS = 1_200;
const POOL = 16;
const IN_FLIGHT = 64;

const clock = systemClock();
const ids = systemIds(clock.now);

const TABLES = `CREATE TABLE link (id uuid PRIMARY KEY, owner text NOT NULL, body jsonb NOT NULL, created_at timestamptz NOT NULL DEFAULT now());
  CREATE TABLE audit (id bigserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), actor text NOT NULL, operation text NOT NULL, link uuid NOT NULL, body jsonb NOT NULL)`;

/** Inserts the link and its audit row in one transaction. */
const inserter = async ({ directory }: Postgres): Promise<Writer> => {
  const pool = new (pg().Pool)({ host: directory, user: USER, database: 'postgres', max: POOL });
  await pool.query(TABLES);
  const link = 'INSERT INTO link (id, owner, body) VALUES ($1, $2, $3)';
  const audit = 'INSERT INTO audit (actor, operation, link, body) VALUES ($1, $2, $3, $4)';
  return {
    async write(id, body) {
      const client = await pool.connect();
      await client.query('BEGIN');
      await client.query({ name: 'link', text: link, values: [id, 'acme', body] });
      await client.query({ name: 'audit', text: audit, values: ['acme', 'createLink', id, body] });
      await client.query('COMMIT');
      client.release();
    },
    close: () => pool.end(),
  };
};

/** Appends an event to a new stream. */
const appender = ({ directory }: Postgres): Writer => {
  const host = encodeURIComponent(directory);
  const store = emmett().getPostgreSQLEventStore(
    `postgresql://${USER}@localhost/postgres?host=${host}`,
  );
  const meta = metaAt(clock.now());
  return {
    write: (id, data) =>
      store.appendToStream(`link-${id}`, [{ type: 'LinkCreated', data, metadata: meta }], {
        expectedStreamVersion: 'STREAM_DOES_NOT_EXIST',
      }),
    close: () => store.close(),
  };
};

/** Serves createLink by a peer, without credentials, limits and idempotency. */
export const peerWriteServer: Role<Args, { url: string }> = async ({ peer, postgres }) => {
  const writer = peer === 'insert' ? await inserter(postgres) : appender(postgres);
  const server = Fastify();
  server.post('/*', async ({ body }, reply) => {
    const id = ids.uuid();
    await writer.write(id, body as object);
    return reply.code(201).send({ id, ...(body as object) });
  });
  return {
    details: { url: await listen(server) },
    otherCpuUs: () => postgresCpuUs(postgres),
    async close() {
      await server.close();
      await writer.close();
    },
  };
};

const WHATS: Record<Peer, string> = {
  insert: 'inserts of a link and its audit row in PostgreSQL',
  emmett: 'appends by Emmett to PostgreSQL',
};

const httpRows = async (peer: Peer, postgres: Postgres, note: Parameters<Bench>[0]['note']) => {
  const ours = await start<WriteDetails>('write', {
    directory: temporaryDirectory(),
    store: 'sqlite',
  });
  const theirs = await start<{ url: string }>('peerWrite', { peer, postgres });
  const load = await startLoad();
  const calls = callsFor(ours.details.key);
  const at = (server: Started<{ url: string }>): Target => ({
    server,
    order: { url: server.details.url, connections: CONNECTIONS, ms: SAMPLE_MS, calls },
  });
  const taken = await sampled(load, { ours: at(ours), theirs: at(theirs) });
  note('W', taken);
  await Promise.all([load, ours, theirs].map((child) => child.stop()));
  const what = `createLink, ${CONNECTIONS} connections, vs ${WHATS[peer]}`;
  const row = (name: string, measure: 'perSecond' | 'cpuUs' | 'p99'): Row =>
    rowOf({ id: 'W', what: name, ...compared(taken.ours, taken.theirs, measure) });
  return [
    row(what, 'perSecond'),
    row('  CPU a request, of all its processes', 'cpuUs'),
    row('  p99', 'p99'),
  ];
};

const DATA = { stream: 'anna-lead_1', fingerprint: 'x'.repeat(220) };

const appendRow = async (postgres: Postgres): Promise<Row> => {
  const log = sqliteEventLog({ directory: temporaryDirectory() });
  const writer = appender(postgres);
  const meta = metaAt(clock.now());
  const rates = await interleaved({
    ours: () =>
      appendRate(IN_FLIGHT, () =>
        log.append(`anna-lead_${ids.uuid()}`, NO_STREAM, [
          { id: ids.uuid(), type: 'RequestBound', data: DATA, meta },
        ]),
      ),
    theirs: () => appendRate(IN_FLIGHT, () => writer.write(ids.uuid(), DATA)),
  });
  await Promise.all([log.close(), writer.close()]);
  return rowOf({
    id: 'W',
    what: `append to the log, ${IN_FLIGHT} in flight, vs Emmett on PostgreSQL`,
    value: middleOf(rates.ours, (rate) => rate),
    unit: '1/s',
    control: middleOf(rates.theirs, (rate) => rate),
  });
};

export const benchPeerWrites: Bench = async ({ note }) => {
  const rows: Row[] = [];
  try {
    const postgres = hasPostgres ? await startPostgres() : undefined;
    if (!postgres) return [];
    if (isInstalled(pg)) rows.push(...(await httpRows('insert', postgres, note)));
    if (!isInstalled(emmett)) return rows;
    rows.push(...(await httpRows('emmett', postgres, note)), await appendRow(postgres));
    return rows;
  } finally {
    await endPostgres();
  }
};
