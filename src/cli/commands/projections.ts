import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { systemClock } from '#src/adapters/system/clock.ts';
import { systemIds } from '#src/adapters/system/ids.ts';
import { type Common, leaf } from '../command.ts';
import { type Answer, atDesk, type Desk } from '../desk/desk-client.ts';
import { EXIT, Failure } from '../terminal/exit.ts';
import { count, finish, note, plural, say, styled, table } from '../terminal/output.ts';
import { progress } from '../terminal/progress.ts';

type Status = Answer<'listProjections'>['data'][number];

const LOOK_EVERY_MS = 50;

const stateText = ({ parked, rebuilding, lag_events }: Status): string => {
  const [first] = parked;
  if (first) return `parked at ${first.position} in partition ${first.partition}: ${first.reason}`;
  if (rebuilding)
    return `rebuilding ${rebuilding.space}: ${rebuilding.position}/${rebuilding.head}`;
  return lag_events === 0 ? 'caught up' : `${count(lag_events)} behind`;
};

const statusText = ({ head, data }: Answer<'listProjections'>): string =>
  table([
    ['READ MODEL', 'SPACE', 'CHECKPOINT', 'STATE'],
    ...data.map((status) => [
      status.name,
      status.space || '-',
      count(status.checkpoint),
      stateText(status),
    ]),
    ['log', '', count(head), ''],
  ]);

const statusOf = async (desk: Desk, name: string): Promise<Status | undefined> =>
  (await desk.call('listProjections', {})).data.find((status) => status.name === name);

/** The one that is named, or all. */
const namesOf = async (desk: Desk, name: string | undefined): Promise<string[]> => {
  const names = (await desk.call('listProjections', {})).data.map((status) => status.name);
  if (name === undefined) return names;
  if (names.includes(name)) return [name];
  const detail = `there is no read model ${name}; there are ${names.join(', ')}`;
  throw new Failure(EXIT.refused, detail, { code: 'resource_not_found', detail });
};

type Rebuilt = { name: string; space: string; events: number; seconds: number };

/** Waits until the service says that the new space answers, or why it does not. */
const rebuildOne = async (desk: Desk, name: string): Promise<Rebuilt> => {
  const { monotonic } = systemClock();
  const began = monotonic();
  const { started, head } = await desk.call('rebuildProjection', { name });
  if (!started) throw new Failure(EXIT.refused, `${name} is being rebuilt already`);
  const shown = progress(name, head, 'events');
  try {
    for (;;) {
      const now = await statusOf(desk, name);
      if (now?.rebuilding) shown.update(now.rebuilding.position, now.rebuilding.head);
      const { state, failure } = now?.last_rebuild ?? { state: 'failed', failure: 'it is gone' };
      if (state === 'failed')
        throw new Failure(EXIT.refused, `${name} was not rebuilt: ${failure}`);
      if (now && state === 'done') {
        shown.update(head, head);
        return { name, space: now.space, events: head, seconds: (monotonic() - began) / 1_000 };
      }
      await pause(LOOK_EVERY_MS);
    }
  } finally {
    shown.stop();
  }
};

const rebuild = async (name: string | undefined, options: Common): Promise<void> =>
  atDesk(options, async (desk) => {
    const rebuilt: Rebuilt[] = [];
    for (const each of await namesOf(desk, name)) {
      const result = await rebuildOne(desk, each);
      rebuilt.push(result);
      const { events, space, seconds } = result;
      const into = space === '' ? '' : ` into ${space}`;
      const line = `${each}: ${plural(events, 'event')}${into} in ${seconds.toFixed(1)} s, live`;
      (options.json ? note : say)(`${styled('green', '✓')} ${line}`);
    }
    if (options.json) say(JSON.stringify({ rebuilt }));
  });

type Verified = Answer<'verifyProjection'>;

const verifyOne = async (desk: Desk, name: string, run: string): Promise<Verified> => {
  let state = await desk.call('verifyProjection', { name, run });
  const shown = progress(name, state.head, 'events');
  try {
    while (!state.done) {
      await pause(LOOK_EVERY_MS);
      state = await desk.call('verifyProjection', { name, run });
      shown.update(state.position, state.head);
    }
  } finally {
    shown.stop();
  }
  return state;
};

const isEqual = ({ mismatches, failure }: Verified): boolean =>
  mismatches.length === 0 && failure === undefined;

const verifiedText = (state: Verified): string => {
  const { name, rows, mismatches, failure } = state;
  if (isEqual(state))
    return `${styled('green', '✓')} ${name}: ${plural(rows, 'row')}, equal to a fresh fold`;
  const faults = mismatches.map(({ partition, detail }) => `\n  partition ${partition}: ${detail}`);
  return `${styled('red', '✗')} ${name}: ${failure ?? 'differs from a fresh fold'}${faults.join('')}`;
};

const verify = async (name: string | undefined, options: Common): Promise<void> =>
  atDesk(options, async (desk) => {
    const run = systemIds(systemClock().now).uuid();
    const verified: Verified[] = [];
    for (const each of await namesOf(desk, name)) {
      const state = await verifyOne(desk, each, run);
      verified.push(state);
      (options.json ? note : say)(verifiedText(state));
    }
    const report = { equal: verified.every(isEqual), verified };
    const wrong = verified.filter((state) => !isEqual(state)).map((state) => state.name);
    if (wrong.length > 0)
      throw new Failure(
        EXIT.differs,
        `not what the log says: ${wrong.join(', ')}. Rebuild: tributary projections rebuild NAME`,
        report,
      );
    if (options.json) say(JSON.stringify(report));
  });

/** Read models: where they stand, afresh from the log, and whether they are what the log says. */
export const projectionsCommands = (program: Command): void => {
  const projections = program.command('projections').description('read models, folds of the log');
  leaf(projections, 'status', 'where each read model stands').action(async (options: Common) => {
    const answer = await atDesk(options, (desk) => desk.call('listProjections', {}));
    finish(options, answer, statusText(answer));
  });
  leaf(projections, 'rebuild [name]', 'fill a read model, or all, afresh, and switch').action(
    rebuild,
  );
  leaf(projections, 'verify [name]', 'compare the live rows with a fresh fold of the log').action(
    verify,
  );
};
