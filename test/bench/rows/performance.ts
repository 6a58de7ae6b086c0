/**
 * R-100x30, R-1000x30, R-5000x90: CPU of one getPerformance of an owner with so many links and days, three visits of each
 * link and day, with a click before each question, which is of another period than the one before; R-…-redis: the same with
 * rows in Redis, of both processes together, and how many of all commands took more than 2 ms, also those of the fill: Redis
 * counts the time in which other processes had its processor, too. Asks nothing before all read models are filled, because
 * the CPU of a fill is that of the same processes. hot: CPU of a click on a link that had many visitors that day.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { EventData } from '#contracts/registries/events.ts';
import type { Service } from '#src/main.ts';
import { TAIL_KEY } from '#src/ports/performance-rows.ts';
import type { CodeRow } from '#src/ports/rows.ts';
import { systemClock } from '#src/system/ids.ts';
import { endRedis, startRedis } from '../../support/redis/redis-server.ts';
import { feedProduct } from '../../support/world/app.ts';
import type { Bench } from '../bench.ts';
import { type Role, start } from '../children.ts';
import { madeLog } from '../generated-log.ts';
import { median } from '../measure.ts';
import { AGENTS, deskOf, openBench, sender } from '../service.ts';
import { type Goal, type Row, rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';
import { visitOf } from './read.ts';

export type Size = { links: number; days: number };
/** `all`: what a count is a part of. */
export type Measured = { what: string; ms: number; all?: number }[];

const DAY_MS = 86_400_000;
const QUARTER_MS = 900_000;
const VISITS = 3;
const COUNTRIES = ['GB', 'DE', 'FR'];
const ROUNDS = 7;
/** Questions of another time zone, so that the code is compiled. */
const WARM_UP_ROUNDS = 20;
const WARM_UP_ZONE = 'America/New_York';
const REDIS_BUSY_MS = 2;
/** More than there are. */
const SLOW_COMMANDS_MAX = 100_000;
const POLL_MS = 100;

const idOf = (kind: string, n: number): string => `${kind}_${String(n).padStart(24, '0')}`;

const visitData = (link: number, visitor: string, country = ''): EventData<'VisitRecorded'> => ({
  link_id: idOf('lnk', link),
  agent_id: idOf('agt', link % 3),
  dims: {
    campaign: `campaign-${link % 20}`,
    channel: ['email', 'social', 'website'][link % 3] ?? '',
    product_id: idOf('prd', link % 700),
    category: `category-${link % 12}`,
    sub_ids: [`list-${link % 50}`],
  },
  visitor,
  country,
  device: 'mobile',
  trigger: 'link',
  window_days: 30,
});

/** The visits of acme, oldest day first; `at` is their time, `made` their number from 1. */
export function* visitsOf({ links, days }: Size) {
  const today = Math.floor(systemClock().now() / DAY_MS) * DAY_MS;
  let made = 0;
  for (let day = days; day > 0; day -= 1)
    for (let visit = 0; visit < VISITS; visit += 1)
      for (let link = 0; link < links; link += 1) {
        made += 1;
        const at = today - day * DAY_MS + ((link * 7 + visit * 31) % 96) * QUARTER_MS;
        yield { made, day, at, data: visitData(link, `visitor-${made}`, COUNTRIES[visit]) };
      }
}

/** Writes the visits day by day, as a service would have. */
export const writeVisits = async (directory: string, size: Size): Promise<void> => {
  const log = await madeLog(directory);
  for (const { made, day, at, data } of visitsOf(size)) {
    const id = `00000000-0000-7000-8000-${made.toString(16).padStart(12, '0')}`;
    const meta = { at, actor: 'visitor', surface: 'portal', operation: 'x', request: id, v: 1 };
    log.append('acme', `acme-visits_${day}.bench.0`, [{ id, type: 'VisitRecorded', data, meta }]);
  }
  log.close();
};

