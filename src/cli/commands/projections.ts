/** Rebuilds and verifies read models, and waits for the end. */
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock, systemIds } from '#src/system/ids.ts';
import { withDesk } from '#src/cli/desk.ts';
import type { Desk, DeskAnswer } from '#src/cli/transport.ts';
import { commandFor, type CommonOptions } from '../options.ts';
import {
  CommandError,
  EXIT,
  formatCount,
  formatPlural,
  print,
  printNotice,
  style,
  askUntilDone,
  startProgress,
} from '#src/cli/terminal.ts';

type Rebuilt = { name: string; space: string; position: number; seconds: number };
type Verified = DeskAnswer<'verifyProjection'>;

const POLL_EVERY_MS = 50;

/** Returns the named read model, or all. */
const namesOf = async (desk: Desk, name: string | undefined): Promise<string[]> => {
  const names = (await desk.call('listProjections', {})).data.map((one) => one.name);
  if (name === undefined) return names;
  if (names.includes(name)) return [name];
  const detail = `there is no read model ${name}; the read models are ${names.join(', ')}`;
  throw new CommandError(EXIT.refused, detail, { code: 'resource_not_found', detail });
};

/** Starts a rebuild and waits until it ends. Returns the new spaces, which are live, and why others are not. */
const rebuild = async (
  desk: Desk,
  label: string,
  names: readonly string[],
): Promise<{ rebuilt: Rebuilt[]; failures: string[] }> => {
  const { monotonic } = systemClock();
  const startedAt = monotonic();
  const { started, head } = await desk.call('rebuildProjection', { name: label });
  if (!started) throw new CommandError(EXIT.refused, `${label} is already being rebuilt`);
  const bar = startProgress({ label, total: head, unit: 'positions' });
  try {
    for (;;) {
      const { data } = await desk.call('listProjections', {});
      const projections = data.filter(({ name }) => names.includes(name));
      for (const { rebuilding } of projections)
        if (rebuilding) bar.update(rebuilding.position, rebuilding.head);
      if (!projections.some(({ last_rebuild: last }) => last?.state === 'running'))
        return outcomesOf(projections, (monotonic() - startedAt) / 1_000);
      await pause(POLL_EVERY_MS);
    }
  } finally {
    bar.stop();
  }
};

const outcomesOf = (
  projections: DeskAnswer<'listProjections'>['data'],
  seconds: number,
): { rebuilt: Rebuilt[]; failures: string[] } => {
  const isDone = ({ last_rebuild: last }: (typeof projections)[number]): boolean =>
    last?.state === 'done';
  return {
    rebuilt: projections
      .filter(isDone)
      .map(({ name, space, checkpoint: position }) => ({ name, space, position, seconds })),
    failures: projections
      .filter((projection) => !isDone(projection))
      .map(({ name, last_rebuild: last }) => {
        const reason = last?.failure ?? 'the service has no record of it';
        return `${name} was not rebuilt: ${reason}`;
      }),
  };
};

const rebuiltText = ({ name, position, space, seconds }: Rebuilt): string => {
  const into = space === '' ? '' : ` into ${space}`;
  const took = `up to position ${formatCount(position)}${into} in ${seconds.toFixed(1)} s`;
  return `${style('green', '✓')} ${name}: ${took}, live`;
};

const verify = (desk: Desk, name: string, run: string): Promise<Verified> =>
  askUntilDone({ label: name, unit: 'positions' }, () =>
    desk.call('verifyProjection', { name, run }),
  );

const verifiedText = ({ name, rows, mismatches, failure }: Verified): string => {
  if (failure !== undefined) return `${style('red', '✗')} ${name}: not compared: ${failure}`;
  if (mismatches.length === 0)
    return `${style('green', '✓')} ${name}: ${formatPlural(rows, 'row')}, equal to a fresh fold`;
  const faults = mismatches.map(({ partition, detail }) => `\n  partition ${partition}: ${detail}`);
  return `${style('red', '✗')} ${name}: differs from a fresh fold${faults.join('')}`;
};

/** Says what to do about the read models that were not equal. A partition with a damaged row was lost when it was read. */
const adviceOn = (verified: readonly Verified[], options: CommonOptions): string => {
  const failed = verified.filter(({ failure }) => failure !== undefined);
  const different = verified.filter(({ mismatches }) => mismatches.length > 0);
  const namesOfAll = (list: readonly Verified[]) => list.map(({ name }) => name).join(', ');
  return [
    different.length > 0 &&
      `different from the log: ${namesOfAll(different)}. Rebuild with: ${commandFor('projections rebuild NAME', options)}`,
    failed.length > 0 &&
      `not compared: ${namesOfAll(failed)}. Damaged rows are filled again from the log by themselves; verify again`,
  ]
    .filter((line) => line !== false)
    .join('\n');
};

const show = (text: string, { json }: CommonOptions): void => (json ? printNotice : print)(text);

/** Rebuilds all read models, or the named one, in one reading of the log. */
export const rebuildProjections = async (
  name: string | undefined,
  options: CommonOptions,
): Promise<void> => {
  const { rebuilt, failures } = await withDesk(options, async (desk) =>
    rebuild(desk, name ?? 'all', await namesOf(desk, name)),
  );
  for (const one of rebuilt) show(rebuiltText(one), options);
  if (failures.length > 0)
    throw new CommandError(EXIT.refused, failures.join('\n'), { rebuilt, failures });
  if (options.json) print(JSON.stringify({ rebuilt }));
};

/** Verifies one read model or all, one after the other, and prints each result at once. */
export const verifyProjections = async (
  name: string | undefined,
  options: CommonOptions,
): Promise<void> => {
  const run = systemIds().uuid();
  const verified: Verified[] = [];
  await withDesk(options, async (desk) => {
    for (const each of await namesOf(desk, name)) {
      const result = await verify(desk, each, run);
      verified.push(result);
      show(verifiedText(result), options);
    }
  });
  const advice = adviceOn(verified, options);
  const report = { equal: advice === '', verified };
  if (!report.equal) throw new CommandError(EXIT.differs, advice, report);
  if (options.json) print(JSON.stringify(report));
};
