import { defineConfig } from 'vitest/config';

/** The tests that `make mutate` runs against each mutant. */
export default defineConfig({
  test: {
    include: [
      'test/**/*.decider.test.ts',
      'test/shared/{equality,mailbox,person}.test.ts',
      'test/projections/*.test.ts',
    ],
  },
});
