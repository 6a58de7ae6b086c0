/**
 * One process per data directory. The lock belongs to the kernel and ends with its process, so a crash
 * leaves none behind. Removing the lock file lets a second process in, therefore the holder checks the
 * file and reports the loss. Do not open and close the lock file by other means in this process: with
 * the first close, POSIX drops all locks of the process on the file.
 */
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { StartupError } from '#src/ports/startup-error.ts';
import { openPrivate } from './open.ts';
import { messageOfError } from './failure.ts';
import { fileAt } from '#src/stores/sqlite/log/log-mark.ts';

// Long enough for a predecessor that is exiting, short enough to answer within a second.
const WAIT_MS = 500;
/** Shorter than a second process needs to read the log. */
const CHECK_EVERY_MS = 200;

type DirectoryLock = {
  release(): void;
  /** Calls `onLost` once, if the directory may belong to another process by now. */
  watch(onLost: (text: string) => void): void;
};

/** Throws StartupError if another process holds the directory or the file cannot be locked. */
export const lockDirectory = (directory: string, waitMs = WAIT_MS): DirectoryLock => {
  const path = join(directory, 'lock');
  const db = lockFile(directory, path, waitMs);
  const file = fileAt(path);
  let watching: NodeJS.Timeout | undefined;
  return {
    release() {
      clearInterval(watching);
      db.close();
    },
    watch(onLost) {
      watching = setInterval(() => {
        const loss = describeLoss(path, file);
        if (loss === undefined) return;
        clearInterval(watching);
        onLost(loss);
      }, CHECK_EVERY_MS).unref();
    },
  };
};

const lockFile = (directory: string, path: string, waitMs: number): DatabaseSync => {
  let db: DatabaseSync | undefined;
  try {
    db = openPrivate(path, { timeout: waitMs });
    db.exec('BEGIN EXCLUSIVE');
    return db;
  } catch (error) {
    db?.close();
    const reason = messageOfError(error);
    throw new StartupError(
      reason.includes('locked')
        ? `${directory} is in use by another Tributary process. Stop it first (fuser ${path} ` +
            'names it), or choose another data directory.'
        : `${path} cannot be locked: ${reason}. The data directory must be writable and on a ` +
            'local disk.',
      { cause: error },
    );
  }
};

const describeLoss = (path: string, file: string | undefined): string | undefined => {
  try {
    if (fileAt(path) === file) return undefined;
    return `${path} was removed or replaced, and another process may have the directory by now`;
  } catch (error) {
    return `${path} cannot be checked: ${messageOfError(error)}`;
  }
};
