import { defineConfig } from 'vitest/config';
import { HANG_MS } from './test/support/hang.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/soak/**'],
    setupFiles: ['test/support/seed.ts'],
    reporters: ['default', './infra/scripts/plain-reporter.ts'],
    // These limits only end hangs. A wait ends before its test, so that a failure names the wait. The longest tests
    // need half a minute, because they start many processes.
    testTimeout: 5 * HANG_MS,
    hookTimeout: 5 * HANG_MS,
    expect: { poll: { timeout: HANG_MS } },
    // Two cores: more workers than that only make the e2e suites wait for each other.
    maxWorkers: 2,
    // Loading the sources for each file took more than half of the processor time. A file leaves nothing behind.
    isolate: false,
  },
});
