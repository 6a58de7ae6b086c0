/** What people and scripts asked for goes to stdout; progress and diagnostics to stderr. */
import { styleText } from 'node:util';

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow';

export const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

export const note = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

/** Colour where the stream is a terminal that takes it; NO_COLOR is honoured. */
export const styled = (
  style: Style,
  text: string,
  stream: NodeJS.WriteStream = process.stdout,
): string => styleText(style, text, { stream });

/** One object for scripts, or what a person reads. */
export const finish = (options: { json?: boolean }, value: object, text: string): void =>
  say(options.json ? JSON.stringify(value) : text);

/** Columns as wide as their widest cell. */
export const table = (rows: readonly (readonly string[])[]): string => {
  const widths: number[] = [];
  for (const row of rows)
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};

export const count = (value: number): string => value.toLocaleString('en-GB');

export const plural = (value: number, one: string): string =>
  `${count(value)} ${one}${value === 1 ? '' : 's'}`;

/** A reader that has seen enough (`| head`) is no error. */
export const endQuietlyWithReader = (): void => {
  process.stdout.on('error', (error: Error & { code?: string }) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
};
