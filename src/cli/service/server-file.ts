/** Where the server of a data directory says that it runs, and how other commands find it. */
import { readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { fileAt } from '#src/adapters/sqlite/log/log-file.ts';

const LOOK_MS = 2_000;

const shape = z.object({
  url: z.string(),
  pid: z.int(),
  /** What its /livez answers. */
  instance: z.string(),
  /** Of a process that has no desk. */
  role: z.literal('dispatcher').optional(),
  /** The directory that it was written into: a copy takes the file along, and has no server. */
  directory: z.string(),
  inode: z.string(),
});
export type RunningServer = Pick<z.infer<typeof shape>, 'url' | 'pid' | 'instance' | 'role'>;

const live = z.object({ instance: z.string() });

const fileIn = (directory: string): string => join(directory, 'server.json');

const placeOf = (directory: string) => ({
  directory: realpathSync(directory),
  inode: fileAt(directory) ?? '',
});

/** A JSON file of ours, or undefined when it is absent or not what it should be. */
export const readJson = <T>(file: string, schema: z.ZodType<T>): T | undefined => {
  try {
    return schema.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data;
  } catch {
    return undefined;
  }
};

export const writeServerFile = (directory: string, server: RunningServer): void => {
  const text = JSON.stringify({ ...server, ...placeOf(directory) });
  writeFileSync(fileIn(directory), `${text}\n`, { mode: 0o600 });
};

/** Leaves the file of a server that came after. */
export const removeServerFile = (directory: string): void => {
  if (readJson(fileIn(directory), shape)?.pid === process.pid) rmSync(fileIn(directory));
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
};

/** Whether the server itself answers there. Nothing is sent that others might not know. */
const answers = async ({ url, instance }: RunningServer): Promise<boolean> => {
  try {
    const answer = await fetch(`${url}/livez`, { signal: AbortSignal.timeout(LOOK_MS) });
    return live.safeParse(await answer.json()).data?.instance === instance;
  } catch {
    return false;
  }
};

/**
 * The process that runs on this directory. None is a file that came with a copy of another directory,
 * or that a crash left behind: its process number and its port may belong to others by now.
 */
export const findProcess = async (directory: string): Promise<RunningServer | undefined> => {
  const found = readJson(fileIn(directory), shape);
  if (!found || !isAlive(found.pid)) return undefined;
  const here = placeOf(directory);
  if (found.directory !== here.directory || found.inode !== here.inode) return undefined;
  return (await answers(found)) ? found : undefined;
};

/** The one that commands go through: a dispatcher has no desk. */
export const findServer = async (directory: string): Promise<RunningServer | undefined> => {
  const found = await findProcess(directory);
  return found?.role === undefined ? found : undefined;
};
