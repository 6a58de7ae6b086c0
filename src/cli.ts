/** The command line: `tributary --help` lists the commands. */
import { CommanderError } from 'commander';
import { program } from './cli/program.ts';
import { CommandError, EXIT } from './cli/terminal/exit.ts';
import { exitOnClosedOutput, print, printNotice, style } from './cli/terminal/output.ts';
import { ConfigError } from './config.ts';
import { LogCorrupted } from './ports/event-log.ts';
import { StartupError } from './ports/startup-error.ts';

const EXIT_GRACE_MS = 100;

/** Returns the exit status of an error; throws a bug again. */
const exitStatusOf = (error: unknown): number => {
  if (error instanceof CommandError) return error.exit;
  if (error instanceof StartupError || error instanceof ConfigError) return EXIT.cannotStart;
  if (error instanceof LogCorrupted) return EXIT.differs;
  throw error;
};

const main = async (argv: readonly string[]): Promise<number> => {
  try {
    await program().parseAsync(argv);
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const exit = exitStatusOf(error);
    const { message, name } = error as Error;
    printNotice(`${style('red', 'tributary:', process.stderr)} ${message}`);
    if (argv.includes('--json')) {
      const report = error instanceof CommandError ? error.report : undefined;
      print(JSON.stringify(report ?? { code: name, detail: message }));
    }
    return exit;
  }
};

exitOnClosedOutput();
process.exitCode = await main(process.argv);
// A client of an unreachable server can hold handles that keep the process alive.
if (process.exitCode !== EXIT.ok) setTimeout(() => process.exit(), EXIT_GRACE_MS).unref();
