/** Routes of REST, for agents and for the desk, from their registries. */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { z } from 'zod';
import type { getPerformance } from '#contracts/performance/operations.ts';
import { type Dimension, metricNames, type ShownRow } from '#contracts/performance/records.ts';
import {
  AGENT_BASE,
  DESK_BASE,
  DEVICE_LOGIN,
  answersCsv,
  EXCEL_PARAMETER,
  IDEMPOTENCY_HEADER,
  placeOf,
  routePath,
} from '#contracts/places.ts';
import { PROBLEMS, type InputFault, type ProblemCode } from '#contracts/problems.ts';
import { operations, type RestOperationId } from '#contracts/registries/agents.ts';
import { type DeskOperationId, deskOperations } from '#contracts/registries/desk.ts';
import { readInput, pointerOf } from '#src/calls/input.ts';
import { holderOperations } from '#contracts/registries/holders.ts';
import type { AgentApp, App, DeskApp } from '#src/registries/app.ts';
import type { Admission, Arrival, Caller, CallInput, Surface } from '#src/shared/call.ts';
import { csvLine, moneyText } from '#src/shared/cells.ts';
import {
  type Done,
  isRefusal,
  type Outcome,
  type Refusal,
  refuse,
  refuseField,
} from '#src/shared/outcome.ts';
import { inTurns } from '#src/shared/work.ts';
import { arrivalOf, httpRefusal, sendProblem } from '#src/web/http.ts';
import { COMPRESSED } from '#src/web/documents.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { HttpMethod, Operation } from '#contracts/operation.ts';
import { isRecord } from '#src/shared/json.ts';

/** The names of the query fields that are lists. */
export const listsOf = (operation: Pick<Operation, 'input'>): ReadonlySet<string> => {
  const { properties = {} } = z.toJSONSchema(operation.input, { io: 'input' });
  const lists = Object.entries(properties).filter(
    ([, schema]) => typeof schema === 'object' && schema.type === 'array',
  );
  return new Set(lists.map(([name]) => name));
};

/** The name of a list as clients in PHP, Ruby and .NET write it: `facets[]`, `facets[0]`. */
const LIST_NAME = /^(\w+)\[(\d{0,4})\]$/;

/** Collects the values of each parameter; those of a list, whose name may have brackets, are one list. */
export const readQuery = (
  lists: ReadonlySet<string>,
  query: Record<string, unknown>,
): Record<string, unknown> => {
  const read = new Map<string, unknown>();
  const parameters = Object.entries(query).map(([name, value]) => {
    const [, list = '', index = ''] = LIST_NAME.exec(name) ?? [];
    return { name: lists.has(list) ? list : name, index: Number(index), value };
  });
  for (const { name, value } of parameters.toSorted((one, other) => one.index - other.index)) {
    if (!lists.has(name)) read.set(name, value);
    else {
      const texts = ([value].flat() as string[]).flatMap((text) => text.split(','));
      const earlier = (read.get(name) as string[] | undefined) ?? [];
      read.set(name, [...earlier, ...texts.filter(Boolean)]);
    }
  }
  // Not assigned to an object, which would drop a parameter named __proto__.
  return Object.fromEntries(read);
};

/** The members of an operation that a route needs. */
export type Routed = {
  id: string;
  kind: 'query' | 'command';
  http: { method: HttpMethod; path: string; status: 200 | 201 };
  input: z.ZodObject;
  problems: readonly ProblemCode[];
  alsoAs?: readonly string[];
  scope?: string | null;
};

/** Reads the input of a call, each field from its place; refuses a body that repeats a field of another place. */
export const inputReader = (operation: Routed) => {
  const lists = listsOf(operation);
  const query = operation.http.method === 'GET';
  return (request: FastifyRequest): Record<string, unknown> | Refusal => {
    const params = request.params as Record<string, string>;
    if (query) {
      const sent = { ...(request.query as Record<string, unknown>) };
      if (answersCsv(operation)) delete sent[EXCEL_PARAMETER.name];
      return { ...readQuery(lists, sent), ...params };
    }
    if (!isRecord(request.body))
      return refuse('validation_failed', 'The body must be one JSON object.', {
        errors: [{ pointer: '', code: 'invalid_type', detail: 'must be an object' }],
      });
    const body = withoutAbsent(operation, request.body);
    const misplaced = misplacedIn(operation, request.query as object, body);
    if (misplaced.length > 0)
      return refuse('validation_failed', 'Some fields do not belong there.', { errors: misplaced });
    const header = request.headers['idempotency-key'];
    return {
      ...body,
      ...params,
      ...(header !== undefined && { idempotency_key: unquoted(String(header)) }),
    };
  };
};

