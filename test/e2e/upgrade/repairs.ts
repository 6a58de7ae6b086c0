/** What an operator does with read models: one build replaces the live one, another one is dropped, and parked events are tried again. */
import { until } from '../../support/clients/cli.ts';
import type { Recorder } from './recorder.ts';

/** Waits for what is held of a read model. */
const untilHeld = async (
  recorder: Recorder,
  name: string,
  isSo: (answer: { status: number; body: string }) => boolean,
): Promise<void> => {
  const path = `/api/desk/v1/projections/${name}/held`;
  const asked = { method: 'GET', path, as: 'staff' } as const;
  if (!(await until(async () => isSo(await recorder.send(asked)))))
    throw new Error(`the build of ${name} is not as it should be`);
};

/** Fills a build beside the live one until it is compared, and decides on it. */
const build = async (
  recorder: Recorder,
  { name, verb }: { name: string; verb: string },
): Promise<void> => {
  await recorder.desk(`hold-${name}`, `/projections/${name}/rebuild`, { hold: true });
  await untilHeld(recorder, name, ({ body }) => body.includes('"comparison"'));
  await recorder.desk(`${verb}-${name}`, `/projections/${name}/${verb}`, {});
  await untilHeld(recorder, name, ({ status }) => status === 404);
};

export const repair = async (recorder: Recorder): Promise<void> => {
  await build(recorder, { name: 'links', verb: 'switch' });
  await build(recorder, { name: 'leads', verb: 'drop' });
  await recorder.desk('retry-parked', '/projections/retry', {});
};
