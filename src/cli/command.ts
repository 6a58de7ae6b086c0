import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { type Config, readConfig } from '#src/config.ts';

/** What every command takes. */
export type Common = { data?: string; json?: boolean; idempotencyKey?: string };

/** A script's variable that is not set must not become the directory that it runs in. */
const named = (text: string): string => {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError('It must name a directory; the one you are in is a dot.');
};

/** A command with the options that all have. */
export const leaf = (parent: Command, usage: string, about: string): Command =>
  parent
    .command(usage)
    .description(about)
    .option('--data <dir>', 'data directory (default: DATA_DIR, or ./data)', named)
    .option('--json', 'one JSON object as the last line on stdout');

/** A command that changes something: repeated with the same key it is done once. */
export const write = (parent: Command, usage: string, about: string): Command =>
  leaf(parent, usage, about).option(
    '--idempotency-key <key>',
    'the same on every repetition (default: a fresh one)',
  );

/** Settings of the environment, with the flags over them. */
export const configOf = (options: Common): Config => {
  const config = readConfig();
  return { ...config, dataDirectory: resolve(options.data ?? config.dataDirectory) };
};

export const whole =
  (min: number, max: number) =>
  (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };

export const names = (text: string): string[] => {
  const found = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (found.length > 0) return found;
  throw new InvalidArgumentError('Name at least one, separated by commas.');
};