/** Removes null for fields of other places: a client that has one class for all fields writes it for each. */
const withoutAbsent = (operation: Routed, body: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(body).filter(
      ([name, value]) =>
        value !== null ||
        !Object.hasOwn(operation.input.shape, name) ||
        placeOf(operation, name) === 'body',
    ),
  );

/** The fields of a write that are not where its contract says. */
const misplacedIn = (operation: Routed, query: object, body: object): InputFault[] => {
  const fault = (name: string, detail: string): InputFault => ({
    pointer: pointerOf([name]),
    code: 'unknown_field',
    detail,
  });
  const placeText = (name: string): string => {
    const place = placeOf(operation, name);
    return place === 'header' ? `in the header ${IDEMPOTENCY_HEADER}` : `in the ${place}`;
  };
  return [
    ...Object.keys(query).map((name) =>
      fault(name, `does not belong in the query; a field of this write is sent ${placeText(name)}`),
    ),
    ...Object.keys(body)
      .filter((name) => placeOf(operation, name) !== 'body')
      .map((name) => fault(name, `does not belong in the body; send it ${placeText(name)}`)),
  ].slice(0, LIMITS.FAULTS_MAX);
};

/** Reads an idempotency key, quoted as in the draft standard or not. */
const unquoted = (key: string): string => (/^".*"$/.test(key) ? key.slice(1, -1) : key);

/** Whether a CSV file is for Excel: by the query, or by a parameter of its media type. */
export const isForExcel = ({ query, headers: { accept = '' } }: FastifyRequest): boolean =>
  (query as Record<string, unknown>)[EXCEL_PARAMETER.name] === '1' ||
  /\btext\/csv\s*;[^,]*\bexcel=1\b/i.test(accept);

/** Chooses the offered media type that the client prefers (RFC 9110, 12.5.1); undefined when it accepts none. */
export const negotiate = (
  accept: string | undefined,
  offered: readonly string[],
): string | undefined => {
  if (accept === undefined || accept.trim() === '') return offered[0];
  const ranges = accept.split(',').map((range) => {
    const [type = '', ...parameters] = range.trim().toLowerCase().split(';');
    const q = parameters.map((parameter) => /^\s*q=([\d.]+)$/.exec(parameter)?.[1]).find(Boolean);
    return { type: type.trim(), weight: q === undefined ? 1 : Number(q) };
  });
  const weightOf = (media: string): number => {
    const exact = ranges.find(({ type }) => type === media);
    const group = ranges.find(({ type }) => type === `${media.split('/')[0]}/*`);
    const any = ranges.find(({ type }) => type === '*/*');
    return (exact ?? group ?? any)?.weight ?? 0;
  };
  let best: { media: string; weight: number } | undefined;
  for (const media of offered) {
    const weight = weightOf(media);
    if (weight > 0 && weight > (best?.weight ?? 0)) best = { media, weight };
  }
  return best?.media;
};

type Performance = z.output<typeof getPerformance.output>;
type Question = {
  group_by?: readonly Dimension[];
  metrics?: readonly (typeof metricNames)[number][];
};

type FileFormat = { head: string; textOf(row: ShownRow): string };

const BYTE_ORDER_MARK = '\ufeff';

const metricCell = (
  value: number | Parameters<typeof moneyText>[0][] | undefined,
): string | number | null =>
  Array.isArray(value) ? value.map(moneyText).join('|') : (value ?? null);

/** CSV (RFC 4180) with a header that depends only on the query. Amounts are decimals with their currency. */
export const performanceCsv = (
  { comparison_totals }: Pick<Performance, 'comparison_totals'>,
  { group_by: dimensions = [], metrics: names = metricNames }: Question,
): FileFormat => {
  const compared = comparison_totals !== undefined;
  const header = [
    'bucket_start',
    ...dimensions,
    ...names,
    ...(compared ? names.map((name) => `comparison_${name}`) : []),
  ];
  const values = (metrics: Performance['totals'] = {}): (string | number | null)[] =>
    names.map((name) => metricCell(metrics[name]));
  return {
    head: csvLine(header),
    textOf: (row) =>
      csvLine([
        row.bucket_start,
        ...dimensions.map((name) => row.dimensions[name] ?? null),
        ...values(row.metrics),
        ...(compared ? values(row.comparison) : []),
      ]),
  };
};

const performanceNdjson = (): FileFormat => ({
  head: '',
  textOf: (row) => `${JSON.stringify(row)}\n`,
});

const FORMATS: Record<string, (answer: Performance, asked: Question) => FileFormat> = {
  'text/csv': performanceCsv,
  'application/x-ndjson': performanceNdjson,
};

