/** The desk registry for commands: over HTTP where a server runs, in this process where none does. */
import type { z } from 'zod';
import type { DeskOperationId, DeskOperations } from '#contracts/desk/index.ts';
import { deskOperations } from '#contracts/desk/index.ts';
import { DESK_BASE, pathOf, placeOf } from '#contracts/places.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { systemClock } from '#src/adapters/system/clock.ts';
import { systemIds } from '#src/adapters/system/ids.ts';
import { present } from '#src/app/shared/present.ts';
import type { Config } from '#src/config.ts';
import { type Common, configOf } from '../command.ts';
import { tokenIn, type Transport } from './desk-transport.ts';
import { EXIT, Failure } from '../terminal/exit.ts';
import { refused, type Refused } from '../terminal/problem-text.ts';
import { findProcess, findServer, type RunningServer } from '../service/server-file.ts';

type Input<Id extends DeskOperationId> = z.input<DeskOperations[Id]['input']>;
/** The key of a write is made here, unless the caller has one. */
export type Asked<Id extends DeskOperationId> = Omit<Input<Id>, 'idempotency_key'>;
export type Answer<Id extends DeskOperationId> = z.output<DeskOperations[Id]['output']>;

export type Desk = {
  call<Id extends DeskOperationId>(id: Id, asked: Asked<Id>): Promise<Answer<Id>>;
  /** Undefined when this process itself holds the data directory. */
  server: RunningServer | undefined;
  close(): Promise<void>;
};

const ANSWER_MS = 60_000;
const KEY_CHARS = 22;

const requestOf = (id: DeskOperationId, input: Record<string, unknown>) => {
  const operation = deskOperations[id];
  const headers: Record<string, string> = {};
  const query = new URLSearchParams();
  const body: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(input)) {
    const place = placeOf(operation, field);
    if (place === 'header') headers['idempotency-key'] = String(value);
    else if (place === 'query') query.set(field, String(value));
    else if (place === 'body') body[field] = value;
  }
  const isWrite = operation.http.method === 'POST';
  if (isWrite) headers['content-type'] = 'application/json';
  return {
    path: DESK_BASE + pathOf(operation, input) + (query.size > 0 ? `?${query.toString()}` : ''),
    init: {
      method: operation.http.method,
      headers,
      ...(isWrite && { body: JSON.stringify(body) }),
    },
  };
};

const overHttp = (server: RunningServer, directory: string): Transport => ({
  async send(id, input, key) {
    const { path, init } = requestOf(id, input);
    const headers = {
      ...init.headers,
      authorization: `Bearer ${tokenIn(directory)}`,
      'user-agent': 'tributary-cli',
    };
    let status: number;
    let answer: unknown;
    try {
      const signal = AbortSignal.timeout(ANSWER_MS);
      const response = await fetch(server.url + path, { ...init, headers, signal });
      status = response.status;
      answer = await response.json();
    } catch (error) {
      throw noAnswer(server, key, error);
    }
    if (status < 400) return answer;
    throw refused(answer as Refused, key);
  },
  close: async () => undefined,
});

const noAnswer = (server: RunningServer, key: string | undefined, error: unknown): Failure => {
  const { message, cause } = error as Error;
  const reason = cause instanceof Error && cause.message !== '' ? cause.message : message;
  const again =
    key === undefined
      ? ''
      : ` It may or may not have been done: repeat it with --idempotency-key ${key}.`;
  return new Failure(EXIT.unknown, `${server.url} gave no answer: ${reason}.${again}`, {
    code: 'no_answer',
    detail: reason,
    ...(key !== undefined && { idempotency_key: key }),
  });
};

const connect = async (
  config: Config,
): Promise<{ transport: Transport; server: RunningServer | undefined }> => {
  const server = await findServer(config.dataDirectory);
  if (server) return { transport: overHttp(server, config.dataDirectory), server };
  try {
    // Loaded here: beside a running server nobody needs the whole service.
    const { inProcess } = await import('./desk-in-process.ts');
    return { transport: await inProcess(config), server: undefined };
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    // A server that was just starting holds the directory, and may say so by now.
    const late = await findProcess(config.dataDirectory);
    if (!late) throw error;
    if (late.role) throw noDesk(late, config);
    return { transport: overHttp(late, config.dataDirectory), server: late };
  }
};

const noDesk = ({ role, pid }: RunningServer, { dataDirectory }: Config): Failure =>
  new Failure(
    EXIT.cannotStart,
    `a ${role} (process ${pid}) runs on ${dataDirectory}, and takes no commands. Give this one a directory ` +
      'of its own, with the same settings: --data DIR',
  );

const openDesk = async (options: Common): Promise<Desk> => {
  const { transport, server } = await connect(configOf(options));
  const key = options.idempotencyKey ?? systemIds(systemClock().now).base62(KEY_CHARS);
  const sent = new Map<DeskOperationId, number>();
  /** Of the same command again, each write meets its own key again. */
  const keyed = (id: DeskOperationId) => {
    const before = sent.get(id) ?? 0;
    sent.set(id, before + 1);
    return { idempotency_key: before === 0 ? key : `${key}:${before + 1}` };
  };
  return {
    server,
    async call(id, asked) {
      const input = present(asked);
      const answer =
        deskOperations[id].kind === 'query'
          ? transport.send(id, input)
          : transport.send(id, { ...keyed(id), ...input }, key);
      // The registry pairs each answer with its operation; TypeScript cannot follow a key across it.
      return (await answer) as never;
    },
    close: () => transport.close(),
  };
};

/** Opens the desk, acts, and closes it whatever happens. */
export const atDesk = async <T>(options: Common, act: (desk: Desk) => Promise<T>): Promise<T> => {
  const desk = await openDesk(options);
  try {
    return await act(desk);
  } finally {
    await desk.close();
  }
};