/** Creates a link and returns a function that records a click on it by another visitor each time. */
const clicker = async (service: Service, key: string): Promise<() => Promise<unknown>> => {
  const { deps } = service;
  const target = { kind: 'product', ref: 'SKU1' };
  const link = await sender(service, key)('POST', `${AGENTS}/links`, { target });
  const code = String(link['short_url']).split('/l/')[1] ?? '';
  const row = await deps.readModels.get<CodeRow>('codes', code, '');
  if (!row) throw new Error('the link has no code');
  let visitor = 0;
  return () => {
    visitor += 1;
    const address = `10.${(visitor >> 16) & 255}.${(visitor >> 8) & 255}.${visitor & 255}`;
    const visited = { ...row, window_days: 30 };
    return deps.visits.record(visited, { ...visitOf(visitor), address }, 'bench');
  };
};

/** Returns the CPU time of this process during the work. */
export const cpuMs = async (work: () => Promise<unknown>): Promise<number> => {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
};

/** The server of the rows, if there is one. */
const watchRedis = async (url: string | undefined) => {
  const redis = url === undefined ? undefined : new Redis(url);
  await redis?.config('SET', 'slowlog-log-slower-than', 1_000 * REDIS_BUSY_MS);
  await redis?.config('SET', 'slowlog-max-len', SLOW_COMMANDS_MAX);
  const usedMs = async (): Promise<number> => {
    const info = (await redis?.info('cpu')) ?? '';
    const seconds = [...info.matchAll(/^used_cpu_(?:user|sys):([\d.]+)/gm)];
    return 1_000 * seconds.reduce((sum, [, text]) => sum + Number(text), 0);
  };
  return {
    /** The CPU time of this process and of the server during the work. */
    async cpuMs(work: () => Promise<unknown>): Promise<number> {
      const before = await usedMs();
      const own = await cpuMs(work);
      return own + (await usedMs()) - before;
    },
    async slowCommands(): Promise<{ ms: number; all: number }> {
      const stats = (await redis?.info('stats')) ?? '';
      const [, all] = /^total_commands_processed:(\d+)/m.exec(stats) ?? [];
      return { ms: Number((await redis?.slowlog('LEN')) ?? 0), all: Number(all) };
    },
    close: () => redis?.disconnect(),
  };
};

const FIRST = 'first question after a start';
const SMALL_OWNERS = 100;
const FAILED = `failed reads of it and of ${SMALL_OWNERS} small owners at once`;
const SLOW = `commands of more than ${REDIS_BUSY_MS} ms, vs all`;
const COUNTS: ReadonlySet<string> = new Set([FAILED, SLOW]);
export const QUESTIONS: Record<string, string> = {
  'no group, by day': '',
  'no group, total': 'granularity=total',
  'by campaign and day': 'group_by=campaign',
  'by country, total': 'group_by=country&granularity=total',
  'by link, total, 400 rows': 'group_by=link_id&granularity=total&limit=400',
  'by campaign and channel, by day': 'group_by=campaign&group_by=channel&limit=400',
  'one campaign, by day': 'campaign=campaign-3',
  'one link, by day': `link_id=${idOf('lnk', 7)}`,
};
const ZONES = ['UTC', 'Europe/Berlin', 'Asia/Kathmandu'];

/** Returns the first day of a question: another one in each round. */
export const firstDay = ({ days }: Size, round: number): string =>
  new Date(systemClock().now() - (days - round) * DAY_MS).toISOString().slice(0, 10);

type Asking = {
  zones: readonly string[];
  click(): Promise<unknown>;
  ask(query: string, zone: string, round: number): Promise<unknown>;
  cpuMs(work: () => Promise<unknown>): Promise<number>;
  questions?: Record<string, string>;
};

/** Asks each question several times, with a click before each, and returns the median CPU times. */
export const askAll = async ({
  zones,
  click,
  ask,
  cpuMs: measure,
  questions = QUESTIONS,
}: Asking): Promise<Measured> => {
  const measured: Measured = [];
  for (const [what, query] of Object.entries(questions)) {
    const times: number[] = [];
    for (const zone of zones)
      for (let round = 0; round < ROUNDS; round += 1) {
        await click();
        const ms = await measure(() => ask(query, zone, round));
        // The first two questions with these dimensions prepare the roll-up.
        if (round > 1) times.push(ms);
      }
    measured.push({ what, ms: median(times) });
  }
  return measured;
};

