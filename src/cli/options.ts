/** Flags that every command has, and parsers of flags. */
import { relative, resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Config, readConfig } from '#src/config.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#src/shared/time.ts';

export type CommonOptions = {
  data?: string;
  /** The address of a service, or the name of a login at one, in place of a data directory. */
  url?: string;
  context?: string;
  json?: boolean;
  idempotencyKey?: string;
  /** An exported file that answers in place of the desk. */
  file?: string;
};

/** Refuses an empty name: an unset variable of a script must not select the current directory. */
const parseDirectory = (text: string): string => {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError('It must name a directory; a dot names the current one.');
};

export const jsonOption = (): Option =>
  new Option('--json', 'Print one JSON object as the last line on stdout');

/** The flag by which a repeated write is done once. */
export const keyOption = (): Option =>
  new Option(
    '--idempotency-key <key>',
    'Key of this change; the same on every repetition (default: a random one)',
  );

const addData = (command: Command): Command =>
  command
    .option('--data <dir>', 'Data directory (default: DATA_DIR, otherwise ./data)', parseDirectory)
    .addOption(jsonOption());

export const contextOption = (): Option =>
  new Option('--context <name>', 'Login to act with: context list shows them');
export const urlOption = (): Option =>
  new Option('--url <url>', 'Service to act on, with your login there, or with DESK_TOKEN');

/** The flags of a command that calls the desk, wherever that is. */
export const addCommonOptions = (command: Command): Command =>
  addData(command).addOption(urlOption()).addOption(contextOption());

/** The flags of a command that reads files of this machine: it cannot act on a service elsewhere, and says so. */
export const addMachineOptions = (command: Command): Command => {
  const refuse = (): never => {
    throw new InvalidArgumentError(
      'This command reads files of the service: run it on the machine of the service, with --data DIR.',
    );
  };
  return addData(command)
    .addOption(urlOption().argParser(refuse).hideHelp())
    .addOption(contextOption().argParser(refuse).hideHelp());
};

/** Reads the settings of the environment; flags override them. */
export const configFor = (options: CommonOptions): Config => {
  const config = readConfig();
  return { ...config, dataDirectory: resolve(options.data ?? config.dataDirectory) };
};

/** Quotes a word of a command for a shell where that is needed. */
const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** Makes a command line that acts on this data directory when it is pasted here. */
export const commandLine = (words: string, directory: string): string => {
  const path = relative(process.cwd(), directory) || '.';
  const name = path.startsWith('..') ? directory : path;
  return `./tributary ${words}${name === 'data' ? '' : ` --data ${shellWord(name)}`}`;
};

/** Makes a command line that needs no data directory. */
export const anywhere = (words: string): string => `./tributary ${words}`;

/** How somebody signs in at a service. */
export const LOGIN = anywhere('login URL');

/** Makes a command line for the service or the data directory of the command that prints it. */
export const commandFor = (words: string, options: CommonOptions): string => {
  const { url, context } = options;
  if (context !== undefined) return anywhere(`${words} --context ${shellWord(context)}`);
  if (url !== undefined) return anywhere(`${words} --url ${shellWord(url)}`);
  return commandLine(words, configFor(options).dataDirectory);
};

/** Makes a parser of whole numbers from `min` to `max`, both included. */
export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };

const UNITS = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

/** Parses `30m`, `24h` or `7d`, and returns milliseconds. */
export const interval = (text: string): number => {
  const [, count, unit] = /^([1-9]\d{0,3})([mhd])$/.exec(text) ?? [];
  if (unit !== undefined) return Number(count) * UNITS[unit as keyof typeof UNITS];
  throw new InvalidArgumentError('It must be a number of minutes, hours or days, like 24h.');
};

/** Parses `a, b,c`. */
export const parseList = (text: string): string[] => {
  const items = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  if (items.length > 0) return items;
  throw new InvalidArgumentError('Give at least one, separated by commas.');
};
