/**
 * start: from the fork of the process until the service is ready, with a log of a million events and with a catalog of
 * a million products, and how long the event loop answers nobody meanwhile.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Bench } from '../bench.ts';
import { type Role, start } from '../children.ts';
import { interleaved, middleOf } from '../measure.ts';
import { openBench, startBench } from '../service.ts';
import { rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';
import { makeProducts } from './wholesale.ts';

const PRODUCTS = 1_000_000;

type Started = { url: string; listensMs: number; longestTurnMs: number };

export const readyServer: Role<{ directory: string }, Started> = async ({ directory }) => {
  const turns = monitorEventLoopDelay({ resolution: 1 });
  const service = await startBench(directory);
  const url = await service.listen();
  const listensMs = process.uptime() * 1_000;
  // From now on the process answers health checks.
  turns.enable();
  await service.ready;
  turns.disable();
  return {
    details: { url, listensMs, longestTurnMs: turns.max / 1e6 },
    close: () => service.close(),
  };
};

/** Writes a log of products, and starts the service once, which folds them. */
export const catalogMaker: Role<{ directory: string; products: number }> = async (args) => {
  await makeProducts(args.directory, args.products);
  const service = await openBench(args.directory);
  await service.close();
  return { details: undefined };
};

/** Measures milliseconds until /readyz answers that the service is ready. */
const startUp = async (directory: string): Promise<Started & { readyMs: number }> => {
  const child = await start<Started>('service', { directory });
  const { status } = await fetch(`${child.details.url}/readyz`);
  await child.stop();
  if (status !== 200) throw new Error(`/readyz answered ${status}`);
  return { ...child.details, readyMs: child.startedMs };
};

export const benchReady: Bench = async ({ million }) => {
  const { directory, events } = million;
  await million.views();
  const [empty, catalog] = [temporaryDirectory(), temporaryDirectory()];
  await startUp(empty);
  await (await start('makeCatalog', { directory: catalog, products: PRODUCTS })).stop();
  const taken = await interleaved({
    million: () => startUp(directory),
    catalog: () => startUp(catalog),
    empty: () => startUp(empty),
  });
  const control = middleOf(taken.empty, ({ readyMs }) => readyMs / 1_000);
  const log = `${events.toLocaleString('en')} events`;
  const products = `${PRODUCTS.toLocaleString('en')} products`;
  return [
    rowOf(
      {
        id: 'start',
        what: `start with ${log}, vs an empty log`,
        value: middleOf(taken.million, ({ readyMs }) => readyMs / 1_000),
        unit: 's',
        control,
      },
      { of: 'value', atMost: 3 },
    ),
    rowOf(
      {
        id: 'start',
        what: `start with ${products}, until the process listens`,
        value: middleOf(taken.catalog, ({ listensMs }) => listensMs / 1_000),
        unit: 's',
        control: middleOf(taken.empty, ({ listensMs }) => listensMs / 1_000),
      },
      { of: 'value', atMost: 3 },
    ),
    rowOf({
      id: 'start',
      what: '  until it is ready',
      value: middleOf(taken.catalog, ({ readyMs }) => readyMs / 1_000),
      unit: 's',
      control,
    }),
    rowOf(
      {
        id: 'start',
        what: '  longest turn of the event loop between the two',
        value: middleOf(taken.catalog, ({ longestTurnMs }) => longestTurnMs),
        unit: 'ms',
        control: middleOf(taken.empty, ({ longestTurnMs }) => longestTurnMs),
      },
      { of: 'value', atMost: 50 },
    ),
  ];
};
