/** How commands write to a terminal: results, progress, help. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { styleText } from 'node:util';
import { type Argument, type Command, Help, type HelpConfiguration } from 'commander';
import { systemClock } from '#src/system/ids.ts';

/** Exit statuses. `--help` prints them, and scripts depend on them. */
export const EXIT = {
  ok: 0,
  refused: 1,
  usage: 2,
  cannotStart: 3,
  differs: 4,
  unknown: 5,
  interrupted: 130,
} as const;

export const EXIT_HELP = `
Exit status:
  0  Success
  1  Refused; stderr says why
  2  The command line is not valid
  3  Cannot start: settings, data directory or port. For status: no server is running
  4  A check or a verification found a difference or a fault, or an import rejected lines
  5  No answer: the connection failed, and a write may or may not have been done
  130  Interrupted with Ctrl-C
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

/** Whether a person can be asked: the command was typed on a terminal, and its output is not read by a program. */
export const canAsk = ({ json = false }: { json?: boolean }): boolean =>
  process.stdin.isTTY && !json;

/** Asks on stderr, and resolves to the line that the person types, without spaces around it. */
export const ask = async (question: string): Promise<string> => {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const reply = await terminal.question(question);
  terminal.close();
  return reply.trim();
};

export const isYes = (reply: string): boolean => /^y(es)?$/i.test(reply);

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow';

/** Writes to stdout, which holds only results: progress and diagnostics go to stderr. */
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

const LINE_EVERY_MS = 2_000;
const REDRAW_EVERY_MS = 100;
const POLL_EVERY_MS = 50;
const COLUMNS = 80;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** Moves to the beginning of the line and erases it. */
const ERASE_LINE = '\r\u001b[K';

/** Progress on stderr: one line that changes on a terminal, otherwise a line every two seconds. */
export type Progress = {
  /** Shows how much is done. The total may become known later. */
  update(done: number, total?: number): void;
  stop(): void;
};

type ProgressOptions = {
  label: string;
  total: number;
  unit: string;
  /** Says how much is done when a signal interrupts the command; default: `done of total unit`. */
  describeDone?(): string;
};

const redraw = (line: string): void => {
  // 0 on a terminal that does not tell.
  const columns = process.stderr.columns || COLUMNS;
  process.stderr.write(ERASE_LINE + line.slice(0, columns - 1));
};

/** Shows progress until `stop`. A signal still ends the process, after the progress so far is printed. */
export const startProgress = ({
  label,
  unit,
  describeDone,
  ...options
}: ProgressOptions): Progress => {
  const { isTTY } = process.stderr;
  const { monotonic } = systemClock();
  const [show, everyMs] = isTTY ? [redraw, REDRAW_EVERY_MS] : [printNotice, LINE_EVERY_MS];
  let shownAt = isTTY ? -Infinity : monotonic();
  let [done, total] = [0, options.total];
  const stop = (): void => {
    for (const signal of SIGNALS) process.off(signal, interrupt);
    if (isTTY) process.stderr.write(ERASE_LINE);
  };
  const interrupt = (signal: NodeJS.Signals): void => {
    stop();
    const soFar = describeDone?.() ?? `${formatCount(done)} of ${formatCount(total)} ${unit} done`;
    printNotice(`interrupted: ${label.trim()}, ${soFar}. Run the same command again to continue.`);
    process.kill(process.pid, signal);
  };
  for (const signal of SIGNALS) process.once(signal, interrupt);
  return {
    update(nowDone, nowTotal = total) {
      [done, total] = [nowDone, nowTotal];
      if (monotonic() - shownAt < everyMs) return;
      shownAt = monotonic();
      const percent = total > 0 ? Math.floor((100 * done) / total) : 100;
      show(`${label}  ${percent} %  ${formatCount(done)}/${formatCount(total)} ${unit}`);
    },
    stop,
  };
};

/** Several lines on stderr that change on a terminal; otherwise those that changed are printed every two seconds. */
export const startLines = (): { update(lines: readonly string[]): void; stop(): void } => {
  const { isTTY } = process.stderr;
  const { monotonic } = systemClock();
  const everyMs = isTTY ? REDRAW_EVERY_MS : LINE_EVERY_MS;
  let shownAt = isTTY ? -Infinity : monotonic();
  let shown = 0;
  let printed: readonly string[] = [];
  const erase = (): void => {
    if (shown > 0) process.stderr.write(`\u001b[${shown}F\u001b[J`);
    shown = 0;
  };
  return {
    update(lines) {
      if (monotonic() - shownAt < everyMs) return;
      shownAt = monotonic();
      if (!isTTY) {
        for (const line of lines) if (!printed.includes(line)) printNotice(line);
        printed = lines;
        return;
      }
      erase();
      const columns = process.stderr.columns || COLUMNS;
      process.stderr.write(lines.map((line) => `${line.slice(0, columns - 1)}\n`).join(''));
      shown = lines.length;
    },
    stop: erase,
  };
};

/** Runs work whose signal aborts at the first SIGINT or SIGTERM; a second one ends the process. */
export const untilInterrupted = async <Result>(
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  const interrupting = new AbortController();
  const interrupt = (): void => interrupting.abort();
  for (const signal of SIGNALS) process.once(signal, interrupt);
  try {
    return await work(interrupting.signal);
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
};

const MINUTE_S = 60;
const HOUR_S = 3_600;

/** Formats `40 s`, `3 min` or `2 h 5 min`. */
export const formatDuration = (seconds: number): string => {
  const whole = Math.ceil(seconds);
  if (whole < 2 * MINUTE_S) return `${whole} s`;
  const minutes = Math.ceil(whole / MINUTE_S);
  if (whole < HOUR_S) return `${minutes} min`;
  return `${Math.floor(minutes / MINUTE_S)} h ${minutes % MINUTE_S} min`;
};

export const askUntilDone = async <
  Answer extends { done: boolean; position: number; head: number },
>(
  about: Pick<ProgressOptions, 'label' | 'unit'>,
  ask: () => Promise<Answer>,
): Promise<Answer> => {
  let answer = await ask();
  const bar = startProgress({ ...about, total: answer.head });
  try {
    while (!answer.done) {
      await pause(POLL_EVERY_MS);
      answer = await ask();
      bar.update(answer.position, answer.head);
    }
    return answer;
  } finally {
    bar.stop();
  }
};

const FOLLOW_EVERY_MS = 500;

/** Calls `poll` twice a second until SIGINT or SIGTERM, after which the command ends as one that succeeded. */
export const followUntilInterrupted = async (poll: () => Promise<void>): Promise<void> => {
  const stopping = new AbortController();
  const { signal } = stopping;
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
  while (!signal.aborted) {
    await poll();
    await pause(FOLLOW_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
};

const { prototype: standard } = Help;

const WIDTH_DEFAULT = 80;

export const wrap = (text: string): string =>
  standard.boxWrap.call(new Help(), text, process.stdout.columns ?? WIDTH_DEFAULT);

const formatArgument = (argument: Argument): string => {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
};

const requiredFlagsOf = ({ options }: Command): string[] =>
  options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags.replace(/^-\w, /, ''));

export const HELP: HelpConfiguration = {
  commandUsage(command) {
    const usage = standard.commandUsage.call(this, command);
    return usage.replace(' [options]', ['', ...requiredFlagsOf(command), '[options]'].join(' '));
  },
  optionDescription(option) {
    const text = standard.optionDescription.call(this, option);
    return option.mandatory ? `${text} (required)` : text;
  },
  argumentTerm: formatArgument,
  subcommandTerm: (command) =>
    [command.name(), ...command.registeredArguments.map(formatArgument)].join(' '),
  /** Leaves out the help command that each group has. */
  visibleCommands(command) {
    const commands = standard.visibleCommands.call(this, command);
    return command.parent ? commands.filter((one) => one.name() !== 'help') : commands;
  },
};

/** Adds `help catalog import`, which prints the same as `catalog import --help`. */
export const addHelpCommand = (program: Command): void => {
  program
    .command('help [command...]')
    .description('Show the help of a command')
    .helpGroup('Service:')
    .action((words: string[]) => {
      let command = program;
      for (const word of words)
        command =
          command.commands.find((one) => one.name() === word || one.aliases().includes(word)) ??
          program.error(`error: unknown command '${words.join(' ')}'`);
      command.help();
    });
};

const file = join(import.meta.dirname, '../../package.json');

export const VERSION = (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
