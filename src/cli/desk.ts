/** The desk for commands: over HTTP if a server runs on the data directory, otherwise in this process. */
import { setTimeout as pause } from 'node:timers/promises';
import type { DeskOperation } from '#contracts/operation.ts';
import { DESK_BASE, IDEMPOTENCY_HEADER, pathOf, placeOf } from '#contracts/places.ts';
import { type DeskOperationId, deskOperations } from '#contracts/registries/desk.ts';
import type { Config } from '#src/config.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { present } from '#src/shared/json.ts';
import { systemIds } from '#src/system/ids.ts';
import { isLocal, type Remote, remoteFor } from './contexts.ts';
import { anywhere, type CommonOptions, configFor, LOGIN } from './options.ts';
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

const noAnswerError = (url: string, key: string | undefined, error: unknown) => {
  const { message, cause } = error as Error;
  const reason = cause instanceof Error && cause.message !== '' ? cause.message : message;
  const hint = key === undefined ? '' : ` ${repeatHint(key)}`;
  return new CommandError(EXIT.unknown, `${url} gave no answer: ${reason}.${hint}`, {
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

const isProblem = (answer: unknown): answer is ProblemReport =>
  typeof answer === 'object' && answer !== null && 'code' in answer && 'title' in answer;

/**
 * Sends a request to a service. A redirect is not followed: the caller did not name the address that it leads to. Throws
 * CommandError if there is no answer of Tributary; `key` repeats a write.
 */
export const askService = async (
  url: string,
  path: string,
  {
    headers,
    key,
    ...init
  }: Omit<RequestInit, 'headers'> & { headers: Record<string, string>; key?: string | undefined },
): Promise<{ status: number; answer: ProblemReport }> => {
  // On this machine compression takes longer than it saves.
  const encoding = isLocal(url) ? { 'accept-encoding': 'identity' } : {};
  let response: Response;
  let answer: unknown;
  try {
    const sent = { ...init, headers: { ...headers, ...encoding }, redirect: 'manual' as const };
    response = await answered(url + path, sent);
    const text = await response.text();
    answer = response.status < 300 || text.startsWith('{') ? JSON.parse(text) : undefined;
  } catch (error) {
    throw noAnswerError(url, key, error);
  }
  const { status } = response;
  if (status < 300 || isProblem(answer)) return { status, answer: answer as ProblemReport };
  const to = response.headers.get('location');
  const reason = `status ${status}${to === null ? '' : `, on to ${URL.parse(to, url)?.origin ?? to}`}`;
  throw noAnswerError(url, key, new Error(`it does not answer as Tributary (${reason})`));
};

type Sending = { url: string; token(): string; credentialHint?: string };

/** Calls the desk of a service over HTTP. */
const deskOverHttp = ({ url, token, credentialHint }: Sending): Transport => ({
  async send(id, input, key) {
    const { path, init } = requestFor(id, input, token());
    const { status, answer } = await askService(url, path, { ...init, key });
    if (status < 300) return answer;
    throw problemError(answer, { operation: id, key, credentialHint });
  },
  close: async () => undefined,
});

type Connection = { transport: Transport; server: Desk['server'] };

const DESK_TOKEN_HINT = 'DESK_TOKEN is no token that is valid here. Set another one, or unset it.';

/** Calls the desk of a server that runs on the data directory. */
const deskBeside = (server: RunningServer, config: Config): Connection => ({
  server,
  transport: deskOverHttp({
    url: server.url,
    token: () => commandToken(config),
    ...(config.deskToken !== undefined && { credentialHint: DESK_TOKEN_HINT }),
  }),
});

const KEY_CHARS = 22;

const connect = async (config: Config, file: string | undefined): Promise<Connection> => {
  if (file !== undefined) {
    const { deskOfFile } = await import('./desk-of-file.ts');
    return { transport: await deskOfFile(file), server: undefined };
  }
  const { dataDirectory } = config;
  const server = await findServer(dataDirectory);
  if (server) return deskBeside(server, config);
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
    return deskBeside(started, config);
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
const isRecorded = (id: DeskOperationId, server: Desk['server']): boolean => {
  const operation: DeskOperation = deskOperations[id];
  const { kind, readsPersonalData = false, auditsInput = false } = operation;
  return kind === 'command' || (server !== undefined && (readsPersonalData || auditsInput));
};

const MACHINE = `Acting as the machine. To act as yourself: ${LOGIN}, and then --context NAME; or set DESK_TOKEN.`;

let isActorNoted = false;
/** Says once who acts, where the command line does not. */
const noteActor = (actor: string): void => {
  if (!isActorNoted) printNotice(actor);
  isActorNoted = true;
};

/** Acts on the service, or on the data directory, that the command line names, or that is here. */
export const withDesk = async <T>(
  options: CommonOptions,
  act: (desk: Desk) => Promise<T>,
): Promise<T> => {
  const remote = remoteFor(options);
  if (remote) return withRemote(remote, options, act);
  const config = configFor(options);
  const connection = await connect(config, options.file);
  const isMachine = config.deskToken === undefined && options.file === undefined;
  return actOver(connection, { options, act, ...(isMachine && { actor: MACHINE }) });
};

/** Acts on a service at an address. */
export const withRemote = <T>(
  { url, token, login, isImplied }: Remote,
  options: CommonOptions,
  act: (desk: Desk) => Promise<T>,
): Promise<T> => {
  const credentialHint = login
    ? `Run ${anywhere(`login ${url}`)}${login.name === new URL(url).host ? '' : ` --context ${login.name}`}`
    : `${DESK_TOKEN_HINT} A person signs in: ${anywhere(`login ${url}`)}`;
  const transport = deskOverHttp({ url, token: () => token, credentialHint });
  const actor = login && isImplied && `Acting as ${login.person} at ${url}.`;
  return actOver({ transport, server: { url } }, { options, act, ...present({ actor }) });
};

type Acting<T> = {
  options: CommonOptions;
  act(desk: Desk): Promise<T>;
  /** Who acts, where that has to be said. */
  actor?: string;
};

const actOver = async <T>(
  { transport, server }: Connection,
  { options, act, actor }: Acting<T>,
): Promise<T> => {
  const commandKey = options.idempotencyKey ?? systemIds().base62(KEY_CHARS);
  const keyFor = keysFrom(commandKey);
  const desk: Desk = {
    server,
    async call(id, request) {
      const input = present(request);
      if (actor !== undefined && isRecorded(id, server)) noteActor(actor);
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
