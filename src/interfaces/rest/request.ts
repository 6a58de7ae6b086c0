/** Reads a REST request by the contract of its operation. */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';
import type { HttpMethod, Operation } from '#contracts/operation.ts';
import { answersCsv, EXCEL_PARAMETER, IDEMPOTENCY_HEADER, placeOf } from '#contracts/places.ts';
import type { InputFault, ProblemCode } from '#contracts/problems.ts';
import { pointerOf } from '#src/calls/input.ts';
import { isRecord } from '#src/shared/json.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';

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

/** Converts a contract's path to fastify's: `{name}` to `:name`. */
export const routePath = (base: string, path: string): string =>
  base + path.replaceAll(/\{(\w+)\}/g, ':$1');

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
