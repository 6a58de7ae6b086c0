import { defineConfig } from 'vitest/config';

/** `make soak`, which runs for hours and belongs to no other suite. */
export default defineConfig({
  test: {
    include: ['test/soak/*.test.ts'],
    setupFiles: ['test/support/seed.ts'],
    // Five processes start at once, on machines with few cores.
    hookTimeout: 300_000,
  },
});
