/** Temporary directories of one test file. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const directories = (prefix: string) => {
  const created: string[] = [];
  return {
    fresh(): string {
      const directory = mkdtempSync(join(tmpdir(), prefix));
      created.push(directory);
      return directory;
    },
    removeAll(): void {
      for (const directory of created) rmSync(directory, { recursive: true, force: true });
    },
  };
};