/** Resolves when performance can be read, and no read model is filled or lags, as /readyz shows. */
const whenFilled = async ({ server, deps }: Service): Promise<void> => {
  for (;;) {
    const tail = deps.readModels.get('performance', 'acme', TAIL_KEY);
    const isReadable = await tail.then(
      () => true,
      () => false,
    );
    const health = (await server.inject('/readyz')).json<{ status: string; waiting: string[] }>();
    if (isReadable && health.status === 'ready' && health.waiting.length === 0) return;
    await pause(POLL_MS);
  }
};

/** Returns how many reads of the small owners failed while the large owner's questions were answered. */
const failuresBeside = async (
  questions: readonly (() => Promise<unknown>)[],
  small: readonly ReturnType<typeof sender>[],
): Promise<number> => {
  let failed = 0;
  let isDone = false;
  const reads = small.map(async (ask) => {
    while (!isDone)
      for (const path of ['/performance', '/leads'])
        await ask('GET', AGENTS + path).catch(() => (failed += 1));
  });
  for (const question of questions) await question().catch(() => (failed += 1));
  isDone = true;
  await Promise.all(reads);
  return failed;
};

export const performanceServer: Role<
  Size & { directory: string; redis?: string; zones?: string[] },
  Measured
> = async ({ directory, redis, zones = ZONES, ...size }) => {
  await writeVisits(directory, size);
  const rows = await watchRedis(redis);
  const service = await openBench(directory, {}, redis ? { READ_MODEL_URL: redis } : {});
  const desk = deskOf(service);
  await desk.publish([feedProduct('SKU1')]);
  const key = await desk.agent('acme');
  const click = await clicker(service, key);
  // Without the client's parsing of the answer.
  const ask = async (query: string, zone: string, round: number): Promise<void> => {
    const url = `${AGENTS}/performance?from=${firstDay(size, round)}&time_zone=${zone}&${query}`;
    const headers = { authorization: `Bearer ${key}` };
    const { statusCode, body } = await service.server.inject({ method: 'GET', url, headers });
    if (statusCode !== 200) throw new Error(`${url}: ${body}`);
  };
  const question = (query: string, zone: string) => () => ask(query, zone, 0);
  const { position } = await service.deps.log.head();
  await whenFilled(service);
  const measured: Measured = [{ what: FIRST, ms: await rows.cpuMs(question('', 'UTC')) }];
  for (const query of Object.values(QUESTIONS))
    for (let round = 0; round < WARM_UP_ROUNDS; round += 1)
      await ask(query, WARM_UP_ZONE, round % ROUNDS);
  measured.push(...(await askAll({ zones, click, ask, cpuMs: rows.cpuMs })));
  const asOf = await askAll({
    zones,
    click,
    ask,
    cpuMs: rows.cpuMs,
    questions: { 'no group, as of a position': `as_of=${position}` },
  });
  measured.push(...asOf);
  if (redis) {
    const keys: string[] = [];
    for (let owner = 0; owner < SMALL_OWNERS; owner += 1)
      keys.push(await desk.agent(`small${owner}`));
    const questions = Object.values(QUESTIONS).map((query) => question(query, 'Asia/Tokyo'));
    const small = keys.map((own) => sender(service, own));
    measured.push({ what: FAILED, ms: await failuresBeside(questions, small) });
    measured.push({ what: SLOW, ...(await rows.slowCommands()) });
  }
  rows.close();
  return { details: measured, close: () => service.close() };
};

const BURST = 10_000;
/** Visitors before the measured bursts; the first 10,000 clicks compile the code. */
const VISITORS_BEFORE = [10_000, 100_000, 1_000_000];

