import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

type Options = NonNullable<ConstructorParameters<typeof DatabaseSync>[1]>;

/**
 * A SQLite file that only we can read, whatever the directory and the umask let others do: what
 * SQLite makes beside it has the mode of the file.
 */
export const openOwn = (path: string, options: Options = {}): DatabaseSync => {
  if (path !== ':memory:') makeOwn(path);
  return new DatabaseSync(path, options);
};

const makeOwn = (path: string): void => {
  try {
    // Only where there was none: to close a file that this process has open would drop its locks.
    closeSync(openSync(path, 'wx', 0o600));
  } catch {
    // It is there, or SQLite says why it cannot be.
  }
};
