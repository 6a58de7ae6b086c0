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

/** Starts a rebuild and waits until the new space is live. */
const rebuild = async (desk: Desk, name: string): Promise<Rebuilt> => {
  const { monotonic } = systemClock();
  const startedAt = monotonic();
  const { started, head } = await desk.call('rebuildProjection', { name });
  if (!started) throw new CommandError(EXIT.refused, `${name} is already being rebuilt`);
  const bar = startProgress({ label: name, total: head, unit: 'positions' });
  try {
    for (;;) {
      const { data } = await desk.call('listProjections', {});
      const projection = data.find((one) => one.name === name);
      const { rebuilding, last_rebuild: last } = projection ?? {};
      if (rebuilding) bar.update(rebuilding.position, rebuilding.head);
      if (!projection || !last || last.state === 'failed') {
        const reason = last?.failure ?? 'the service has no record of it';
        throw new CommandError(EXIT.refused, `${name} was not rebuilt: ${reason}`);
      }
      if (last.state === 'done') {
        bar.update(head, head);
        const seconds = (monotonic() - startedAt) / 1_000;
        const { space, checkpoint: position } = projection;
        return { name, space, position, seconds };
      }
      await pause(POLL_EVERY_MS);
    }
  } finally {
    bar.stop();
  }
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

/** Acts on one read model or on all, one after the other, and prints each result at once. */
const forEach = <Result>(
  name: string | undefined,
  options: CommonOptions,
  work: { act(desk: Desk, name: string): Promise<Result>; text(result: Result): string },
): Promise<Result[]> =>
  withDesk(options, async (desk) => {
    const results: Result[] = [];
    for (const each of await namesOf(desk, name)) {
      const result = await work.act(desk, each);
      results.push(result);
      (options.json ? printNotice : print)(work.text(result));
    }
    return results;
  });

export const rebuildProjections = async (
  name: string | undefined,
  options: CommonOptions,
): Promise<void> => {
  const rebuilt = await forEach(name, options, { act: rebuild, text: rebuiltText });
  if (options.json) print(JSON.stringify({ rebuilt }));
};

export const verifyProjections = async (
  name: string | undefined,
  options: CommonOptions,
): Promise<void> => {
  const run = systemIds().uuid();
  const act = (desk: Desk, each: string) => verify(desk, each, run);
  const verified = await forEach(name, options, { act, text: verifiedText });
  const advice = adviceOn(verified, options);
  const report = { equal: advice === '', verified };
  if (!report.equal) throw new CommandError(EXIT.differs, advice, report);
  if (options.json) print(JSON.stringify(report));
};
