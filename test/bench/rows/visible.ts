/** L: from the commit to the read model in one process, at about 2,000 writes per second. */
import { setTimeout as pause } from 'node:timers/promises';
import { authenticator } from '#src/calls/authenticate.ts';
import { openApp } from '#src/registries/app.ts';
import type { Service } from '#src/main.ts';
import { type AppendResult, type Position, replaceAppends } from '#src/ports/event-log.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { Bench } from '../bench.ts';
import { type Role, start } from '../children.ts';
import { percentile } from '../measure.ts';
import { deskOf, openBench } from '../service.ts';
import { rowOf } from '../table.ts';
import { temporaryDirectory } from '../temporary.ts';

type Details = {
  /** Share of links that the read model had when the operation returned. */
  visible: number;
  /** Milliseconds of the whole operation, and of its append. */
  command: { p50: number; p99: number };
  append: { p50: number; p99: number };
};

export const PER_SECOND = 2_000;
const WARM_UP = 2_000;
const WRITES = 6_000;
const TICK_MS = 2;

export const spread = (values: readonly number[]) => ({
  p50: percentile(values, 0.5),
  p99: percentile(values, 0.99),
});

/** Wraps the log to report outcome and milliseconds of each append. */
export const notedLog = (
  log: Deps['log'],
  note: (result: AppendResult, ms: number) => void,
): Deps['log'] =>
  replaceAppends(log, async (appends) => {
    const startedAt = performance.now();
    const result = await log.appendAll(appends);
    note(result, performance.now() - startedAt);
    return result;
  });

export type MadeLink = { owner: string; id: string; position: Position };

/** Creates links by the operation of an agent over `log`, without HTTP. */
export const linkMaker = async (service: Service, log: Deps['log']) => {
  const key = await deskOf(service).agent('acme');
  const deps = { ...service.deps, log };
  const { agents } = openApp(deps);
  const found = authenticator(deps).agent(key);
  if (!found.ok) throw new Error(found.detail);
  const caller = found.value;
  const make = async (n: number): Promise<MadeLink> => {
    const outcome = await agents.performAs('createLink', {
      caller,
      surface: 'rest',
      requestId: `bench-${n}`,
      input: { idempotency_key: `bench-${n}`, target: { kind: 'search', ref: `q${n}` } },
    });
    // Repeats the call like a client: on a busy machine no log confirms the credential in time.
    if (!outcome.ok && outcome.retryAfterS !== undefined) {
      await pause(outcome.retryAfterS * 1_000);
      return make(n);
    }
    if (!outcome.ok) throw new Error(outcome.detail);
    const { id } = outcome.value as { id: string };
    return { owner: caller.ownerId, id, position: outcome.position ?? 0 };
  };
  return make;
};

/** A busy machine reaches this, and then does less than the rate: more would wait until the log gives up. */
const UNDER_WAY_MAX = 128;

/** Starts `count` acts at a fixed rate without waiting for earlier ones, awaits all, and returns the rate. */
export const paced = async (
  perSecond: number,
  count: number,
  act: (n: number) => Promise<void>,
): Promise<number> => {
  const startedAt = performance.now();
  const running: Promise<void>[] = [];
  let settled = 0;
  while (running.length < count) {
    const due = Math.min(count, ((performance.now() - startedAt) / 1_000) * perSecond);
    while (running.length < due && running.length - settled < UNDER_WAY_MAX)
      running.push(act(running.length).finally(() => (settled += 1)));
    await pause(TICK_MS);
  }
  await Promise.all(running);
  return count / ((performance.now() - startedAt) / 1_000);
};

export const visibility: Role<{ directory: string }, Details> = async ({ directory }) => {
  const service = await openBench(directory);
  const commands: number[] = [];
  const appends: number[] = [];
  const log = notedLog(service.deps.log, (_, ms) => appends.push(ms));
  const create = await linkMaker(service, log);
  let visible = 0;
  await paced(PER_SECOND, WRITES, async (n) => {
    const startedAt = performance.now();
    const { owner, id } = await create(n);
    const row = await service.deps.readModels.get('links', owner, id);
    if (n < WARM_UP) return;
    commands.push(performance.now() - startedAt);
    if (row) visible += 1;
  });
  await service.close();
  return {
    details: {
      visible: visible / (WRITES - WARM_UP),
      command: spread(commands),
      append: spread(appends.slice(WARM_UP)),
    },
  };
};

export const benchVisibility: Bench = async () => {
  const child = await start<Details>('visible', { directory: temporaryDirectory() });
  await child.stop();
  const { visible, command, append } = child.details;
  const what = `createLink in process at ${PER_SECOND.toLocaleString('en')}/s to visible`;
  return [
    rowOf(
      { id: 'L', what: 'read model has the link at the 201', value: visible, unit: 'share' },
      { of: 'value', atLeast: 1 },
    ),
    rowOf({
      id: 'L',
      what: `${what}, p50, vs its append alone`,
      value: command.p50,
      unit: 'ms',
      control: append.p50,
    }),
    rowOf({
      id: 'L',
      what: `${what}, p99, vs its append alone`,
      value: command.p99,
      unit: 'ms',
      control: append.p99,
    }),
  ];
};
