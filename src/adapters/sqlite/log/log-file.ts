/** What was unlinked or replaced at its path goes on for whoever has it open, and ends with them. */
import { statSync } from 'node:fs';

/** Names the file that stands at the path now; undefined when there is none. */
export const fileAt = (path: string): string | undefined => {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
};
