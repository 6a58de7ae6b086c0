/** What lies in a data directory, for commands that must make none. */
import { join } from 'node:path';
import { isThere } from '#src/adapters/system/directory.ts';
import { type Config, isRemoteLog } from '#src/config.ts';
import { EXIT, Failure } from '../terminal/exit.ts';

/** Whether there is a log to look into: a server has one always. Throws Failure when nobody can tell. */
export const hasLog = (config: Config): boolean => {
  const { dataDirectory: directory } = config;
  try {
    return isRemoteLog(config) || isThere(join(directory, 'log.db'));
  } catch (error) {
    const { message } = error as Error;
    throw new Failure(
      EXIT.cannotStart,
      `${directory} cannot be read: ${message}. Run this as the user whose service it is.`,
    );
  }
};

export const noData = ({ dataDirectory }: Config): Failure =>
  new Failure(EXIT.cannotStart, `${dataDirectory} holds no Tributary data`);
