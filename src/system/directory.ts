/** The data directory: created, checked, and readable only by its user. */
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { StartupError } from '#src/ports/startup-error.ts';

/**
 * Creates a directory that only this user can read, and its missing parents. Creates one level at a time
 * because Node's recursive mkdir never returns where directories cannot be created (/proc). Throws the
 * error of the file system.
 */
export const makeDirectory = (path: string): void => {
  const full = resolve(path);
  const missing: string[] = [];
  for (let at = full; !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const at of missing) mkdirSync(at, { mode: 0o700 });
};

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

const GROUP_AND_OTHERS = 0o077;

/** Reports whether the mode permits access to others. Throws the error of the file system. */
export const isOpenToOthers = (path: string): boolean =>
  (statSync(path).mode & GROUP_AND_OTHERS) !== 0;

/** Tributary's files in a data directory, with those that SQLite adds. */
const OWN_FILES =
  /^(?:(?:(?:log|streams|(?:views|near)(?:-\d+)?|keys|proof|catalog[^/]*)\.db|lock)(?:-(?:wal|shm|journal|probe))?|service\.log|(?:(?:remote-)?log|keys)\.mark(?:\.new)?|root\.key(?:\.new|\.part)?|erasures\.jsonl|desk\.token|(?:demo|server)\.json|outbox|mail)$/;

/** Returns Tributary's files in the directory that others may access. Follows no links. */
export const filesOpenToOthers = (directory: string): string[] =>
  readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && OWN_FILES.test(entry.name))
    .map(({ name }) => join(directory, name))
    .filter((file) => isThere(file) && isOpenToOthers(file));

/** Closes a file that an older version or a copy left open. `status --check` reports those that stay open. */
const closeToOthers = (file: string): void => {
  try {
    chmodSync(file, 0o600);
  } catch {
    // The file belongs to another user, or the file system has no modes: the service can still run.
  }
};

/** Files of file systems, file managers and shells. */
const IGNORED = /^(?:lost\+found$|\.)/;
const NAMED_MAX = 3;

/**
 * Throws StartupError when the directory has other files and none of Tributary's: after a typing error
 * the data would be scattered among them.
 */
export const requireOwnDirectory = (directory: string): void => {
  if (!statSync(directory).isDirectory())
    throw new StartupError(`${directory} is a file. The data directory must be a directory.`);
  const names = readdirSync(directory);
  const others = names.filter((name) => !IGNORED.test(name)).toSorted();
  if (others.length === 0 || others.some((name) => OWN_FILES.test(name))) return;
  const more = others.length > NAMED_MAX ? ', …' : '';
  throw new StartupError(
    `${directory} contains other files (${others.slice(0, NAMED_MAX).join(', ')}${more}) and no ` +
      'Tributary data. Nothing was written. Choose an empty directory, or one that does not exist yet.',
  );
};

/** Removes Tributary's files, and the directory if it is then empty. Throws file system errors. */
export const removeOwn = (directory: string): { isGone: boolean } => {
  for (const name of readdirSync(directory).filter((each) => OWN_FILES.test(each)))
    rmSync(join(directory, name), { recursive: true, force: true });
  const isGone = readdirSync(directory).length === 0;
  if (isGone) rmdirSync(directory);
  return { isGone };
};

/**
 * Creates the data directory if it is missing, and closes its files to others. Throws StartupError when
 * it cannot be written to, or contains only other files.
 */
export const prepareDirectory = (directory: string): void => {
  try {
    makeDirectory(directory);
  } catch (error) {
    throw new StartupError(`the data directory ${directory} cannot be created: ${reasonOf(error)}`);
  }
  try {
    accessSync(directory, constants.W_OK);
  } catch (error) {
    throw new StartupError(
      `${directory} is read-only here (${reasonOf(error)}). It is not damaged: copy it to a place that ` +
        'can be written to, and use the copy. status --check and log copy can read it where it is.',
    );
  }
  requireOwnDirectory(directory);
  for (const file of filesOpenToOthers(directory)) closeToOthers(file);
};

/** Replaces a file that only its owner can read; it is durable when this returns. */
export const replaceFile = (path: string, text: string): void => {
  const fresh = `${path}.part`;
  writeFileSync(fresh, text, { mode: 0o600, flush: true });
  renameSync(fresh, path);
  const directory = openSync(dirname(resolve(path)), 'r');
  fsyncSync(directory);
  closeSync(directory);
};

/** Unlike existsSync, throws when the path cannot be examined. */
export const isThere = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false }) !== undefined;
