import { existsSync } from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { StartupError } from '#src/ports/startup-error.ts';
import { isLogMark, type LogMark, type MarkPlace, newerMark } from './log-memory.ts';

const FILE = 'remote-log.mark';

const read = async (path: string): Promise<LogMark | undefined> => {
  if (!existsSync(path)) return undefined;
  try {
    const mark: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (isLogMark(mark)) return mark;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new StartupError(
    `${path} is unreadable, so it is unknown which log this data directory belongs to. If the log on ` +
      'the server is the right one, delete the file.',
  );
};

const write = async (path: string, mark: LogMark): Promise<void> => {
  const fresh = `${path}.new`;
  const file = await open(fresh, 'w', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(mark)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(fresh, path);
};

/** The mark in a data directory, which one process holds. `load` throws StartupError if it is unreadable. */
export const markFile = (directory: string): MarkPlace => {
  const path = join(directory, FILE);
  let stored: LogMark | undefined;
  const replace = async (mark: LogMark | undefined): Promise<void> => {
    if (mark) await write(path, mark);
    else await rm(path, { force: true });
    stored = mark;
  };
  return {
    name: `the data directory ${directory}`,
    isShared: false,
    load: async () => (stored = await read(path)),
    replace,
    async store(mark) {
      if (newerMark(stored, mark) === mark) await replace(mark);
    },
    close: async () => {},
  };
};
