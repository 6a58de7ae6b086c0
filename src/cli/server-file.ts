/** Where the server of a data directory says that it runs, and how other commands find it. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const LOOK_MS = 2_000;

const shape = z.object({ url: z.string(), pid: z.int() });
export type RunningServer = z.infer<typeof shape>;

const fileIn = (directory: string): string => join(directory, 'server.json');

/** A JSON file of ours, or undefined when it is absent or not what it should be. */
export const readJson = <T>(file: string, schema: z.ZodType<T>): T | undefined => {
  try {
    return schema.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data;
  } catch {
    return undefined;
  }
};

export const writeServerFile = (directory: string, server: RunningServer): void =>
  writeFileSync(fileIn(directory), `${JSON.stringify(server)}\n`, { mode: 0o600 });

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

/** The server that runs on this directory. A file that a crash left behind is none. */
export const findServer = async (directory: string): Promise<RunningServer | undefined> => {
  const found = readJson(fileIn(directory), shape);
  if (!found || !isAlive(found.pid)) return undefined;
  try {
    await fetch(`${found.url}/livez`, { signal: AbortSignal.timeout(LOOK_MS) });
    return found;
  } catch {
    // Nobody listens: the process number belongs to another program by now.
    return undefined;
  }
};
