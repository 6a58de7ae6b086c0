/**
 * One process per data directory. The lock is the kernel's and dies with its process, so that no
 * crash leaves one behind. Whoever removes its file lets a second process in: the holder looks, and
 * ends. Do not open and close the lock file by other means in this process:
 * POSIX drops all locks of a process on a file with the first close.
 */
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { StartupError } from '#src/ports/startup-error.ts';
import { textOf } from './failure.ts';
import { fileAt } from './log/log-file.ts';
import { openOwn } from './own-file.ts';

// Long enough for a predecessor that is just ending, short enough to answer within a second.
const WAIT_MS = 500;
/** Sooner than a second process has read the log. */
const LOOK_EVERY_MS = 200;

type DirectoryLock = {
  release(): void;
  /** `onLost` is told, once, that the directory may be another process's by now. */
  watch(onLost: (text: string) => void): void;
};

export const lockDirectory = (directory: string, waitMs = WAIT_MS): DirectoryLock => {
  const path = join(directory, 'lock');
  let db: DatabaseSync | undefined;
  try {
    db = openOwn(path, { timeout: waitMs });
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db?.close();
    const reason = error instanceof Error ? error.message : String(error);
    const busy = reason.includes('locked');
    throw new StartupError(
      busy
        ? `${directory} is in use by another Tributary process. Stop it first (fuser ${path} ` +
            'names it), or choose another data directory.'
        : `${path} cannot be locked: ${reason}. The data directory must be writable and on a ` +
            'local disk.',
      { cause: error },
    );
  }
  const held = db;
  const file = fileAt(path);
  let watching: NodeJS.Timeout | undefined;
  return {
    release() {
      clearInterval(watching);
      held.close();
    },
    watch(onLost) {
      watching = setInterval(() => {
        const lost = lostTo(path, file);
        if (lost === undefined) return;
        clearInterval(watching);
        onLost(lost);
      }, LOOK_EVERY_MS).unref();
    },
  };
};

const lostTo = (path: string, file: string | undefined): string | undefined => {
  try {
    if (fileAt(path) === file) return undefined;
    return `${path} was removed or replaced, and another process may have the directory by now`;
  } catch (error) {
    return `${path} cannot be looked at: ${textOf(error)}`;
  }
};
