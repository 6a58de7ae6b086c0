/** How a run is asked for: `make bench ONLY=W BENCH_JSON=rows.json BENCH_PROFILE=/tmp/profiles`. */
import { env } from 'node:process';

export type Options = {
  /** Id of the one benchmark to run. */
  only: string | undefined;
  /** Where the rows go as JSON. */
  json: string | undefined;
  /** Directory for a .cpuprofile of each server under test; it slows them down a little. */
  profiles: string | undefined;
};

const given = (name: string): string | undefined => env[name]?.trim() || undefined;

export const readOptions = (): Options => ({
  only: given('ONLY')?.toUpperCase(),
  json: given('BENCH_JSON'),
  profiles: given('BENCH_PROFILE'),
});
