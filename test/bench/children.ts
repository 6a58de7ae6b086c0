/** Child processes for the measured code and for the load, controlled over IPC. */
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { env } from 'node:process';
import type { Order, Sample } from './load.ts';
import { interleaved, median } from './measure.ts';

/** Starts the role of a child process, and returns what the parent must know. */
export type Role<Args = never, Details = unknown> = (args: Args) => Promise<{
  details: Details;
  /** Answers the command `report` with intermediate results. */
  report?(): Promise<unknown>;
  /** Microseconds of CPU of other processes that work for this one. */
  otherCpuUs?(): number;
  close?(): Promise<void>;
}>;

export type Started<Details> = {
  details: Details;
  /** Milliseconds from the fork until the role is started. */
  startedMs: number;
  call<Answer>(name: string, argument: unknown): Promise<Answer>;
  stop(): Promise<void>;
};

export type ToChild = { id: number; name: string; argument: unknown };
export type FromChild = { id: number; answer?: unknown; error?: string };

const alive = new Set<ChildProcess>();

/** Kills the processes that a failed benchmark left. */
export const killAll = (): void => {
  for (const child of alive) child.kill('SIGKILL');
};

const CHILD = join(import.meta.dirname, 'child.ts');
/** What the launcher of the service sets, too. */
const AS_LAUNCHED = ['--v8-pool-size=0'];
const COMPILED = join(import.meta.dirname, '../../node_modules/.cache/node');

/** Long enough for the slowest role, which makes a catalog of a million products. */
const ANSWER_MS = 900_000;

let profiles: string | undefined;
export const profileInto = (directory: string | undefined): void => {
  profiles = directory;
};

export const start = async <Details>(
  role: string,
  args: object = {},
): Promise<Started<Details>> => {
  const into = role === 'load' ? undefined : profiles;
  const profile =
    into === undefined
      ? []
      : ['--cpu-prof', `--cpu-prof-dir=${join(into, `${role}.${nextProfile()}`)}`];
  const startedAt = performance.now();
  // The output of a command must not be part of the table.
  const stdio = ['inherit', process.stderr, 'inherit', 'ipc'] as const;
  const child = fork(CHILD, [role], {
    execArgv: [...AS_LAUNCHED, ...profile],
    env: { NODE_COMPILE_CACHE: COMPILED, ...env },
    serialization: 'advanced',
    stdio: [...stdio],
  });
  alive.add(child);
  child.once('exit', () => alive.delete(child));
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const call = caller(child);
  const details = await call<Details>('start', args);
  return {
    details,
    startedMs: performance.now() - startedAt,
    call,
    async stop() {
      await call('stop', undefined);
      await ended;
    },
  };
};

/** Each process has a directory, because its threads would overwrite its profile. */
let profiled = 0;
const nextProfile = (): number => (profiled += 1);

const caller = (child: ChildProcess) => {
  const waiting = new Map<number, (message: FromChild) => void>();
  let ids = 0;
  child.on('message', (message) => {
    const { id } = message as FromChild;
    waiting.get(id)?.(message as FromChild);
    waiting.delete(id);
  });
  const end = (why: string): void => {
    for (const [id, settle] of waiting) settle({ id, error: why });
    waiting.clear();
  };
  child.on('exit', (code, signal) => end(`the process ended (${code ?? signal})`));
  // Also occurs for a message that cannot be sent, because the process has ended.
  child.on('error', (error) => end(String(error)));
  return async <Answer>(name: string, argument: unknown): Promise<Answer> => {
    const id = (ids += 1);
    const { answer, error } = await new Promise<FromChild>((resolve) => {
      const timer = setTimeout(() => resolve({ id, error: 'no answer in time' }), ANSWER_MS);
      waiting.set(id, (message) => {
        clearTimeout(timer);
        resolve(message);
      });
      child.send({ id, name, argument } satisfies ToChild);
    });
    if (error === undefined) return answer as Answer;
    child.kill();
    throw new Error(`${child.spawnargs.at(-1)}: ${error}`);
  };
};

/** The server under load, and the requests to send. */
export type Target = { server: Started<unknown>; order: Order };
/** A sample with the CPU time of the server per answer, which varies least of all measures. */
export type Loaded = Sample & { cpuUs: number };
export type Load = {
  (target: Target): Promise<Loaded>;
  /** Sends requests until the code is compiled; counts answers, because a busy machine is slower. */
  warmUp(target: Target): Promise<void>;
  stop(): Promise<void>;
};

const WARM_UP_ANSWERS = 20_000;
const WARM_UP_MS_MAX = 20_000;

/** Starts a load generator. Throws for a sample with an answer outside 2xx and 3xx. */
export const startLoad = async (): Promise<Load> => {
  const child = await start('load');
  const cpuOf = (server: Started<unknown>) => server.call<number>('cpu', undefined);
  const load = async ({ server, order }: Target): Promise<Loaded> => {
    const before = await cpuOf(server);
    const sample = await child.call<Sample>('load', order);
    const used = (await cpuOf(server)) - before;
    if (sample.failures > 0)
      throw new Error(`${sample.failures} of ${sample.answers} failed: ${sample.firstFailure}`);
    return { ...sample, cpuUs: used / sample.answers };
  };
  const warmUp = async ({ server, order }: Target): Promise<void> => {
    const ms = 500;
    let answers = 0;
    for (let spent = 0; answers < WARM_UP_ANSWERS && spent < WARM_UP_MS_MAX; spent += ms)
      answers += (await load({ server, order: { ...order, ms } })).answers;
  };
  return Object.assign(load, { warmUp, stop: () => child.stop() });
};

/** Takes samples of each target in turn, after a warm-up of all. */
export const sampled = async <Name extends string>(
  load: Load,
  targets: Record<Name, Target>,
): Promise<Record<Name, Loaded[]>> => {
  const named = Object.entries<Target>(targets);
  for (const [, target] of named) await load.warmUp(target);
  const variants = Object.fromEntries(named.map(([name, target]) => [name, () => load(target)]));
  return interleaved(variants as Record<Name, () => Promise<Loaded>>);
};

/** Returns the columns that compare one measure of a variant with its control. */
export const compared = (
  variant: readonly Loaded[],
  control: readonly Loaded[],
  measure: 'perSecond' | 'p99' | 'cpuUs',
) => ({
  value: median(variant.map((sample) => sample[measure])),
  unit: UNITS[measure],
  control: median(control.map((sample) => sample[measure])),
});

const UNITS = { perSecond: '1/s', p99: 'ms', cpuUs: 'us' } as const;
