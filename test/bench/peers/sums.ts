/**
 * R beside peers: the questions of R over the same visits, asked of PostgreSQL and DuckDB with a table of facts, and of
 * PostgreSQL with a table of sums by quarter hour that each click updates. CPU time of the client and of the server
 * together. In UTC only, where SQL converts no times.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench } from '../bench.ts';
import type { Role } from '../children.ts';
import {
  askAll,
  cpuMs,
  firstDay,
  type Measured,
  QUESTIONS,
  runOnce,
  type Size,
  visitsOf,
} from '../rows/performance.ts';
import { type Goal, rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';
import { duckdb, isInstalled, pg } from './packages.ts';
import {
  endPostgres,
  hasPostgres,
  type Postgres,
  postgresCpuUs,
  startPostgres,
  USER,
} from './postgres.ts';

type Sql = {
  query(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** CPU time of other processes that answer. */
  cpuMs(): number;
  close?(): Promise<void>;
};
type Args = Size & { file: string; postgres?: Postgres | undefined };
/** What a peer reads to answer: each fact, or sums of them. */
type Table = 'fact' | 'sums';

/** Three times, because the code of the service is compiled meanwhile. */
const ZONES = ['UTC', 'UTC', 'UTC'];
const DAY_MS = 86_400_000;
const QUARTERS_OF_DAY = 96;
const dayOf = (date: string): number => Date.parse(date) / DAY_MS;

const LABELS = ['agent_id', 'link_id', 'campaign', 'channel', 'product_id', 'category', 'country'];
const NUMBERS = ['clicks', 'valid', 'uniques'];
const SUMS = NUMBERS.map((name) => `sum(${name}) AS ${name}`).join(', ');

const columns = (names: readonly string[], type: string): string =>
  names.map((name) => `${name} ${type}`).join(', ');
const KEY = 'owner text, day int, quarter int';
const FACT = `CREATE TABLE fact (${KEY}, ${columns(LABELS, 'text')}, ${columns(NUMBERS, 'int')})`;
const SUMS_TABLE = `CREATE TABLE sums (dims text, ${KEY}, a text, b text, ${columns(NUMBERS, 'int')},
  PRIMARY KEY (owner, dims, day, a, b, quarter))`;

/** Writes one line of CSV for each visit. */
const writeFacts = (file: string, size: Size): void => {
  const out = openSync(file, 'w', 0o644);
  let lines = '';
  for (const { at, data } of visitsOf(size)) {
    const values: Record<string, unknown> = { ...data, ...data.dims };
    const quarter = Math.floor(at / (DAY_MS / QUARTERS_OF_DAY)) % QUARTERS_OF_DAY;
    const labels = LABELS.map((name) => values[name]).join(',');
    lines += `acme,${Math.floor(at / DAY_MS)},${quarter},${labels},1,1,1\n`;
    if (lines.length < 1_000_000) continue;
    writeSync(out, lines);
    lines = '';
  }
  writeSync(out, lines);
  closeSync(out);
};

/** A query of getPerformance, as far as the questions use it. */
const parse = (query: string) => {
  const {
    granularity,
    limit = '400',
    group_by: _,
    ...filters
  } = Object.fromEntries(new URLSearchParams(query));
  const groups = new URLSearchParams(query).getAll('group_by');
  const [filter] = Object.entries(filters);
  return { groups, filter, limit: Number(limit), isTotal: granularity === 'total' };
};
type Parsed = ReturnType<typeof parse>;

const dimsOf = ({ groups, filter }: Parsed): string =>
  [...groups, ...(filter ? [filter[0]] : [])].join(' ');
const DIMS = [...new Set(Object.values(QUESTIONS).map((query) => dimsOf(parse(query))))];

/** Returns the statement and its values for the rows, or without `groups` and days for the totals. */
const statement = (table: Table, parsed: Parsed, from: number): [string, unknown[]] => {
  const { groups, filter, limit, isTotal } = parsed;
  const isFact = table === 'fact';
  const labels = groups.map((name, at) => (isFact ? name : `${'ab'[at]} AS ${name}`));
  const shown = [...(isTotal ? [] : ['day']), ...labels, SUMS].join(', ');
  const by = [...(isTotal ? [] : ['day']), ...groups.map((name, at) => (isFact ? name : 'ab'[at]))];
  const values: unknown[] = ['acme', from];
  let where = 'owner = $1 AND day >= CAST($2 AS int)';
  if (filter) where += ` AND ${isFact ? filter[0] : 'a'} = $${values.push(filter[1])}`;
  if (!isFact) where += ` AND dims = $${values.push(dimsOf(parsed))}`;
  const ordered = by.length > 0 ? `GROUP BY ${by.join()} ORDER BY ${by.join()}` : '';
  return [`SELECT ${shown} FROM ${table} WHERE ${where} ${ordered} LIMIT ${limit + 1}`, values];
};

const openPostgres = async (postgres: Postgres): Promise<Sql> => {
  const client = new (pg().Client)({ host: postgres.directory, user: USER, database: 'postgres' });
  await client.connect();
  const names = new Map<string, string>();
  return {
    async query(text, values) {
      if (!values) return (await client.query(text)).rows;
      // A prepared statement, as a service would use.
      const name = names.get(text) ?? `s${names.size}`;
      names.set(text, name);
      return (await client.query({ name, text, values })).rows;
    },
    cpuMs: () => postgresCpuUs(postgres) / 1_000,
    close: () => client.end(),
  };
};

