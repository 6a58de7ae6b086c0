/** Options of a run: `make bench ONLY=N NOTARY_EVENTS=1000000 BENCH_JSON=rows.json BENCH_PROFILE=/tmp/profiles`. */
import { env } from 'node:process';

export type Options = {
  /** Beginning of the ids of the benchmarks to run, in upper case. */
  only: string | undefined;
  /** JSON file for the rows. */
  json: string | undefined;
  /** Directory for a .cpuprofile of each measured server; profiling slows it slightly. */
  profiles: string | undefined;
  /** Events of the log whose tree is built and started with. */
  notaryEvents: number;
};

const NOTARY_EVENTS = 200_000;

const given = (name: string): string | undefined => env[name]?.trim() || undefined;

export const readOptions = (): Options => ({
  only: given('ONLY')?.toUpperCase(),
  json: given('BENCH_JSON'),
  profiles: given('BENCH_PROFILE'),
  notaryEvents: Number(given('NOTARY_EVENTS') ?? NOTARY_EVENTS),
});
