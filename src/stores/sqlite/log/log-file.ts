/** A file that was unlinked or replaced still exists for the processes that have it open. */
import { statSync } from 'node:fs';

/** Identifies the file at the path by device and inode; undefined if there is none. */
export const fileAt = (path: string): string | undefined => {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
};