const openDuckDb = async (): Promise<Sql> => {
  const instance = await duckdb().DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  return {
    query: async (sql, values) => (await connection.runAndReadAll(sql, values)).getRowObjectsJson(),
    cpuMs: () => 0,
  };
};

const placesOf = (values: readonly unknown[]): string =>
  values.map((_, at) => `$${at + 1}`).join(', ');

const ADDED = NUMBERS.map((name) => `${name} = sums.${name} + 1`).join(', ');
const sumsOf = (dims: string): string => {
  const [a = "''", b = "''"] = dims.split(' ').filter((name) => name !== '');
  // A sum by link and quarter hour would be as many rows as there are facts.
  const quarter = a === 'link_id' ? '0' : 'quarter';
  const counts = NUMBERS.map((name) => `sum(${name})`).join(', ');
  return `INSERT INTO sums SELECT '${dims}', owner, day, ${quarter}, ${a}, ${b}, ${counts}
    FROM fact GROUP BY 1, 2, 3, 4, 5, 6`;
};

/** Loads the facts, and returns a function that adds a click of today. */
const load = async (sql: Sql, table: Table, { file, postgres }: Args) => {
  await sql.query(FACT);
  await sql.query(`COPY fact FROM '${file}' (FORMAT csv)`);
  if (postgres) {
    await sql.query('CREATE INDEX ON fact (owner, day)');
    await sql.query('CREATE INDEX ON fact (owner, link_id, day)');
    if (table === 'sums') await sql.query(SUMS_TABLE);
    for (const dims of table === 'sums' ? DIMS : []) await sql.query(sumsOf(dims));
    await sql.query('VACUUM ANALYZE');
  }
  const fact = ['acme', dayOf(firstDay({ links: 0, days: 0 }, 0)), 40, ...LABELS, 1, 1, 1];
  return async (): Promise<void> => {
    if (table === 'fact') {
      await sql.query(`INSERT INTO fact VALUES (${placesOf(fact)})`, fact);
      return;
    }
    for (const dims of DIMS) {
      const [a = '', b = ''] = dims.split(' ');
      const row = [dims, ...fact.slice(0, 3), a, b, 1, 1, 1];
      const text = `INSERT INTO sums VALUES (${placesOf(row)})
        ON CONFLICT (owner, dims, day, a, b, quarter) DO UPDATE SET ${ADDED}`;
      await sql.query(text, row);
    }
  };
};

const answer = async (sql: Sql, table: Table, parsed: Parsed, from: number): Promise<string> => {
  const data = await sql.query(...statement(table, parsed, from));
  const { filter, limit } = parsed;
  // Totals of a page need a sum of their own; those of all rows are added up.
  const whole = { groups: [], filter, limit, isTotal: true };
  const totals = data.length > limit ? await sql.query(...statement(table, whole, from)) : [];
  return JSON.stringify({ data: data.slice(0, limit), totals });
};

/** Measures the questions in PostgreSQL, or without a server in DuckDB. */
export const sumsServer: Role<Args & { table: Table }, Measured> = async ({ table, ...args }) => {
  const sql = args.postgres ? await openPostgres(args.postgres) : await openDuckDb();
  const details = await askAll({
    zones: ZONES,
    click: await load(sql, table, args),
    ask: (query, _zone, round) => answer(sql, table, parse(query), dayOf(firstDay(args, round))),
    async cpuMs(work) {
      const before = sql.cpuMs();
      const own = await cpuMs(work);
      return own + sql.cpuMs() - before;
    },
  });
  await sql.close?.();
  return { details };
};

type Peer = { what: string; table: Table; isServer: boolean; goal: Goal };

const PEERS: readonly Peer[] = [
  {
    what: 'PostgreSQL, SUM over facts',
    table: 'fact',
    isServer: true,
    goal: { of: 'ratio', atMost: 0.2 },
  },
  {
    what: 'PostgreSQL, sums by quarter hour',
    table: 'sums',
    isServer: true,
    goal: { of: 'ratio', atMost: 1.5 },
  },
  {
    what: 'DuckDB, SUM over facts',
    table: 'fact',
    isServer: false,
    goal: { of: 'ratio', atMost: 1 },
  },
];

const hasGoals = ({ links, days }: Size): boolean => links === 1_000 && days === 30;

const besides = async (size: Size): Promise<[Peer, Measured][]> => {
  const measured: [Peer, Measured][] = [];
  for (const peer of PEERS) {
    if (!(peer.isServer ? hasPostgres && isInstalled(pg) : isInstalled(duckdb))) continue;
    const postgres = peer.isServer ? await startPostgres() : undefined;
    const file = join(postgres?.directory ?? temporaryDirectory(), 'facts.csv');
    writeFacts(file, size);
    const args = { ...size, table: peer.table, file, postgres };
    measured.push([peer, await runOnce<Measured>('sums', args)]);
    await endPostgres();
  }
  return measured;
};

export const benchSums =
  (size: Size): Bench =>
  async () => {
    try {
      const ours = await runOnce<Measured>('performance', { ...size, zones: ZONES });
      const peers = await besides(size);
      const id = `R-${size.links}x${size.days}`;
      return peers.flatMap(([{ what, goal }, theirs]) =>
        theirs.map(({ what: question, ms: control }, index) => {
          const value = ours.find((own) => own.what === question)?.ms ?? Number.NaN;
          const name = index === 0 ? `getPerformance vs ${what}: ${question}` : `  ${question}`;
          const row = { id, what: name, value, unit: 'ms', control } as const;
          return rowOf(row, hasGoals(size) ? goal : undefined);
        }),
      );
    } finally {
      await endPostgres();
    }
  };
