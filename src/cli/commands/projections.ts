/** Rebuilds and verifies read models, and waits for the end. */
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock, systemIds } from '#src/system/ids.ts';
import { withDesk } from '#src/cli/desk.ts';
import type { Desk, DeskAnswer, DeskRequest } from '#src/cli/transport.ts';
import { commandFor, type CommonOptions } from '../options.ts';
import { fillsText, heldText, ownerRowsText } from '#src/cli/texts.ts';
import {
  CommandError,
  EXIT,
  formatCount,
  formatPlural,
  print,
  printNotice,
  printResult,
  style,
  askUntilDone,
  formatDuration,
  startLines,
  untilInterrupted,
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

type Statuses = DeskAnswer<'listProjections'>;
type Status = Statuses['data'][number];

const isFilled = ({ rebuilding, last_rebuild: last }: Status): boolean =>
  rebuilding !== undefined || last?.state === 'running';

/** What is left of a fill; nothing before its rate is known. */
const leftText = (
  { rate, seconds_left: left }: NonNullable<Status['rebuilding']>,
  { unit, fills }: Statuses,
): string[] => {
  if (fills?.paused) return ['paused'];
  const limit = fills?.events_per_second;
  return [
    ...(rate === undefined ? [] : [`${formatCount(Math.round(rate))} ${unit}/s`]),
    ...(limit === undefined ? [] : [`at most ${formatCount(limit)} events/s`]),
    ...(left === undefined ? [] : [`${formatDuration(left)} left`]),
  ];
};

const fillText = (fill: NonNullable<Status['rebuilding']>, statuses: Statuses): string => {
  const { position, head } = fill;
  const percent = head > 0 ? Math.floor((100 * position) / head) : 100;
  const done = `${percent} %  ${formatCount(position)}/${formatCount(head)} ${statuses.unit}`;
  return [done, ...leftText(fill, statuses)].join('  ');
};

/** A line for each read model that is being filled; those of one reading of the log that are equally far share a line. */
const fillLines = (statuses: Statuses, names: readonly string[]): string[] => {
  const filled = statuses.data.filter(({ name, rebuilding }) => rebuilding && names.includes(name));
  const width = Math.max(0, ...filled.map(({ name }) => name.length));
  const textOf = ({ rebuilding }: Status): string =>
    rebuilding ? fillText(rebuilding, statuses) : '';
  if (process.stderr.isTTY && filled.length < process.stderr.rows)
    return filled.map((one) => `${one.name.padEnd(width)}  ${textOf(one)}`);
  const groups = Map.groupBy(filled, textOf);
  return Array.from(
    groups,
    ([text, group]) => `${group.map(({ name }) => name).join(', ')}  ${text}`,
  );
};

const INTERRUPTED = 'interrupted';

/** A command that waits for fills; `again` are the words that start it. */
type Waiting = {
  name: string | undefined;
  again: string;
  options: CommonOptions;
  begin?(): Promise<void>;
};

/** Says what became of a rebuild whose command was interrupted, and how to see it again. */
const interruptedError = (
  desk: Desk,
  filled: readonly Status[],
  { name, again, options }: Waiting,
): CommandError => {
  const names = filled.map((one) => one.name).join(', ');
  const watch = name === undefined ? 'projections watch' : `projections watch ${name}`;
  const detail = desk.server
    ? `interrupted: the service continues to rebuild ${names}. Watch it again with: ${commandFor(watch, options)}`
    : `interrupted: the rebuild of ${names} has stopped. The next run continues from what is committed: ${commandFor(again, options)}`;
  return new CommandError(EXIT.interrupted, detail, { code: INTERRUPTED, detail });
};

/** Shows how far the fills of these read models are until the last one ends, and returns their status then. */
const watchFills = (desk: Desk, names: readonly string[], command: Waiting): Promise<Status[]> =>
  untilInterrupted(async (signal) => {
    await command.begin?.();
    const lines = startLines();
    try {
      for (;;) {
        const statuses = await desk.call('listProjections', {});
        const projections = statuses.data.filter((one) => names.includes(one.name));
        const filled = projections.filter(isFilled);
        if (filled.length === 0) return projections;
        if (signal.aborted) throw interruptedError(desk, filled, command);
        lines.update(fillLines(statuses, names));
        await pause(POLL_EVERY_MS, undefined, { signal }).catch(() => undefined);
      }
    } finally {
      lines.stop();
    }
  });

/** Starts a rebuild and waits until it ends. Returns the new spaces, which are live, and why others are not. */
const rebuild = async (
  desk: Desk,
  name: string | undefined,
  options: RebuildOptions,
): Promise<Outcomes> => {
  const names = await namesOf(desk, name);
  const { hold } = options;
  const { monotonic } = systemClock();
  const startedAt = monotonic();
  const begin = async (): Promise<void> => {
    const label = name ?? 'all';
    const { started } = await desk.call('rebuildProjection', { name: label, hold });
    if (started) return;
    const watch = commandFor(`projections watch${name === undefined ? '' : ` ${name}`}`, options);
    const detail = `${label === 'all' ? 'a read model' : label} is already being rebuilt. Watch it with: ${watch}`;
    throw new CommandError(EXIT.refused, detail, { code: 'state_conflict', detail });
  };
  const words = ['projections rebuild', name, hold && '--hold'].filter(Boolean).join(' ');
  const projections = await watchFills(desk, names, { name, again: words, options, begin });
  return outcomesOf(projections, (monotonic() - startedAt) / 1_000);
};

type Outcomes = { rebuilt: Rebuilt[]; failures: string[] };

const outcomesOf = (projections: readonly Status[], seconds: number): Outcomes => {
  const isDone = ({ last_rebuild: last }: Status): boolean => last?.state === 'done';
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

/** Prints what was rebuilt. Throws what was not. */
const reportRebuilt = ({ rebuilt, failures }: Outcomes, options: CommonOptions): void => {
  for (const one of rebuilt) show(rebuiltText(one), options);
  if (failures.length > 0)
    throw new CommandError(EXIT.refused, failures.join('\n'), { rebuilt, failures });
  if (options.json) print(JSON.stringify({ rebuilt }));
};

type RebuildOptions = CommonOptions & { hold?: boolean; owner?: string };

/** Rebuilds all read models, or the named one, in one reading of the log; with --hold, shows what it would change. */
export const rebuildProjections = async (
  name: string | undefined,
  options: RebuildOptions,
): Promise<void> => {
  if (options.owner !== undefined) return replaceRows(name, options.owner, options);
  if (!options.hold)
    return reportRebuilt(await withDesk(options, (desk) => rebuild(desk, name, options)), options);
  if (name === undefined) throw new CommandError(EXIT.usage, 'name the read model to hold');
  const { failures, held } = await withDesk(options, async (desk) => {
    const { failures } = await rebuild(desk, name, options);
    const held = failures.length > 0 ? undefined : await desk.call('readHeldBuild', { name });
    return { failures, held };
  });
  if (!held) throw new CommandError(EXIT.refused, failures.join('\n'), { failures });
  printResult(options, held, heldText(held, options));
};

/** Replaces the rows of one owner in a live read model, and prints what was replaced. */
const replaceRows = async (
  name: string | undefined,
  owner: string,
  { hold, ...options }: RebuildOptions,
): Promise<void> => {
  if (name === undefined) throw new CommandError(EXIT.usage, 'name the read model of the rows');
  const request = { name, owner_id: owner, hold };
  const answer = await withDesk(options, (desk) => desk.call('rebuildProjection', request));
  const text = ownerRowsText(answer, { ...options, owner });
  const { shared = [], partitions_not_replaced: left = [] } = answer.owner ?? {};
  if (shared.length + left.length > 0) throw new CommandError(EXIT.differs, text, answer);
  printResult(options, answer, text);
};

/** Makes the held build of a read model the live one, and waits until it is. */
export const switchProjection = async (name: string, options: CommonOptions): Promise<void> => {
  const { monotonic } = systemClock();
  const startedAt = monotonic();
  const outcomes = await withDesk(options, async (desk) => {
    const names = await namesOf(desk, name);
    const begin = async (): Promise<void> => void (await desk.call('switchBuild', { name }));
    const again = `projections switch ${name}`;
    const ended = await watchFills(desk, names, { name, again, options, begin });
    return outcomesOf(ended, (monotonic() - startedAt) / 1_000);
  });
  reportRebuilt(outcomes, options);
};

/** Shows the running rebuilds and other fills of all read models, or of the named one, until they end. */
export const watchProjections = async (
  name: string | undefined,
  options: CommonOptions,
): Promise<void> => {
  const { monotonic } = systemClock();
  const since = monotonic();
  const outcomes = await withDesk(options, async (desk) => {
    const names = await namesOf(desk, name);
    const { data } = await desk.call('listProjections', {});
    const filled = data.filter((one) => names.includes(one.name) && isFilled(one));
    if (filled.length === 0) throw nothingFilledError(name, options);
    const watched = filled.map((one) => one.name);
    const again = 'projections rebuild';
    const ended = await watchFills(desk, watched, { name, again, options });
    return outcomesOf(ended, (monotonic() - since) / 1_000);
  });
  reportRebuilt(outcomes, options);
};

const nothingFilledError = (name: string | undefined, options: CommonOptions): CommandError => {
  const what = name === undefined ? 'no read model is' : `${name} is not`;
  const rebuilding = commandFor(
    `projections rebuild${name === undefined ? '' : ` ${name}`}`,
    options,
  );
  const detail = `${what} being filled. Rebuild with: ${rebuilding}`;
  return new CommandError(EXIT.refused, detail, { code: 'state_conflict', detail });
};

const limitFills = async (
  request: DeskRequest<'limitFills'>,
  options: CommonOptions,
): Promise<void> => {
  const limits = await withDesk(options, (desk) => desk.call('limitFills', request));
  printResult(options, limits, fillsText(limits));
};

export const pauseFills = (options: CommonOptions): Promise<void> =>
  limitFills({ paused: true }, options);

export const resumeFills = (options: CommonOptions): Promise<void> =>
  limitFills({ paused: false }, options);

const parseLimit = (text: string): number => {
  if (/^\d{1,7}$/.test(text)) return Number(text);
  const detail = `${text} is not a limit. Give a whole number of events a second; 0 removes the limit.`;
  throw new CommandError(EXIT.usage, detail);
};

export const throttleFills = (eventsPerSecond: string, options: CommonOptions): Promise<void> =>
  limitFills({ events_per_second: parseLimit(eventsPerSecond) }, options);

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
