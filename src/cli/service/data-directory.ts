/** Looks into a data directory for commands that must not create one. */
import { join } from 'node:path';
import { isThere } from '#src/system/directory.ts';
import { type Config, isRemoteLog } from '#src/config.ts';
import { CommandError, EXIT } from '../terminal/output.ts';

/** Whether there is a log; a log on a server always exists. Throws the error of the file system if it cannot be determined. */
export const hasLog = (config: Config): boolean =>
  isRemoteLog(config) || isThere(join(config.dataDirectory, 'log.db'));

export const noDataError = ({ dataDirectory }: Config): CommandError =>
  new CommandError(EXIT.cannotStart, `${dataDirectory} holds no Tributary data`);
