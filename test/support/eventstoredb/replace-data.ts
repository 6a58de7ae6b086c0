/** Puts other data behind the address of a log server. */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { NO_STREAM } from '#src/ports/event-log.ts';
import { several } from '../../conformance/log-events.ts';
import { type LogServer, logServer } from './log-server.ts';
import { patientLog } from './eventstoredb-logs.ts';

const dataOf = ({ data }: LogServer): string => {
  if (data === undefined) throw new Error('the server has no data outside its process');
  return data;
};

/** Copies the data of a server, which is killed for that, to `directory`; returns the path of the copy. */
export const backUp = async (server: LogServer, directory: string): Promise<string> => {
  const copy = join(directory, 'backup');
  await server.kill();
  cpSync(dataOf(server), copy, { recursive: true });
  await server.restart();
  return copy;
};

/** Kills the server, stores its data at `keep`, and starts it with the data of the copy, or with none. */
export const replaceData = async (
  server: LogServer,
  copy?: string,
  keep?: string,
): Promise<void> => {
  await server.kill();
  if (keep !== undefined) cpSync(dataOf(server), keep, { recursive: true });
  rmSync(dataOf(server), { recursive: true, force: true });
  if (copy !== undefined) cpSync(copy, dataOf(server), { recursive: true });
  await server.restart();
};

/** Writes the log of another installation with `events` pairs of events; returns the path of its data. */
export const writeOtherLog = async (directory: string, events: number): Promise<string> => {
  const server = await logServer();
  const log = await patientLog({ url: server.url });
  for (let n = 0; n < events; n += 1) await log.append(`bo-lead_${n}`, NO_STREAM, several(2));
  await log.close();
  const copy = await backUp(server, directory);
  await server.kill();
  return copy;
};
