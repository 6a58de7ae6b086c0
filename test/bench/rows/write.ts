/** W: a durable createLink, compared with the same server without a store. */
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { runProjections } from '#projections/engine/engine.ts';
import { PROJECTIONS } from '#projections/index.ts';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { sqliteStore } from '#src/stores/sqlite/rows/read-model.ts';
import type { AppDeps } from '#src/registries/app.ts';
import type { Service } from '#src/main.ts';
import {
  type EventLog,
  expectedRevision,
  NO_STREAM,
  replaceAppends,
} from '#src/ports/event-log.ts';
import { feedProduct } from '../../support/world/app.ts';
import type { Bench } from '../bench.ts';
import type { Role, Started, Target } from '../children.ts';
import { compared, sampled, start, startLoad } from '../children.ts';
import { type Call, ID } from '../load.ts';
import { AGENTS, deskOf, listen, openBench, serverWith } from '../service.ts';
import { rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';

type Store = 'sqlite' | 'each' | 'nothing' | 'nothing by turns';
export type WriteDetails = { url: string; key: string };

const PRODUCTS = 200;

/**
 * A log that stores no event: what remains is the cost of the server. With turns it answers all
 * appends of a turn together, like a group commit, which is faster because the client wakes less.
 */
const nothingLog = (id: string, byTurns: boolean): EventLog => {
  let position = 1_000_000;
  const empty: Omit<EventLog, 'append' | 'appendAll'> = {
    id,
    readStream: async () => [],
    readAll: async () => [],
    readOwner: async () => [],
    readBack: async () => [],
    readFold: async () => [],
    readOwnerFold: async () => [],
    readOwnerText: async () => [],
    async *subscribe() {
      yield { kind: 'caughtUp', position };
    },
    head: async () => ({ position, at: null }),
    close: async () => {},
  };
  return replaceAppends(empty, async (appends) => {
    let revision = NO_STREAM;
    for (const { expected, events } of appends) {
      position += events.length;
      revision = expectedRevision(expected) + events.length;
    }
    if (byTurns) await turn();
    return { outcome: 'appended', revision, position };
  });
};

/** A second log with its own read models, and a transaction for every append. */
const commitEach = async (directory: string): Promise<Partial<AppDeps>> => {
  const log = sqliteEventLog({ directory: join(directory, 'each'), commit: 'each' });
  const store = sqliteStore({ file: join(directory, 'each', 'views.db') });
  const { signal } = new AbortController();
  const following = await runProjections({ log, store, projections: PROJECTIONS, signal });
  return { log, following };
};

const replacedFor = async (store: Store, { deps, config }: Service): Promise<Partial<AppDeps>> => {
  if (store === 'each') return commitEach(config.dataDirectory);
  if (store === 'sqlite') return {};
  // No read model follows a log that stores nothing.
  const following = { ...deps.following, passed: async () => true };
  return { log: nothingLog(deps.log.id, store === 'nothing by turns'), following };
};

export const writeServer: Role<{ directory: string; store: Store }, WriteDetails> = async (
  args,
) => {
  const service = await openBench(args.directory);
  const desk = deskOf(service);
  await desk.publish(Array.from({ length: PRODUCTS }, (_, i) => feedProduct(`SKU${i}`)));
  const key = await desk.agent('acme');
  const server = serverWith(service, await replacedFor(args.store, service));
  const url = await listen(server);
  return { details: { url, key }, close: () => server.close() };
};

/**
 * Creates one link per call, with a unique key and body. The target is a search, because looking up
 * a product on both sides would hide the share of the store.
 */
export const callsFor = (key: string, kind: 'product' | 'search' = 'search'): Call[] =>
  Array.from({ length: PRODUCTS }, (_, i) => ({
    method: 'POST',
    path: `${AGENTS}/links`,
    headers: { authorization: `Bearer ${key}`, 'idempotency-key': `k-${ID}` },
    body: JSON.stringify({
      target: { kind, ref: `SKU${i}` },
      external_id: ID,
      campaign: 'spring-sale',
      channel: 'email',
      sub_ids: [`list-${i % 10}`],
    }),
  }));

const CONNECTIONS = 64;
const SAMPLE_MS = 1_200;

export const benchWrites: Bench = async ({ note }) => {
  const opened = (store: Store) =>
    start<WriteDetails>('write', { directory: temporaryDirectory(), store });
  const servers = {
    sqlite: await opened('sqlite'),
    each: await opened('each'),
    nothing: await opened('nothing'),
    byTurns: await opened('nothing by turns'),
  };
  const load = await startLoad();
  const at = (server: Started<WriteDetails>, kind?: 'product'): Target => {
    const { url, key } = server.details;
    const calls = callsFor(key, kind);
    return { server, order: { url, connections: CONNECTIONS, ms: SAMPLE_MS, calls } };
  };
  const taken = await sampled(load, {
    sqlite: at(servers.sqlite),
    nothing: at(servers.nothing),
    byTurns: at(servers.byTurns),
    each: at(servers.each),
    product: at(servers.sqlite, 'product'),
  });
  note('W', taken);
  await Promise.all([load, ...Object.values(servers)].map((child) => child.stop()));
  const id = 'W';
  const { sqlite, nothing, byTurns, each, product } = taken;
  const throughput = compared(sqlite, nothing, 'perSecond');
  return [
    rowOf(
      { id, what: 'createLink of a search, 64 connections, vs no store', ...throughput },
      { of: 'ratio', atLeast: 0.5 },
    ),
    rowOf({ id, what: '  the same, later goal', ...throughput }, { of: 'ratio', atLeast: 0.65 }),
    rowOf({
      id,
      what: '  vs no store that answers once a turn',
      ...compared(sqlite, byTurns, 'perSecond'),
    }),
    rowOf({ id, what: '  server CPU a request', ...compared(sqlite, nothing, 'cpuUs') }),
    rowOf({ id, what: '  p99', ...compared(sqlite, nothing, 'p99') }),
    rowOf({ id, what: '  one commit each', ...compared(each, nothing, 'perSecond') }),
    rowOf({
      id,
      what: '  of a product, vs of a search',
      ...compared(product, sqlite, 'perSecond'),
    }),
  ];
};
