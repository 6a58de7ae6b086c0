/** Temporary directories of one test file. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
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

const marksIn = (directory: string): string[] =>
  ['log.mark', 'keys.mark']
    .map((name) => join(directory, name))
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, 'latin1'));

/**
 * Copies the data directory of a service that runs, as a snapshot of its disk does: all files are of one moment. The
 * service may write at any time, and its marks tell of each write that it acknowledged.
 */
export const copyOfLive = (
  from: string,
  to: string,
  isWanted: (path: string) => boolean = () => true,
): string => {
  for (;;) {
    const before = marksIn(from);
    rmSync(to, { recursive: true, force: true });
    try {
      cpSync(from, to, { recursive: true, filter: isWanted });
    } catch (error) {
      // The service may remove a file between the listing and the copy.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      throw error;
    }
    if (String(marksIn(from)) === String(before)) return to;
  }
};