/** Writes the rows of an answer as a file. It is complete before it is sent, so that a failure is a problem and no partial file. */
export const fileOf = async (
  media: string,
  { value, rows }: Pick<Done<unknown>, 'value' | 'rows'>,
  asked: object,
): Promise<string> => {
  const answer = value as Performance;
  const format = FORMATS[media]?.(answer, asked);
  if (!format) throw new Error(`nothing is written as ${media}`);
  const texts = [format.head];
  await inTurns((rows ?? answer.data) as Iterable<ShownRow>, (row) =>
    texts.push(format.textOf(row)),
  );
  return texts.join('');
};

/** Imports may be larger than an agent's call; the socket's own limits stay. */
const IMPORT_BYTES_MAX = 1_048_576;

const JSON_TYPE = 'application/json';

/** A pipeline as a route uses it: of one operation, whatever the registry. */
type Bound<C extends Caller> = {
  operation: Routed;
  surfaceOf(request: FastifyRequest): Surface;
  admit(arrival: Arrival): Promise<Outcome<Admission<C>>>;
  perform(admission: Admission<C>, call: CallInput): Promise<Outcome<unknown>>;
  conclude(admission: Admission<C>, refusal: Refusal): void;
};

export const agentRoutes = (server: FastifyInstance, app: AgentApp): void => {
  const { agents } = app;
  for (const id of Object.keys(operations) as RestOperationId[])
    operationRoute(server, app, {
      base: AGENT_BASE,
      bound: {
        operation: operations[id],
        surfaceOf: () => 'rest',
        admit: (arrival) => agents.admit(arrival, id),
        perform: (admission, call) => agents.perform(admission, id, call),
        conclude: (admission, refusal) => agents.conclude(admission, id, refusal),
      },
    });
};

const surfaceOf = ({ headers }: FastifyRequest): Surface =>
  headers['user-agent']?.startsWith('tributary-cli') ? 'cli' : 'desk';

/** Routes of the desk: the same shapes as the agents', with other credentials. */
export const deskRoutes = (server: FastifyInstance, app: DeskApp): void => {
  const { desk } = app;
  for (const id of Object.keys(deskOperations) as DeskOperationId[])
    operationRoute(server, app, {
      base: DESK_BASE,
      bodyLimit: IMPORT_BYTES_MAX,
      bound: {
        operation: deskOperations[id],
        surfaceOf,
        async admit(arrival) {
          const admitted = await desk.admit(arrival, id);
          if (admitted.ok) await app.noteUse(admitted.value.caller, { address: arrival.address });
          return admitted;
        },
        perform: (admission, call) => desk.perform(admission, id, call),
        conclude: (admission, refusal) => desk.conclude(admission, id, refusal),
      },
    });
};

type DeviceLoginId = 'startDeviceLogin' | 'pollDeviceLogin';

const readerOf = (id: DeviceLoginId, path: string) =>
  inputReader({ ...holderOperations[id], http: { method: 'POST', path, status: 200 } });

/** Where a command line asks to be signed in: without a credential, and then with the device code that it got. */
export const deviceLoginRoutes = (
  server: FastifyInstance,
  { holders, origin }: Pick<App, 'holders' | 'origin'>,
): void => {
  const answer = async (
    { request, reply }: { request: FastifyRequest; reply: FastifyReply },
    id: DeviceLoginId,
    { credential, input }: { credential?: string; input: Record<string, unknown> },
  ): Promise<FastifyReply> => {
    reply.header('cache-control', 'no-store');
    const arrival = { ...arrivalOf(request, surfaceOf(request)), credential };
    const admitted = await holders.admit(arrival, { exchange: id });
    const outcome = admitted.ok ? await holders.perform(admitted.value, id, { input }) : admitted;
    return outcome.ok ? reply.send(outcome.value) : sendProblem(reply, outcome, origin());
  };
  const readers = {
    ask: readerOf('startDeviceLogin', DEVICE_LOGIN.ask),
    token: readerOf('pollDeviceLogin', DEVICE_LOGIN.token),
  };
  server.post(DEVICE_LOGIN.ask, async (request, reply) => {
    const input = readers.ask(request);
    return isRefusal(input)
      ? sendProblem(reply, input, origin())
      : answer({ request, reply }, 'startDeviceLogin', {
          input: { ...input, address: request.ip },
        });
  });
  server.post(DEVICE_LOGIN.token, async (request, reply) => {
    const input = readers.token(request);
    if (isRefusal(input)) return sendProblem(reply, input, origin());
    const { device_code, ...rest } = input;
    return typeof device_code === 'string'
      ? answer({ request, reply }, 'pollDeviceLogin', { credential: device_code, input: rest })
      : sendProblem(reply, NO_DEVICE_CODE, origin());
  });
};
const NO_DEVICE_CODE = refuseField('/device_code', 'required', 'is required, as text');

type RouteOptions<C extends Caller> = { base: string; bodyLimit?: number; bound: Bound<C> };

