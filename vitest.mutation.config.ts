import { defineConfig } from 'vitest/config';
import { HANG_MS } from './test/support/hang.ts';

/** The tests that `make mutate` runs against each mutant. */
export default defineConfig({
  test: {
    include: [
      'test/**/*.decider.test.ts',
      'test/shared/{equality,mailbox,person}.test.ts',
      'test/projections/*.test.ts',
    ],
    // Runs whole services in its hooks. What hooks cover, Stryker tests with every test there is: most mutants, for hours.
    exclude: ['test/projections/stored-rows.test.ts'],
    // Only ends hangs, as in the whole suite: measuring coverage on a busy machine takes a test several seconds.
    testTimeout: 5 * HANG_MS,
    hookTimeout: 5 * HANG_MS,
  },
});
