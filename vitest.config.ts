import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/soak/**'],
    setupFiles: ['test/support/seed.ts'],
    reporters: ['default', './infra/scripts/plain-reporter.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Two cores: more workers than that only make the e2e suites wait for each other.
    maxWorkers: 2,
  },
});