/** One route: admitted before its body is read, then performed. */
const operationRoute = <C extends Caller>(
  server: FastifyInstance,
  app: Pick<DeskApp, 'origin' | 'tokenFor'>,
  { base, bodyLimit, bound }: RouteOptions<C>,
): void => {
  const admissions = new WeakMap<FastifyRequest, Admission<C>>();
  const refused = (reply: FastifyReply, refusal: Refusal): FastifyReply => {
    const admission = admissions.get(reply.request);
    if (admission) bound.conclude(admission, refusal);
    return sendProblem(reply, refusal, app.origin());
  };
  server.route({
    method: bound.operation.http.method,
    url: routePath(base, bound.operation.http.path),
    ...(bodyLimit !== undefined && { bodyLimit }),
    ...(bound.operation.kind === 'query' && COMPRESSED),
    async onRequest(request, reply) {
      reply.header('cache-control', 'no-store');
      const admitted = await bound.admit(arrivalOf(request, bound.surfaceOf(request)));
      if (!admitted.ok) return sendProblem(reply, admitted, app.origin());
      admissions.set(request, admitted.value);
      reply.headers(admitted.value.headers);
      return undefined;
    },
    errorHandler: (error, _request, reply) => {
      const refusal = httpRefusal(error);
      if (PROBLEMS[refusal.code].status >= 500) throw error;
      void refused(reply, refusal);
    },
    handler: handlerFor(app, bound, { admissions, refused }),
  });
};

type Route<C extends Caller> = {
  admissions: WeakMap<FastifyRequest, Admission<C>>;
  refused(reply: FastifyReply, refusal: Refusal): FastifyReply;
};

const handlerFor = <C extends Caller>(
  app: Pick<DeskApp, 'origin' | 'tokenFor'>,
  bound: Bound<C>,
  { admissions, refused }: Route<C>,
): RouteHandlerMethod => {
  const { operation } = bound;
  const offered = [JSON_TYPE, ...(operation.alsoAs ?? [])];
  const read = inputReader(operation);
  return async (request, reply) => {
    const admission = admissions.get(request);
    if (!admission) throw new Error(`${operation.id} was reached without an admission`);
    const media = negotiate(request.headers.accept, offered);
    if (media === undefined)
      return refused(
        reply,
        refuse('not_acceptable', `${operation.id} answers ${offered.join(', ')}.`),
      );
    const input = read(request);
    if (isRefusal(input)) return refused(reply, input);
    const outcome = await bound.perform(admission, {
      input,
      file: media !== JSON_TYPE,
      consistencyToken: headerOf(request, 'consistency-token'),
    });
    if (!outcome.ok) return sendProblem(reply, outcome, app.origin());
    reply.header('consistency-token', app.tokenFor(outcome));
    if (outcome.replayOf !== undefined)
      reply.headers({ 'idempotent-replayed': 'true', 'original-request-id': outcome.replayOf });
    reply.code(outcome.status ?? operation.http.status);
    if (media !== JSON_TYPE) {
      const asked = readInput(operation.input, input);
      const text = await fileOf(media, outcome, 'value' in asked ? asked.value : input);
      fileHeaders(reply.type(`${media}; charset=utf-8`), outcome.value as Listed);
      return reply.send(
        media === 'text/csv' && isForExcel(request) ? BYTE_ORDER_MARK + text : text,
      );
    }
    if (operation.kind === 'query') nextLink(reply, outcome.value as Paged);
    return reply.type(JSON_TYPE).send(outcome.json ?? JSON.stringify(outcome.value));
  };
};

const headerOf = (request: FastifyRequest, name: string): string | undefined => {
  const value = request.headers[name];
  return value === undefined ? undefined : String(value);
};

type Paged = {
  page?: { next_cursor?: string | null };
  next_before?: number | null;
  next_after?: number | null;
};
type Listed = Paged & { as_of: { position: number; at: string | null } };

/** What a file has no place for: the position of the log, and the address of the next page. */
const fileHeaders = (reply: FastifyReply, listed: Listed): void => {
  const { position, at } = listed.as_of;
  reply.header('as-of', `${position}${at === null ? '' : ` ${at}`}`);
  nextLink(reply, listed);
};

/** Names the address of the next page, for clients that follow links. */
const nextLink = (reply: FastifyReply, { page, next_before, next_after }: Paged): void => {
  const [mark] = Object.entries({
    cursor: page?.next_cursor,
    before: next_before,
    after: next_after,
  }).filter(([, value]) => value !== undefined && value !== null);
  if (!mark) return;
  const [path = '', query] = reply.request.url.split('?');
  const next = new URLSearchParams(query);
  next.set(mark[0], String(mark[1]));
  reply.header('link', `<${path}?${next.toString()}>; rel="next"`);
};
