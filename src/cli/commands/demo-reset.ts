import type { Command } from 'commander';
import { lockDirectory } from '#src/adapters/sqlite/lock.ts';
import { isThere, removeOwn } from '#src/adapters/system/directory.ts';
import { demoFactsIn } from '#src/demo/facts.ts';
import { type Common, configOf, leaf } from '../command.ts';
import { EXIT, Failure } from '../terminal/exit.ts';
import { finish } from '../terminal/output.ts';

const reset = (options: Common): void => {
  const { dataDirectory: directory } = configOf(options);
  const report = { data: directory };
  if (!isThere(directory)) {
    finish(options, { ...report, removed: false }, `There is nothing at ${directory}.`);
    return;
  }
  if (!demoFactsIn(directory))
    throw new Failure(
      EXIT.refused,
      `${directory} holds no demo (demo.json), and what it holds may be missed. Remove it yourself ` +
        'if that is what you want.',
    );
  // Held until all is gone: a server that starts meanwhile is kept out.
  const lock = lockDirectory(directory, 0);
  try {
    const { isGone } = removeOwn(directory);
    const text = isGone
      ? `${directory} is removed.`
      : `The demo in ${directory} is removed; what is not of it stays.`;
    finish(options, { ...report, removed: true }, text);
  } finally {
    lock.release();
  }
};

export const demoResetCommand = (program: Command): void => {
  leaf(program, 'demo-reset', 'remove the data directory of a demo that no server runs on').action(
    reset,
  );
};
