import { defineConfig } from 'vitest/config';

/** The tests that `make mutate` runs against each mutant. */
export default defineConfig({
  test: { include: ['test/unit/{domain,projections}/**/*.test.ts'] },
});
