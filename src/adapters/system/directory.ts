import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { StartupError } from '#src/ports/startup-error.ts';

/**
 * Makes a directory that only we can read, with what is missing above it. One level at a time: the
 * recursive mkdir of Node never returns where the file system lets nobody make anything (/proc).
 * Throws what the file system says.
 */
export const makeDirectory = (path: string): void => {
  const full = resolve(path);
  const missing: string[] = [];
  for (let at = full; !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const at of missing) mkdirSync(at, { mode: 0o700 });
};

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** The data directory, made where it is missing, to be written. Throws StartupError. */
export const prepareDirectory = (directory: string): void => {
  try {
    makeDirectory(directory);
  } catch (error) {
    throw new StartupError(`the data directory ${directory} cannot be made: ${reasonOf(error)}`);
  }
  try {
    accessSync(directory, constants.W_OK);
  } catch (error) {
    throw new StartupError(
      `${directory} is read-only here (${reasonOf(error)}), which is no damage: copy it to where it ` +
        'can be written, and use the copy. doctor and log copy can read it where it is.',
    );
  }
};

/** Unlike existsSync it takes nothing for absent that it cannot look at. Throws what the file system says. */
export const isThere = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false }) !== undefined;
