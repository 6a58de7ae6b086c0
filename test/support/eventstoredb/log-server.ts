/** The event log that the processes of a test share: a real server if one is configured, or the stand-in. */
import { join } from 'node:path';
import { env } from 'node:process';
import { directories } from '../processes/directories.ts';
import { COMMAND, endRealServers, realServer } from './eventstoredb-command.ts';
import { endStandIns, standIn } from './start.ts';

/** A server process that a test can kill, freeze and restart. */
export type LogServer = {
  readonly url: string;
  readonly port: number;
  /** Its file or directory, which a test may replace while the server does not run. Undefined: in memory. */
  readonly data: string | undefined;
  /** Sends SIGKILL; resolves when the process has ended. */
  kill(): Promise<void>;
  /** SIGSTOP and SIGCONT, for connections that are half open. */
  freeze(): void;
  thaw(): void;
  /**
   * Holds back what the subscriptions of a connection receive, until they are released: it is the
   * `connectionName` in a URL, and without one all are held. Undefined on a real server, which has no such means.
   */
  readonly delivery: Record<'hold' | 'release', (connection?: string) => Promise<void>> | undefined;
  /** Starts it on the same port and data; resolves when it answers. */
  restart(): Promise<void>;
};

const temporary = directories('tributary-log-');

/** How late the stand-in delivers where several processes share it: as a server under load does. */
export const PACE = env['STAND_IN_PACE'] ?? 'loaded';

/** Starts an empty server whose committed events survive a kill. */
export const logServer = (): Promise<LogServer> =>
  COMMAND
    ? realServer(COMMAND, temporary.fresh())
    : standIn({ file: join(temporary.fresh(), 'log.jsonl'), pace: PACE });

/** For afterAll. */
export const endLogServers = async (): Promise<void> => {
  await Promise.all([endStandIns(), endRealServers()]);
  temporary.removeAll();
};
