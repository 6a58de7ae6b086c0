/**
 * V: from the commit to rows in Redis, for writes at a constant rate. In one process, until the
 * engine has committed the rows to Redis. Across two processes that share the log, until the reader
 * has got the row from Redis.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Position } from '#src/ports/event-log.ts';
import { ReadModelRebuilding, type ReadModels } from '#src/ports/read-model.ts';
import { endRedis, startRedis } from '../../support/redis/redis-server.ts';
import type { Bench } from '../bench.ts';
import { type Role, start } from '../children.ts';
import { percentile } from '../measure.ts';
import { type MemberArgs, type Settings, withServers } from './remote.ts';
import { openBench, whenPassed } from '../service.ts';
import { type Row, rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';
import { linkMaker, notedLog, paced, PER_SECOND, spread } from './visible.ts';

type Spread = { p50: number; p99: number };
type Taken = {
  lag: Spread;
  whole: Spread;
  roundTrip: Spread;
  found: number;
  cpuUs: number;
  perSecond: number;
};
type Details = { calm: Taken; full: Taken };
/** Milliseconds of the machine's clock, by position. */
type Times = Map<Position, number>;
type Written = { committed: [Position, number][]; perSecond: number };

const WARM_UP = 2_000;
const MEASURED = 6_000;
const CALM_PER_SECOND = 500;
const CALM_MEASURED = 1_500;
/** Lower for two processes, which share the cores with both servers and the slow stand-in. */
const REMOTE_PER_SECOND = 500;
const REMOTE_WARM_UP = 1_000;
const REMOTE_MEASURED = 2_000;
/** After this many writes the row is read, and the round trip of a PING measured. */
const PROBED_EVERY = 10;

const machineMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** Opens the service to create links; `committed` has the time of each acknowledgement. */
const writing = async ({ directory, settings }: MemberArgs, role: 'all' | 'api') => {
  const service = await openBench(directory, { role }, settings);
  const committed: Times = new Map();
  const log = notedLog(service.deps.log, (result) => {
    if (result.outcome === 'appended') committed.set(result.position, machineMs());
  });
  return { service, committed, create: await linkMaker(service, log) };
};

/** Repeats a read while the rows are not available yet, like a client. */
const isThere = async (readModels: ReadModels, owner: string, id: string): Promise<boolean> => {
  try {
    return (await readModels.get('links', owner, id)) !== undefined;
  } catch (error) {
    if (!(error instanceof ReadModelRebuilding)) throw error;
    await pause(1);
    return isThere(readModels, owner, id);
  }
};

export const visibleInRedis: Role<MemberArgs, Details> = async (args) => {
  const { service, committed, create } = await writing(args, 'all');
  const { readModels } = service.deps;
  const bare = new Redis(args.settings['READ_MODEL_URL'] ?? '');
  let writes = 0;
  const measure = async (perSecond: number, count: number): Promise<Taken> => {
    const [lags, wholes, trips]: [number[], number[], number[]] = [[], [], []];
    let found = 0;
    const before = process.cpuUsage();
    const reached = await paced(perSecond, count, async (n) => {
      const askedAt = machineMs();
      const { owner, id, position } = await create((writes += 1));
      await whenPassed(service.deps, position);
      const passedAt = machineMs();
      lags.push(passedAt - (committed.get(position) ?? 0));
      wholes.push(passedAt - askedAt);
      // Rarely, because these are round trips, too.
      if (n % PROBED_EVERY > 0) return;
      if (await isThere(readModels, owner, id)) found += 1;
      const sentAt = machineMs();
      await bare.ping();
      trips.push(machineMs() - sentAt);
    });
    const { user, system } = process.cpuUsage(before);
    const cpuUs = (user + system) / count;
    const [lag, whole, roundTrip] = [spread(lags), spread(wholes), spread(trips)];
    return { lag, whole, roundTrip, found: found / trips.length, cpuUs, perSecond: reached };
  };
  await measure(PER_SECOND / 2, WARM_UP);
  const calm = await measure(CALM_PER_SECOND, CALM_MEASURED);
  const full = await measure(PER_SECOND, MEASURED);
  bare.disconnect();
  await service.close();
  return { details: { calm, full } };
};

/** A process that writes on command. */
export const remoteWriter: Role<MemberArgs> = async (args) => {
  const { service, committed, create } = await writing(args, 'api');
  return {
    details: undefined,
    async report() {
      const write = async (n: number): Promise<void> => void (await create(n));
      await paced(REMOTE_PER_SECOND / 2, REMOTE_WARM_UP, write);
      committed.clear();
      const perSecond = await paced(REMOTE_PER_SECOND, REMOTE_MEASURED, (n) =>
        write(REMOTE_WARM_UP + n),
      );
      return { committed: [...committed], perSecond };
    },
    close: () => service.close(),
  };
};

