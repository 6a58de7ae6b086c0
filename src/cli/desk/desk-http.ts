/** The desk of a running server, over HTTP. */
import { type DeskOperationId, deskOperations } from '#contracts/registries/desk.ts';
import { DESK_BASE, IDEMPOTENCY_HEADER, pathOf, placeOf } from '#contracts/places.ts';
import type { Config } from '#src/config.ts';
import type { RunningServer } from '../service/server-file.ts';
import { problemError, type ProblemReport, repeatHint } from '../terminal/problem-text.ts';
import { commandToken, type Transport } from './desk-transport.ts';
import { CommandError, EXIT } from '../terminal/output.ts';

const ANSWER_MS_MAX = 60_000;

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

export const deskOverHttp = (
  server: RunningServer,
  config: Pick<Config, 'deskToken' | 'dataDirectory'>,
): Transport => ({
  async send(id, input, key) {
    const { path, init } = requestFor(id, input, commandToken(config));
    let status: number;
    let answer: unknown;
    try {
      const signal = AbortSignal.timeout(ANSWER_MS_MAX);
      const response = await fetch(server.url + path, { ...init, signal });
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
