/** Output of commands: results go to stdout, progress and diagnostics to stderr. */
import { styleText } from 'node:util';

/** Exit statuses. `--help` prints them, and scripts depend on them. */
export const EXIT = {
  ok: 0,
  refused: 1,
  usage: 2,
  cannotStart: 3,
  differs: 4,
  unknown: 5,
} as const;

export const EXIT_HELP = `
Exit status:
  0  Success
  1  Refused; stderr says why
  2  The command line is not valid
  3  Cannot start: settings, data directory or port. For status: no server is running
  4  A check or a verification found a difference or a fault
  5  No answer: the connection failed, and a write may or may not have been done
`;

/** Ends the command with a text for people and, with --json, an object for scripts. */
export class CommandError extends Error {
  /** Scripts read it as `code` where the report has none. */
  override readonly name = 'Failure';
  readonly exit: number;
  readonly report: object | undefined;

  constructor(exit: number, message: string, report?: object) {
    super(message);
    this.exit = exit;
    this.report = report;
  }
}

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow';

export const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

export const printNotice = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

/** Colours text where the stream is a terminal with colours and NO_COLOR is not set. */
export const style = (
  format: Style,
  text: string,
  stream: NodeJS.WriteStream = process.stdout,
): string => styleText(format, text, { stream });

/** Prints the result: one JSON object with --json, otherwise the text. */
export const printResult = (options: { json?: boolean }, value: object, text: string): void =>
  print(options.json ? JSON.stringify(value) : text);

export const formatTable = (rows: readonly (readonly string[])[]): string => {
  const widths: number[] = [];
  for (const row of rows)
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  const lineOf = (row: readonly string[]): string =>
    row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ');
  return rows.map((row) => lineOf(row).trimEnd()).join('\n');
};

export const formatCount = (value: number): string => value.toLocaleString('en-GB');

/** Formats `1 event`, `2 events`. */
export const formatPlural = (value: number, singular: string): string =>
  `${formatCount(value)} ${singular}${value === 1 ? '' : 's'}`;

/** Exits when stdout cannot be written: without an error if its reader has closed it, as `| head` does. */
export const exitOnClosedOutput = (): void => {
  process.stdout.on('error', (error: Error & { code?: string }) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok);
    printNotice(`tributary: the output cannot be written: ${error.message}`);
    process.exit(EXIT.refused);
  });
};
