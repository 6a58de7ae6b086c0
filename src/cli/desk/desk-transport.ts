/** What both ways to the desk have in common: over HTTP, and in this process. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DeskOperationId } from '#contracts/desk/index.ts';
import { EXIT, Failure } from '../terminal/exit.ts';

export type Transport = {
  /** `key` is what the command is repeated with: each of several writes has a key of its own. */
  send(id: DeskOperationId, input: Record<string, unknown>, key?: string): Promise<unknown>;
  close(): Promise<void>;
};

export const tokenIn = (directory: string): string => {
  const file = join(directory, 'desk.token');
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    const text = `${file} cannot be read: it is made when the service starts on this directory.`;
    throw new Failure(EXIT.cannotStart, text);
  }
};
