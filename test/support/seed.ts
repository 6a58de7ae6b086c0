/** Seeds of random tests: SEED repeats a run, and fast-check prints the seed of a failure. */
import { env } from 'node:process';

const SEED = env['SEED'];

/** Returns the seed in SEED, or `seed` without SEED. */
export const seedOr = (seed: number): number => (SEED === undefined ? seed : Number(SEED));

if (SEED !== undefined) {
  const { configureGlobal } = await import('fast-check');
  configureGlobal({ seed: Number(SEED) });
}
