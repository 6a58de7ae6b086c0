/** How a command reaches the desk: over HTTP, or in this process. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import type { DeskOperationId, DeskOperations } from '#contracts/registries/desk.ts';
import type { Config } from '#src/config.ts';
import type { RunningServer } from './service.ts';
import { CommandError, EXIT } from './terminal.ts';

export type Transport = {
  /** Calls an operation. `key` repeats the whole command, whose writes have a key of their own each. */
  send(id: DeskOperationId, input: Record<string, unknown>, key?: string): Promise<unknown>;
  close(): Promise<void>;
};

const tokenFile = (directory: string): string => join(directory, 'desk.token');

/** Reads the desk token of the command line; undefined if there is none. */
export const storedToken = (directory: string): string | undefined => {
  try {
    return readFileSync(tokenFile(directory), 'utf8').trim();
  } catch {
    return undefined;
  }
};

/** Reads the desk token of the command line. Throws CommandError if there is none. */
export const tokenIn = (directory: string): string => {
  const token = storedToken(directory);
  if (token !== undefined) return token;
  const text = `${tokenFile(directory)} cannot be read. The service writes it when it starts on this directory.`;
  throw new CommandError(EXIT.cannotStart, text);
};

/** The desk token of commands: that of the environment, otherwise that of the data directory. Throws CommandError. */
export const commandToken = ({
  deskToken,
  dataDirectory,
}: Pick<Config, 'deskToken' | 'dataDirectory'>): string => deskToken ?? tokenIn(dataDirectory);

/** Input of an operation without its idempotency key, which the client adds. */
export type DeskRequest<Id extends DeskOperationId> = Omit<
  z.input<DeskOperations[Id]['input']>,
  'idempotency_key'
>;

export type DeskAnswer<Id extends DeskOperationId> = z.output<DeskOperations[Id]['output']>;

export type Desk = {
  call<Id extends DeskOperationId>(id: Id, request: DeskRequest<Id>): Promise<DeskAnswer<Id>>;
  /** Undefined if this process itself holds the data directory. */
  server: Pick<RunningServer, 'url'> | undefined;
};
