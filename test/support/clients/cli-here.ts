/** Runs the command line in the process of the test: a process for each command costs half a second. */
import { expect, vi } from 'vitest';
import { program, runCommand } from '#src/cli/program.ts';
import { type Ended, lastLine } from './cli.ts';

/** Runs `act`; returns what it resolves to and what it wrote. */
const capture = async <T>(act: () => Promise<T>) => {
  const output = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      output[name] += String(text);
      return true;
    }),
  );
  try {
    return { result: await act(), ...output };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
};

let last: Promise<unknown> = Promise.resolve();

/** Commands of one process share its output, so one begins when the one before it has ended. */
const captured = <T>(act: () => Promise<T>): ReturnType<typeof capture<T>> => {
  const next = last.then(() => capture(act));
  last = next.catch(() => {});
  return next;
};

/** Runs a command as `run` does. */
export const runHere = async (...words: string[]): Promise<Ended> => {
  const { result: code, ...output } = await captured(() => runCommand(words));
  return { code, ...output };
};

/** Runs a command as `json` does. */
export const jsonHere = async <T = Record<string, unknown>>(...words: string[]): Promise<T> => {
  const { code, stdout, stderr } = await runHere(...words, '--json');
  expect(code, stderr).toBe(0);
  return lastLine(stdout) as T;
};

/** Runs a command; returns its stdout. Throws what ends it with another status than 0. */
export const stdoutHere = async (words: readonly string[]): Promise<string> =>
  (await captured(() => program().parseAsync(words, { from: 'user' }))).stdout;
