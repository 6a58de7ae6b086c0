/**
 * audit-check: events a second of CPU of a comparison of all rows in a service of 10,000 and of 100,000 events, against a
 * rebuild of all read models into another file, and the longest turn of the event loop. audit-beside: times of requests at
 * a steady rate, a third of them writes, while a service compares all rows again and again, and while it does not.
 */
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { PROJECTIONS } from '#projections/index.ts';
import { rebuildAll } from '#projections/engine/operator.ts';
import { sqliteStore } from '#src/stores/sqlite/rows/read-model.ts';
import type { Service } from '#src/main.ts';
import { feedProduct } from '../../support/world/app.ts';
import type { Bench } from '../bench.ts';
import { type Role, start } from '../children.ts';
import { type Call, ID } from '../load.ts';
import { interleaved, middleOf } from '../measure.ts';
import type { Pressed } from '../pressure.ts';
import { AGENTS, deskOf, listen, openBench } from '../service.ts';
import { type Row, rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';
import { cpuMs } from './performance.ts';
import { once } from './rebuild.ts';

const POLL_MS = 50;

let runs = 0;
/** Compares all rows once. Throws if one differs. */
const checkAll = async ({ deps }: Service): Promise<void> => {
  const run = `bench-${(runs += 1)}`;
  const state = () => deps.projections.check({ owner: undefined, sample: 1 }, run);
  while (!state().done) await wait(POLL_MS);
  const { difference, failure } = state();
  if (difference ?? failure) throw new Error(JSON.stringify(difference ?? failure));
};

type Checked = { checkMs: number; rebuildMs: number; longestMs: number; peakMb: number };

export const checkOnce: Role<{ directory: string }, Checked> = async ({ directory }) => {
  const service = await openBench(directory);
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const checkMs = await cpuMs(() => checkAll(service));
  delays.disable();
  const peakMb = process.resourceUsage().maxRSS / 1_024;
  const { log } = service.deps;
  const store = sqliteStore({ file: join(temporaryDirectory(), 'views.db'), log: log.id });
  const rebuildMs = await cpuMs(() =>
    rebuildAll({ log, stores: [{ store, projections: PROJECTIONS }] }),
  );
  await store.close();
  const details = { checkMs, rebuildMs, longestMs: delays.max / 1e6, peakMb };
  return { details, close: () => service.close() };
};

type Serving = { url: string; key: string };

/** Serves, and with each `report` starts or stops comparisons one after the other. */
export const checkedServer: Role<{ directory: string }, Serving> = async ({ directory }) => {
  const service = await openBench(directory);
  const desk = deskOf(service);
  await desk.publish([feedProduct('SKU1')]);
  const key = await desk.agent('promoter0');
  let isChecking = false;
  let checking = Promise.resolve();
  const checkAgain = async (): Promise<void> => {
    while (isChecking) await checkAll(service);
  };
  return {
    details: { url: await listen(service.server), key },
    async report() {
      isChecking = !isChecking;
      if (isChecking) checking = checkAgain();
      else await checking;
    },
    close: () => service.close(),
  };
};

const SIZES = [10_000, 100_000];
const PER_SECOND = 100;
const CONNECTIONS = 32;
const LOAD_MS = 8_000;
const PAGES = 50;

/** Pages of different sizes, and a third of writes. */
const callsFor = ({ key }: Serving): Call[] => {
  const headers = { authorization: `Bearer ${key}` };
  return Array.from({ length: PAGES }, (_, n): Call[] => [
    { path: `${AGENTS}/leads?limit=${1 + n}`, headers },
    { path: `${AGENTS}/performance?granularity=total&limit=${1 + n}`, headers },
    {
      method: 'POST',
      path: `${AGENTS}/links`,
      headers: { ...headers, 'idempotency-key': `check-${ID}` },
      body: JSON.stringify({ target: { kind: 'product', ref: 'SKU1' } }),
    },
  ]).flat();
};

const pressBeside = async (directory: string): Promise<Record<'alone' | 'beside', Pressed[]>> => {
  const server = await start<Serving>('checkedServer', { directory });
  const load = await start('load');
  const { url } = server.details;
  const order = { url, calls: callsFor(server.details), ms: LOAD_MS };
  const press = () =>
    load.call<Pressed>('press', { ...order, connections: CONNECTIONS, perSecond: PER_SECOND });
  const toggle = () => server.call('report', undefined);
  try {
    await press();
    return await interleaved({
      alone: press,
      async beside() {
        await toggle();
        const pressed = await press();
        await toggle();
        return pressed;
      },
    });
  } finally {
    await Promise.all([load.stop(), server.stop()]);
  }
};

const id = 'audit-check';

const rowsOf = (events: number, { checkMs, rebuildMs, longestMs, peakMb }: Checked): Row[] => {
  const perSecond = (ms: number): number => (1_000 * events) / ms;
  const what = `check of all rows, ${events.toLocaleString('en')} events, vs a rebuild`;
  const rate = { value: perSecond(checkMs), unit: '1/s', control: perSecond(rebuildMs) } as const;
  const longest = {
    what: '  longest turn of the event loop',
    value: longestMs,
    unit: 'ms',
  } as const;
  return [
    rowOf({ id: id, what, ...rate }, { of: 'ratio', atLeast: 0.8 }),
    rowOf({ id: id, ...longest }, { of: 'value', atMost: 50 }),
    rowOf({ id: id, what: '  peak memory (RSS) of the service', value: peakMb, unit: 'MB' }),
  ];
};

export const benchAuditCheck: Bench = async ({ million }) => {
  const rows: Row[] = [];
  let directory = '';
  for (const events of SIZES) {
    directory = await million.logOf(events);
    rows.push(...rowsOf(events, await once<Checked>('check', { directory })));
  }
  const pressed = await pressBeside(directory);
  const failed = [...pressed.alone, ...pressed.beside].find(({ failures }) => failures > 0);
  if (failed) throw new Error(`${failed.failures} failures: ${failed.firstFailure}`);
  const times = (of: 'p50' | 'p99') => ({
    value: middleOf(pressed.beside, (sample) => sample[of]),
    control: middleOf(pressed.alone, (sample) => sample[of]),
    unit: 'ms' as const,
  });
  const beside = `${PER_SECOND} requests a second beside a check, vs without: p99`;
  return [
    ...rows,
    rowOf({ id: 'audit-beside', what: beside, ...times('p99') }, { of: 'ratio', atMost: 1.3 }),
    rowOf({ id: 'audit-beside', what: '  p50', ...times('p50') }),
  ];
};
