import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

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
