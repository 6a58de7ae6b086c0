/** S: from the fork of the process until the service is ready, with a log of a million events. */
import type { Bench } from '../bench.ts';
import { type Role, start } from '../children.ts';
import { interleaved, middleOf } from '../measure.ts';
import { openBench } from '../service.ts';
import { rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';

export const readyServer: Role<{ directory: string }, { url: string }> = async ({ directory }) => {
  const service = await openBench(directory);
  return { details: { url: await service.listen() }, close: () => service.close() };
};

/** Measures milliseconds until /readyz answers that the service is ready. */
const startUp = async (directory: string): Promise<number> => {
  const child = await start<{ url: string }>('service', { directory });
  const { status } = await fetch(`${child.details.url}/readyz`);
  await child.stop();
  if (status !== 200) throw new Error(`/readyz answered ${status}`);
  return child.startedMs;
};

export const benchReady: Bench = async ({ million }) => {
  const { directory, events } = million;
  await million.views();
  const empty = temporaryDirectory();
  await startUp(empty);
  const taken = await interleaved({
    million: () => startUp(directory),
    empty: () => startUp(empty),
  });
  const value = middleOf(taken.million, (ms) => ms / 1_000);
  const control = middleOf(taken.empty, (ms) => ms / 1_000);
  const what = `start with ${events.toLocaleString('en')} events, vs an empty log`;
  return [rowOf({ id: 'S', what, value, unit: 's', control }, { of: 'value', atMost: 3 })];
};
