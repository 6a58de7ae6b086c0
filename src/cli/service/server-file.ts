/** The file in a data directory by which commands find the server that runs on it. */
import { readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { fileAt } from '#src/stores/sqlite/log/log-file.ts';

const LIVEZ_MS_MAX = 2_000;

const shape = z.object({
  url: z.string(),
  pid: z.int(),
  /** Random name of the process; its /livez answers it. */
  instance: z.string(),
  /** Role of a process that has no desk. */
  role: z.literal('dispatcher').optional(),
  /** Where the file was written: a copy of the directory has the file, but no server. */
  directory: z.string(),
  inode: z.string(),
});
export type RunningServer = Pick<z.infer<typeof shape>, 'url' | 'pid' | 'instance' | 'role'>;

const live = z.object({ instance: z.string() });

const fileIn = (directory: string): string => join(directory, 'server.json');

const locationOf = (directory: string) => ({
  directory: realpathSync(directory),
  inode: fileAt(directory) ?? '',
});

/** Returns undefined if the file does not exist or is not valid. */
const readServerFile = (directory: string) => {
  try {
    return shape.safeParse(JSON.parse(readFileSync(fileIn(directory), 'utf8'))).data;
  } catch {
    return undefined;
  }
};

export const writeServerFile = (directory: string, server: RunningServer): void => {
  const text = JSON.stringify({ ...server, ...locationOf(directory) });
  writeFileSync(fileIn(directory), `${text}\n`, { mode: 0o600 });
};

/** Removes the file of this process, and leaves that of a server that started after it. */
export const removeServerFile = (directory: string): void => {
  if (readServerFile(directory)?.pid === process.pid) rmSync(fileIn(directory));
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
};

/** Whether the instance answers at the URL. The request carries nothing secret. */
const isAnswering = async ({ url, instance }: RunningServer): Promise<boolean> => {
  try {
    const answer = await fetch(`${url}/livez`, { signal: AbortSignal.timeout(LIVEZ_MS_MAX) });
    return live.safeParse(await answer.json()).data?.instance === instance;
  } catch {
    return false;
  }
};

/**
 * Finds the process that runs on this directory. A file that was copied with another directory, or that a
 * crash left, names none: its process number and its port may belong to other programs by now.
 */
export const findProcess = async (directory: string): Promise<RunningServer | undefined> => {
  const server = readServerFile(directory);
  if (!server || !isAlive(server.pid)) return undefined;
  const location = locationOf(directory);
  if (server.directory !== location.directory || server.inode !== location.inode) return undefined;
  return (await isAnswering(server)) ? server : undefined;
};

/** Finds the server that accepts commands: a dispatcher has no desk. */
export const findServer = async (directory: string): Promise<RunningServer | undefined> => {
  const server = await findProcess(directory);
  return server?.role === undefined ? server : undefined;
};
