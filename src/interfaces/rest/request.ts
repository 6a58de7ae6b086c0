/** Reads a REST request by the contract of its operation. */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';
import type { HttpMethod, Operation } from '#contracts/operation.ts';
import { answersCsv, EXCEL_PARAMETER, IDEMPOTENCY_HEADER, placeOf } from '#contracts/places.ts';
import type { InputFault, ProblemCode } from '#contracts/problems.ts';
import { pointerOf } from '#src/calls/input.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';

type Kind = 'integer' | 'boolean' | 'array' | 'string';

/** Type of each query field, read from the schema once. */
export const kindsOf = (operation: Pick<Operation, 'input'>): Map<string, Kind> => {
  const { properties = {} } = z.toJSONSchema(operation.input, { io: 'input' });
  return new Map(
    Object.entries(properties).map(([name, schema]) => {
      const type = typeof schema === 'object' ? schema.type : undefined;
      const isRead = type === 'integer' || type === 'boolean' || type === 'array';
      return [name, isRead ? type : 'string'] as const;
    }),
  );
};

/** Converts a query to the input. A text that cannot be read as the field's type stays text, which the schema refuses. */
export const readQuery = (
  kinds: ReadonlyMap<string, Kind>,
  query: Record<string, unknown>,
): Record<string, unknown> =>
  // Object.fromEntries instead of assignment, which would drop a parameter named __proto__.
  Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, readValue(kinds.get(name), value)]),
  );

const readValue = (kind: Kind | undefined, value: unknown): unknown => {
  const values = (Array.isArray(value) ? value : [value]) as string[];
  const [first = ''] = values;
  if (kind === 'array') return values.flatMap((text) => text.split(',')).filter(Boolean);
  if (values.length > 1) return values;
  if (kind === 'boolean' && /^(?:true|false)$/.test(first)) return first === 'true';
  return kind === 'integer' && /^-?\d{1,15}$/.test(first) ? Number(first) : first;
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
  const kinds = kindsOf(operation);
  const query = operation.http.method === 'GET';
  return (request: FastifyRequest): Record<string, unknown> | Refusal => {
    const params = request.params as Record<string, string>;
    if (query) {
      const sent = { ...(request.query as Record<string, unknown>) };
      if (answersCsv(operation)) delete sent[EXCEL_PARAMETER.name];
      return { ...readQuery(kinds, sent), ...params };
    }
    const { body } = request;
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      return refuse('validation_failed', 'The body must be one JSON object.', {
        errors: [{ pointer: '', code: 'invalid_type', detail: 'must be an object' }],
      });
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
