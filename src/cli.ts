/** The command line: `tributary --help` lists it. */
import { CommanderError } from 'commander';
import { EXIT, Failure } from './cli/terminal/exit.ts';
import { endQuietlyWithReader, note, say, styled } from './cli/terminal/output.ts';
import { program } from './cli/program.ts';
import { ConfigError } from './config.ts';
import { LogCorrupted } from './ports/event-log.ts';
import { StartupError } from './ports/startup-error.ts';

const LINGER_MS = 100;

const exitFor = (error: unknown): number => {
  if (error instanceof Failure) return error.exit;
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
    const exit = exitFor(error);
    const { message } = error as Error;
    note(`${styled('red', 'tributary:', process.stderr)} ${message}`);
    if (argv.includes('--json')) {
      const report = error instanceof Failure ? error.report : undefined;
      say(JSON.stringify(report ?? { code: (error as Error).name, detail: message }));
    }
    return exit;
  }
};

endQuietlyWithReader();
process.exitCode = await main(process.argv);
// A client that has given its server up may keep the process from its end.
if (process.exitCode !== EXIT.ok) setTimeout(() => process.exit(), LINGER_MS).unref();
