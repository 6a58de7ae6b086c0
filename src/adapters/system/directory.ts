import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
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

const OTHERS = 0o077;

/** Whether its mode lets anybody but its owner at it. Throws what the file system says. */
export const isOpenToOthers = (path: string): boolean => (statSync(path).mode & OTHERS) !== 0;

/** What we make right in a data directory, with what SQLite makes beside a file of its own. */
const OURS =
  /^(?:(?:(?:log|streams|views|near|keys|catalog[^/]*)\.db|lock)(?:-(?:wal|shm|journal))?|log\.mark(?:\.new)?|root\.key|desk\.token|(?:demo|server)\.json|outbox)$/;

/** Of our files right in the directory, those that others may read or write; no link is followed. */
export const filesOpenToOthers = (directory: string): string[] =>
  readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && OURS.test(entry.name))
    .map(({ name }) => join(directory, name))
    .filter((file) => isThere(file) && isOpenToOthers(file));

/** What an older version or a copy left open; doctor tells what is not ours to change. */
const closeToOthers = (file: string): void => {
  try {
    chmodSync(file, 0o600);
  } catch {
    // Another user's, or the file system has no modes: no reason not to serve.
  }
};

/** What a file system makes by itself, and what file managers and shells leave behind. */
const OF_NOBODY = /^(?:lost\+found$|\.)/;
const NAMED_MAX = 3;

/**
 * Nobody begins among the files of others: one mistyped name, and ours lie strewn between theirs.
 * Throws StartupError.
 */
export const requireOwnDirectory = (directory: string): void => {
  if (!statSync(directory).isDirectory())
    throw new StartupError(`${directory} is a file. The data directory must be a directory.`);
  const names = readdirSync(directory);
  const others = names.filter((name) => !OF_NOBODY.test(name)).toSorted();
  if (others.length === 0 || others.some((name) => OURS.test(name))) return;
  const more = others.length > NAMED_MAX ? ', …' : '';
  throw new StartupError(
    `${directory} holds files of others (${others.slice(0, NAMED_MAX).join(', ')}${more}), and no ` +
      'Tributary data. Nothing was written. Name an empty directory, or one that does not exist yet.',
  );
};

/** Removes what is ours, and the directory with it where nothing else is there. Throws what the file system says. */
export const removeOwn = (directory: string): { isGone: boolean } => {
  for (const name of readdirSync(directory).filter((each) => OURS.test(each)))
    rmSync(join(directory, name), { recursive: true, force: true });
  const isGone = readdirSync(directory).length === 0;
  if (isGone) rmdirSync(directory);
  return { isGone };
};

/**
 * The data directory, made where it is missing, to be written, with nobody's files but ours, which
 * are closed to others. Throws StartupError.
 */
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
  requireOwnDirectory(directory);
  for (const file of filesOpenToOthers(directory)) closeToOthers(file);
};

/** Unlike existsSync it takes nothing for absent that it cannot look at. Throws what the file system says. */
export const isThere = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false }) !== undefined;
