/** How a command reaches the desk: over HTTP, or in this process. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DeskOperationId } from '#contracts/desk/index.ts';
import { CommandError, EXIT } from '../terminal/exit.ts';

export type Transport = {
  /** Calls an operation. `key` repeats the whole command, whose writes have a key of their own each. */
  send(id: DeskOperationId, input: Record<string, unknown>, key?: string): Promise<unknown>;
  close(): Promise<void>;
};

/** Reads the desk token of the command line. Throws CommandError if there is none. */
export const tokenIn = (directory: string): string => {
  const file = join(directory, 'desk.token');
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    const text = `${file} cannot be read. The service writes it when it starts on this directory.`;
    throw new CommandError(EXIT.cannotStart, text);
  }
};
