/** Runs one command, and makes of its error what the user reads and the exit status. */
import { CommanderError } from 'commander';
import { ConfigError } from '#src/config.ts';
import { LogCorrupted } from '#src/ports/event-log.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { program } from './program.ts';
import { CommandError, EXIT, print, printNotice, style } from './terminal.ts';

const OTHER_USER = 'Run this as the user that runs the service.';
const WRONG_KIND = 'Something else has the place of that file or directory: move it away.';
const NO_ROOM = 'Make room on the disk, and run the command again.';

/** What the user can do about an error of the file system. */
const FILE_HINTS: Readonly<Record<string, string>> = {
  EACCES: OTHER_USER,
  EPERM: OTHER_USER,
  EISDIR: WRONG_KIND,
  ENOTDIR: WRONG_KIND,
  ELOOP: WRONG_KIND,
  ENOSPC: NO_ROOM,
  EDQUOT: NO_ROOM,
};

/** Says the way forward after an error of the file system; returns any other error as it is. */
const withHint = (error: unknown): unknown => {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const hint = FILE_HINTS[code];
  return hint === undefined ? error : new StartupError(`${message}. ${hint}`);
};

/** Returns the exit status of an error; throws a bug again. */
const exitStatusOf = (error: unknown): number => {
  if (error instanceof CommandError) return error.exit;
  if (error instanceof StartupError || error instanceof ConfigError) return EXIT.cannotStart;
  if (error instanceof LogCorrupted) return EXIT.differs;
  throw error;
};

/** Runs the command of these words, and says on stderr why it failed. Returns its exit status; throws a bug. */
export const runCommand = async (words: readonly string[]): Promise<number> => {
  try {
    await program().parseAsync(words, { from: 'user' });
    return EXIT.ok;
  } catch (failure) {
    const error = withHint(failure);
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const exit = exitStatusOf(error);
    const { message, name } = error as Error;
    printNotice(`${style('red', 'tributary:', process.stderr)} ${message}`);
    if (words.includes('--json')) {
      const report = error instanceof CommandError ? error.report : undefined;
      print(JSON.stringify(report ?? { code: name, detail: message }));
    }
    return exit;
  }
};