export const hotServer: Role<{ directory: string }, number[]> = async ({ directory }) => {
  const service = await openBench(directory);
  const desk = deskOf(service);
  await desk.publish([feedProduct('SKU1')]);
  const click = await clicker(service, await desk.agent('acme'));
  const clicks = async (count: number): Promise<void> => {
    let left = count;
    const worker = async (): Promise<void> => {
      while ((left -= 1) >= 0) await click();
    };
    await Promise.all(Array.from({ length: 64 }, worker));
  };
  const bursts: number[] = [];
  let visitors = 0;
  for (const before of VISITORS_BEFORE) {
    await clicks(before - visitors);
    bursts.push((1_000 * (await cpuMs(() => clicks(BURST)))) / BURST);
    visitors = before + BURST;
  }
  return { details: bursts, close: () => service.close() };
};

export const runOnce = async <Details>(role: string, args: object): Promise<Details> => {
  const directory = temporaryDirectory();
  const child = await start<Details>(role, { directory, ...args });
  await child.stop();
  return child.details;
};

/** Milliseconds of CPU with rows in this process, which are the least; with rows in Redis, 2.5 times as many. */
const GOALS: Record<string, number> = {
  [FIRST]: 150,
  'by link, total, 400 rows': 15,
  'by campaign and channel, by day': 60,
  'one campaign, by day': 60,
  'one link, by day': 2,
};
const GOAL_OF_OTHERS = 5;
const REDIS_FACTOR = 2.5;
const REDIS_FIRST = 300;

const goalOf = (what: string, inRedis: boolean): Goal | undefined => {
  if (what.includes('as of')) return undefined;
  if (COUNTS.has(what)) return { of: 'value', atMost: 0 };
  const goal = GOALS[what] ?? GOAL_OF_OTHERS;
  if (!inRedis) return { of: 'value', atMost: goal };
  return { of: 'value', atMost: what === FIRST ? REDIS_FIRST : REDIS_FACTOR * goal };
};

const benchSize =
  (size: Size, { inRedis = false, control }: { inRedis?: boolean; control?: Size } = {}): Bench =>
  async () => {
    const id = `R-${size.links}x${size.days}${inRedis ? '-redis' : ''}`;
    try {
      const redis = inRedis ? (await startRedis()).url.href : undefined;
      const measured = await runOnce<Measured>('performance', { ...size, ...(redis && { redis }) });
      const smaller = control ? await runOnce<Measured>('performance', control) : [];
      const against = control ? `, vs ${control.links} links` : '';
      return measured.map(({ what, ms, all }, index): Row => {
        const name = index === 0 ? `getPerformance${against}, ${what}` : `  ${what}`;
        const before = all ?? smaller.find((one) => one.what === what)?.ms;
        const row = { id, what: name, value: ms, ...(before !== undefined && { control: before }) };
        return rowOf({ ...row, unit: COUNTS.has(what) ? 'count' : 'ms' }, goalOf(what, inRedis));
      });
    } finally {
      await endRedis();
    }
  };

const SMALLEST: Size = { links: 10, days: 30 };

export const benchFewLinks = benchSize({ links: 100, days: 30 }, { control: SMALLEST });
export const benchSmallPerformance = benchSize({ links: 1_000, days: 30 }, { control: SMALLEST });
export const benchLargePerformance = benchSize({ links: 5_000, days: 90 });
export const benchSmallInRedis = benchSize({ links: 1_000, days: 30 }, { inRedis: true });
export const benchLargeInRedis = benchSize({ links: 5_000, days: 90 }, { inRedis: true });

export const benchHotLink: Bench = async () => {
  const [control = 0, ten = 0, hundred = 0] = await runOnce<number[]>('hot', {});
  const [few, more, most] = VISITORS_BEFORE.map((count) => count.toLocaleString('en'));
  const row = { id: 'hot', unit: 'us', control } as const;
  const what = `CPU of a click after ${most} visitors of the link and day, vs after ${few}`;
  return [
    rowOf({ ...row, what, value: hundred }, { of: 'ratio', atMost: 1.5 }),
    rowOf({ ...row, what: `  after ${more}`, value: ten }, { of: 'value', atMost: 60 }),
  ];
};
