/** The event log that processes of a test share: the stand-in, or a real server where there is one. */
import { join } from 'node:path';
import { directories } from '../processes/directories.ts';
import { COMMAND, endRealServers, realServer } from './eventstoredb-command.ts';
import { endStandIns, standIn } from './start.ts';

/** What any server is to a test: a process that can go, hang and come back. */
export type LogServer = {
  readonly url: string;
  readonly port: number;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGSTOP and SIGCONT, for a link that is open at one end only. */
  freeze(): void;
  thaw(): void;
  /** Again on the same port, over what it has stored, once it answers. */
  restart(): Promise<void>;
};

const temporary = directories('tributary-log-');

/** An empty one, which keeps what is committed over a kill. */
export const logServer = (): Promise<LogServer> =>
  COMMAND
    ? realServer(COMMAND, temporary.fresh())
    : standIn({ file: join(temporary.fresh(), 'log.jsonl') });

/** For afterAll. */
export const endLogServers = async (): Promise<void> => {
  await Promise.all([endStandIns(), endRealServers()]);
  temporary.removeAll();
};
