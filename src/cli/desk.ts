/** The desk for commands: over HTTP if a server runs on the data directory, otherwise in this process. */
import { setTimeout as pause } from 'node:timers/promises';
import type { DeskOperation } from '#contracts/operation.ts';
import { DESK_BASE, IDEMPOTENCY_HEADER, pathOf, placeOf } from '#contracts/places.ts';
import { type DeskOperationId, deskOperations } from '#contracts/registries/desk.ts';
import type { Config } from '#src/config.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { present } from '#src/shared/present.ts';
import { systemIds } from '#src/system/ids.ts';
import { type CommonOptions, configFor } from './options.ts';
import { problemError, type ProblemReport, repeatHint } from './problem-text.ts';
import { type RunningServer, findProcess, findServer } from './service.ts';
import { CommandError, EXIT, printNotice } from './terminal.ts';
import { commandToken, type Transport, type Desk } from './transport.ts';

const ANSWER_MS_MAX = 60_000;
/** A long import can send faster than one caller may; nothing was done then, so it waits as long as the desk says. */
const WAITS_MAX = 100;
const WAIT_S_MAX = 60;

/** Puts each field where it travels. */
const requestFor = (id: DeskOperationId, input: Record<string, unknown>, token: string) => {
  const operation = deskOperations[id];
  const { method } = operation.http;
  const fieldsIn = (place: string): [string, unknown][] =>
    Object.entries(input).filter(([field]) => placeOf(operation, field) === place);
  const query = new URLSearchParams(
    fieldsIn('query').map(([field, value]) => [field, String(value)]),
  );
  const headers = {
    authorization: `Bearer ${token}`,
    'user-agent': 'tributary-cli',
    // The server is on this machine, where compression takes longer than it saves.
    'accept-encoding': 'identity',
    ...Object.fromEntries(
      fieldsIn('header').map(([, value]) => [IDEMPOTENCY_HEADER, String(value)]),
    ),
    ...(method === 'POST' && { 'content-type': 'application/json' }),
  };
  const body = JSON.stringify(Object.fromEntries(fieldsIn('body')));
  return {
    path: `${DESK_BASE}${pathOf(operation, input)}${query.size > 0 ? `?${query.toString()}` : ''}`,
    init: { method, headers, ...(method === 'POST' && { body }) },
  };
};

const noAnswerError = (server: RunningServer, key: string | undefined, error: unknown) => {
  const { message, cause } = error as Error;
  const reason = cause instanceof Error && cause.message !== '' ? cause.message : message;
  const hint = key === undefined ? '' : ` ${repeatHint(key)}`;
  return new CommandError(EXIT.unknown, `${server.url} gave no answer: ${reason}.${hint}`, {
    code: 'no_answer',
    detail: reason,
    ...(key !== undefined && { idempotency_key: key }),
  });
};

/** Sends a request, and again after a 429 with a Retry-After of at most WAIT_S_MAX. */
const answered = async (url: string, init: RequestInit): Promise<Response> => {
  for (let waits = 0; ; waits += 1) {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    const seconds = Number(response.headers.get('retry-after') ?? Infinity);
    if (response.status !== 429 || waits === WAITS_MAX || seconds > WAIT_S_MAX) return response;
    await response.arrayBuffer();
    await pause(seconds * 1_000);
  }
};

/** Calls the desk of a running server over HTTP. */
const deskOverHttp = (
  server: RunningServer,
  config: Pick<Config, 'deskToken' | 'dataDirectory'>,
): Transport => ({
  async send(id, input, key) {
    const { path, init } = requestFor(id, input, commandToken(config));
    let status: number;
    let answer: unknown;
    try {
      const response = await answered(server.url + path, init);
      status = response.status;
      answer = await response.json();
    } catch (error) {
      throw noAnswerError(server, key, error);
    }
    if (status < 400) return answer;
    throw problemError(answer as ProblemReport, { operation: id, key });
  },
  close: async () => undefined,
});

type Connection = { transport: Transport; server: RunningServer | undefined };

const KEY_CHARS = 22;

const connect = async (config: Config, file: string | undefined): Promise<Connection> => {
  if (file !== undefined) {
    const { deskOfFile } = await import('./desk-of-file.ts');
    return { transport: await deskOfFile(file), server: undefined };
  }
  const { dataDirectory } = config;
  const server = await findServer(dataDirectory);
  if (server) return { transport: deskOverHttp(server, config), server };
  try {
    // Loaded here, because a command beside a running server does not need the service.
    const { deskInProcess } = await import('./desk-in-process.ts');
    return { transport: await deskInProcess(config), server: undefined };
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    // A server that was starting holds the directory, and may have written its file by now.
    const started = await findProcess(dataDirectory);
    if (!started) throw error;
    if (started.role) throw noDeskError(started, dataDirectory);
    return { transport: deskOverHttp(started, config), server: started };
  }
};

const noDeskError = ({ role, pid }: RunningServer, directory: string): CommandError =>
  new CommandError(
    EXIT.cannotStart,
    `a ${role} (process ${pid}) runs on ${directory}, and accepts no commands. Use another data ` +
      'directory with the same settings: --data DIR',
  );

/**
 * Makes the idempotency keys of a command: the nth write of a kind has the same key whenever the command
 * is repeated with the same key.
 */
const keysFrom = (commandKey: string) => {
  const counts = new Map<DeskOperationId, number>();
  return (id: DeskOperationId): string => {
    const count = (counts.get(id) ?? 0) + 1;
    counts.set(id, count);
    return count === 1 ? commandKey : `${commandKey}:${count}`;
  };
};

/** Whether events or audit records name who performed the operation. A process that reads its own files needs no token. */
const isRecorded = (id: DeskOperationId, server: RunningServer | undefined): boolean => {
  const operation: DeskOperation = deskOperations[id];
  const { kind, readsPersonalData = false, auditsInput = false } = operation;
  return kind === 'command' || (server !== undefined && (readsPersonalData || auditsInput));
};

let isMachineNoted = false;
/** Says once that a command acts with the token of the data directory, which belongs to no person. */
const noteMachine = (): void => {
  if (!isMachineNoted) printNotice('Acting as the machine. Set DESK_TOKEN to act as a person.');
  isMachineNoted = true;
};

export const withDesk = async <T>(
  options: CommonOptions,
  act: (desk: Desk) => Promise<T>,
): Promise<T> => {
  const config = configFor(options);
  const { transport, server } = await connect(config, options.file);
  const isMachine = config.deskToken === undefined && options.file === undefined;
  const commandKey = options.idempotencyKey ?? systemIds().base62(KEY_CHARS);
  const keyFor = keysFrom(commandKey);
  const desk: Desk = {
    server,
    async call(id, request) {
      const input = present(request);
      if (isMachine && isRecorded(id, server)) noteMachine();
      const answer =
        deskOperations[id].kind === 'query'
          ? transport.send(id, input)
          : transport.send(id, { idempotency_key: keyFor(id), ...input }, commandKey);
      // The registry pairs each answer with its operation; TypeScript cannot follow a key across it.
      return (await answer) as never;
    },
  };
  try {
    return await act(desk);
  } finally {
    await transport.close();
  }
};
