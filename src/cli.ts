/** The command line: `tributary --help` lists the commands. */
import { runCommand } from '#src/cli/program.ts';
import { EXIT, exitOnClosedOutput } from '#src/cli/terminal.ts';

const EXIT_GRACE_MS = 100;

exitOnClosedOutput();
process.exitCode = await runCommand(process.argv.slice(2));
// A client of an unreachable server can hold handles that keep the process alive.
if (process.exitCode !== EXIT.ok) setTimeout(() => process.exit(), EXIT_GRACE_MS).unref();
