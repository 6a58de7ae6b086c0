/**
 * lists: CPU of one first page of listLeads by a filter that matches 25 old leads, of an owner with 1,000, 10,000 and
 * 100,000 leads; with rows in SQLite, and in Redis if there is a server (of both processes together).
 */
import { join } from 'node:path';
import { leads } from '#projections/leads.ts';
import { spaceOfBuild } from '#projections/projection.ts';
import { redisStore } from '#src/stores/redis/read-model.ts';
import { sqliteStore } from '#src/stores/sqlite/rows/read-model.ts';
import { partitionOf, type ReadModels } from '#src/ports/read-model.ts';
import { foldInto, HOUR_MS, LISTED, readLeads } from '../../support/oracle/listed-leads.ts';
import { endRedis, hasRedis, startRedis } from '../../support/redis/redis-server.ts';
import { type Given, happened, MIDNIGHT } from '../../support/world/fold.ts';
import { readersOf, remoteReadersOf } from '../../support/world/readers.ts';
import { leadNamed, leadSubmitted } from '../../support/world/stories.ts';
import type { Bench } from '../bench.ts';
import { median } from '../measure.ts';
import { type Row, rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';

const SIZES = [1_000, 10_000, 100_000] as const;
const MATCHES = 25;
const ROUNDS = 7;
const PAGES_IN_ROUND = 40;
const GROWTH_MAX = 1.5;
const PATIENT_MS = 60_000;

const at = MIDNIGHT + 200_000 * HOUR_MS;
const FILTERS = {
  'no filter': {},
  state: { state: 'contacted' },
  'state lapsed': { state: 'lapsed' },
  link: { link_id: 'lnk_rare' },
  'state and link': { state: 'contacted', link_id: 'lnk_rare' },
  'state and creation': {
    state: 'contacted',
    created_to: new Date(MIDNIGHT + 500 * HOUR_MS).toISOString(),
  },
};

const historyOf = (leads: number): Given[] => {
  const isRare = (n: number): boolean => n % 2 === 0 && n < 2 * MATCHES;
  const submitted = Array.from({ length: leads }, (_, n) => {
    const link_id = isRare(n) ? 'lnk_rare' : 'lnk_often';
    const claim_expires_at = MIDNIGHT + (n + 90 * 24) * HOUR_MS;
    const more = { source: { kind: 'link' as const }, link_id, claim_expires_at };
    return leadSubmitted(`${n}`, more, MIDNIGHT + n * HOUR_MS);
  });
  const moved = Array.from({ length: 2 * MATCHES }, (_, n) => n).filter(isRare);
  return [
    ...submitted,
    ...moved.map((n) => happened('LeadContacted', `lead_${n}`, leadNamed(`${n}`), at)),
  ];
};

type Store = {
  readModels: ReadModels;
  cpuMs(): Promise<number>;
  /** Makes the next answer another one than a cached one. */
  change(): Promise<unknown>;
  close(): Promise<void>;
};

const ownCpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

const inSqlite = async (given: readonly Given[]): Promise<Store> => {
  const store = sqliteStore({ file: join(temporaryDirectory(), 'views.db') });
  await foldInto(store, given, { atOnce: 1_000 });
  const cpuMs = async (): Promise<number> => ownCpuMs();
  const change = async (): Promise<void> => {};
  return { readModels: readersOf(store, LISTED), cpuMs, change, close: () => store.close() };
};

const inRedis = async (given: readonly Given[]): Promise<Store> => {
  const { url, control } = await startRedis();
  const options = { url, log: 'lists', projections: LISTED, readMs: PATIENT_MS };
  const store = await redisStore(options);
  await foldInto(store, given, { atOnce: 1_000 });
  const cpuMs = async (): Promise<number> => {
    const info = await control.info('cpu');
    const [, system = '0'] = /used_cpu_sys:([\d.]+)/.exec(info) ?? [];
    const [, user = '0'] = /used_cpu_user:([\d.]+)/.exec(info) ?? [];
    return ownCpuMs() + 1_000 * (Number(system) + Number(user));
  };
  const [space, partition] = [spaceOfBuild(leads, 1), partitionOf('anna')];
  let to = (await store.checkpoints(space))[partition] ?? 0;
  const change = () => store.commit(space, [{ partition, from: to, to: (to += 1), writes: [] }]);
  const readModels = remoteReadersOf(store, LISTED);
  return { readModels, cpuMs, change, close: () => store.close() };
};

/** Milliseconds of CPU of one page for each filter. */
const measure = async ({ readModels, cpuMs, change, close }: Store): Promise<number[]> => {
  const measured: number[] = [];
  for (const filter of Object.values(FILTERS)) {
    const rounds: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = await cpuMs();
      for (let page = 0; page < PAGES_IN_ROUND; page += 1) {
        await change();
        await readLeads(readModels, { ...filter, limit: MATCHES }, { at, pages: 1 });
      }
      rounds.push(((await cpuMs()) - before) / PAGES_IN_ROUND);
    }
    measured.push(median(rounds));
  }
  await close();
  return measured;
};

const benchIn = async (
  name: string,
  open: (given: readonly Given[]) => Promise<Store>,
): Promise<Row[]> => {
  const [control, ten, hundred] = [
    await measure(await open(historyOf(SIZES[0]))),
    await measure(await open(historyOf(SIZES[1]))),
    await measure(await open(historyOf(SIZES[2]))),
  ];
  return Object.keys(FILTERS).flatMap((filter, i): Row[] => {
    const row = { id: 'lists', unit: 'ms', control: control[i] ?? 0 } as const;
    const what = `CPU of a page of 100,000 leads in ${name}, vs 1,000: ${filter}`;
    return [
      rowOf({ ...row, what, value: hundred[i] ?? 0 }, { of: 'ratio', atMost: GROWTH_MAX }),
      rowOf({ ...row, what: '  of 10,000 leads', value: ten[i] ?? 0 }),
    ];
  });
};

export const benchLists: Bench = async () => {
  try {
    return [
      ...(await benchIn('SQLite', inSqlite)),
      ...(hasRedis ? await benchIn('Redis', inRedis) : []),
    ];
  } finally {
    await endRedis();
  }
};