/** A process that folds, and reads each link once it has seen its event in the log. */
export const remoteReader: Role<MemberArgs> = async ({ directory, settings }) => {
  const service = await openBench(directory, {}, settings);
  const { log, readModels } = service.deps;
  const stopping = new AbortController();
  const seen: Times = new Map();
  let all = (): void => {};
  const complete = new Promise<void>((resolve) => (all = resolve));
  const look = async (owner: string, id: string, position: Position): Promise<void> => {
    await whenPassed(service.deps, position);
    if (!(await isThere(readModels, owner, id))) throw new Error(`${id} is not there`);
    seen.set(position, machineMs());
    if (seen.size === REMOTE_WARM_UP + REMOTE_MEASURED) all();
  };
  const watch = async (): Promise<void> => {
    const { position: after } = await log.head();
    for await (const item of log.subscribe({ after, signal: stopping.signal }))
      for (const { type, owner, data, position } of item.kind === 'events' ? item.events : [])
        if (type === 'LinkCreated')
          void look(owner, (data as { link_id: string }).link_id, position);
  };
  const watching = watch();
  return {
    details: undefined,
    async report() {
      await complete;
      return [...seen];
    },
    async close() {
      stopping.abort();
      await watching.catch(() => {});
      await service.close();
    },
  };
};

const rate = (perSecond: number): string => `${perSecond.toLocaleString('en')}/s`;

/** A busy machine reaches less than the rate of the other rows. */
const rateRow = (value: number, control: number): Row =>
  rowOf({ id: 'V', what: '  writes a second, vs those asked for', value, unit: '1/s', control });

/** Commits of the log run in the same thread, so that lag and PING include their disk syncs. */
const lagRows = (perSecond: number, taken: Taken, goals?: Spread): Row[] => {
  const { lag, whole, roundTrip, cpuUs } = taken;
  const what = `commit to rows in Redis, ${rate(perSecond)}, one process`;
  const row = (name: keyof Spread): Row =>
    rowOf(
      {
        id: 'V',
        what: `${what}, ${name}, vs a PING`,
        value: lag[name],
        unit: 'ms',
        control: roundTrip[name],
      },
      goals && { of: 'value', atMost: goals[name] },
    );
  const args = {
    what: '  from the call that writes on, p50',
    value: whole.p50,
    unit: 'ms',
  } as const;
  const cpu = { what: '  CPU of that process a write', value: cpuUs, unit: 'us' } as const;
  const rows = [rowOf({ id: 'V', ...args }), rowOf({ id: 'V', ...cpu })];
  return [row('p50'), row('p99'), ...rows, rateRow(taken.perSecond, perSecond)];
};

const inOneProcess = async (): Promise<Row[]> => {
  const redis = await startRedis();
  try {
    const settings: Settings = { READ_MODEL_URL: redis.url.href };
    const args: MemberArgs = { directory: temporaryDirectory(), settings };
    const child = await start<Details>('visibleInRedis', args);
    await child.stop();
    const { calm, full } = child.details;
    return [
      rowOf(
        {
          id: 'V',
          what: 'a read from Redis finds the link then',
          value: full.found,
          unit: 'share',
        },
        { of: 'value', atLeast: 1 },
      ),
      ...lagRows(PER_SECOND, full, { p50: 0.5, p99: 5 }),
      ...lagRows(CALM_PER_SECOND, calm),
    ];
  } finally {
    await endRedis();
  }
};

const acrossTwo = async (settings: Settings): Promise<Row[]> => {
  const args = (): MemberArgs => ({ directory: temporaryDirectory(), settings });
  const reader = await start('remoteReader', args());
  const writer = await start('remoteWriter', args());
  const { committed, perSecond } = await writer.call<Written>('report', undefined);
  const seen = new Map(await reader.call<[Position, number][]>('report', undefined));
  await Promise.all([writer, reader].map((child) => child.stop()));
  const lags = committed.map(([position, at]) => (seen.get(position) ?? Infinity) - at);
  const what = `commit at one process to a read from Redis at another, ${rate(REMOTE_PER_SECOND)}`;
  const row = (share: number, name: string) =>
    ({ id: 'V', what: `${what}, ${name}`, value: percentile(lags, share), unit: 'ms' }) as const;
  return [
    rowOf(row(0.5, 'p50'), { of: 'value', atMost: 10 }),
    rowOf(row(0.99, 'p99')),
    rateRow(perSecond, REMOTE_PER_SECOND),
  ];
};

export const benchRemoteVisibility: Bench = async () => [
  ...(await inOneProcess()),
  ...(await withServers(acrossTwo)),
];
