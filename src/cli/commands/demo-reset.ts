/** The command `demo reset`, which removes the data directory of a demo. */
import { lockDirectory } from '#src/stores/sqlite/lock.ts';
import { isThere, removeOwn } from '#src/system/directory.ts';
import { demoFactsIn } from '#src/demo/facts.ts';
import { type CommonOptions, configFor } from '../options.ts';
import { CommandError, EXIT, printResult } from '#src/cli/terminal.ts';

export const resetDemo = (options: CommonOptions): void => {
  const { dataDirectory: data } = configFor(options);
  if (!isThere(data)) {
    printResult(options, { data, removed: false }, `There is nothing at ${data}.`);
    return;
  }
  if (!demoFactsIn(data))
    throw new CommandError(
      EXIT.refused,
      `${data} has no demo.json, so its data may not be a demo. Remove the directory yourself if you ` +
        'do not need it.',
    );
  // Held until everything is removed, so that no server starts meanwhile.
  const lock = lockDirectory(data, 0);
  try {
    const { isGone } = removeOwn(data);
    const text = isGone
      ? `Removed ${data}.`
      : `Removed the demo in ${data}; other files there were left.`;
    printResult(options, { data, removed: true }, text);
  } finally {
    lock.release();
  }
};
