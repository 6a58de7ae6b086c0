import { defineConfig } from 'vitest/config';

/** `make soak`, which runs for hours and belongs to no other suite. */
export default defineConfig({
  test: { include: ['test/soak/*.test.ts'], setupFiles: ['test/support/seed.ts'] },
});
