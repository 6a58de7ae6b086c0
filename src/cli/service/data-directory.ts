/** Looks into a data directory for commands that must not create one. */
import { join } from 'node:path';
import { isThere } from '#src/adapters/system/directory.ts';
import { type Config, isRemoteLog } from '#src/config.ts';
import { CommandError, EXIT } from '../terminal/exit.ts';

/** Whether there is a log; a log on a server always exists. Throws CommandError if it cannot be determined. */
export const hasLog = (config: Config): boolean => {
  const { dataDirectory: directory } = config;
  try {
    return isRemoteLog(config) || isThere(join(directory, 'log.db'));
  } catch (error) {
    const { message } = error as Error;
    throw new CommandError(
      EXIT.cannotStart,
      `${directory} cannot be read: ${message}. Run this as the user that runs the service.`,
    );
  }
};

export const noDataError = ({ dataDirectory }: Config): CommandError =>
  new CommandError(EXIT.cannotStart, `${dataDirectory} holds no Tributary data`);
