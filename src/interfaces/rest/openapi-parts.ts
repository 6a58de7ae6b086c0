import { hash } from 'node:crypto';
import type {
  HeaderObject,
  ReferenceObject,
  ResponseObject,
  SchemaObject,
} from 'openapi3-ts/oas31';
import { z } from 'zod';
import { BOUNDARIES } from '#contracts/boundaries.ts';
import { ANSWER_HEADERS, type AnswerHeader, type HeaderText } from '#contracts/headers.ts';
import {
  PROBLEM_CODES,
  type ProblemCode,
  PROBLEMS,
  UNIVERSAL_PROBLEMS,
} from '#contracts/problems.ts';

/** Returns a zod schema as JSON Schema 2020-12. Adds schemas with an id to `named` and refers to them. */
export const jsonSchema = (
  schema: z.ZodType,
  io: 'input' | 'output',
  named: Map<string, SchemaObject>,
): SchemaObject => {
  const made = z.toJSONSchema(schema, {
    io,
    reused: 'inline',
    unrepresentable: 'any',
    // A later release may add fields to an answer; a request must not have unknown fields.
    override: ({ jsonSchema: node }) => {
      if (io === 'output' && node.additionalProperties === false) delete node.additionalProperties;
    },
  }) as SchemaObject & { $defs?: Record<string, SchemaObject>; $schema?: string };
  const { $defs = {}, $schema: _schema, ...rest } = made;
  for (const [name, definition] of Object.entries($defs)) named.set(name, relinked(definition));
  const { id } = schema.meta() ?? {};
  const body = relinked(rest);
  if (id === undefined || '$ref' in body) return body;
  named.set(id, body);
  return { $ref: `#/components/schemas/${id}` };
};

/** Makes references to #/$defs point to the components of the document, and removes the schemas' own ids. */
const relinked = (schema: SchemaObject): SchemaObject =>
  JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      key === '$id' || (key === 'id' && typeof value === 'string') ? undefined : value,
    ).replaceAll('"#/$defs/', '"#/components/schemas/'),
  ) as SchemaObject;

const problem = z.object({
  type: z.url(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  instance: z.string(),
  code: z.enum(PROBLEM_CODES),
  request_id: z.string(),
  recovery: z.object({
    action: z.string(),
    hint: z.string(),
    retryable: z.boolean(),
    retry_after_s: z.int().optional(),
  }),
  links: z.record(z.string(), z.string()),
  errors: z
    .array(z.object({ pointer: z.string(), code: z.string(), detail: z.string() }))
    .optional(),
  required_scope: z
    .string()
    .optional()
    .describe('With scope_missing: the scope that the operation needs'),
  granted_scopes: z
    .array(z.string())
    .optional()
    .describe('With scope_missing: the scopes of the key'),
  first_request: z
    .object({ id: z.string(), at: z.iso.datetime() })
    .optional()
    .describe('With idempotency_key_reused: the first call with this key'),
  outcome: z
    .enum(['none', 'unknown'])
    .optional()
    .describe('If the log did not answer: whether the write may have happened'),
  boundary: z
    .enum(BOUNDARIES.map(({ id }) => id))
    .optional()
    .describe('With boundary_forbidden: which of the five acts was attempted'),
});

export const problemSchema = jsonSchema(problem, 'output', new Map());

/** The headers of a document, by component id. `gated`: whether its operations are those of agents. */
type NamedHeaders = { headers: Map<string, HeaderObject>; gated: boolean };

type HeaderRefs = Record<string, ReferenceObject>;

const KEY_HEADERS = ['rateLimit', 'rateLimitPolicy', 'deprecation', 'sunset'] as const;

const headerRefs = (
  { headers, gated }: NamedHeaders,
  ids: readonly (AnswerHeader | false)[],
): HeaderRefs =>
  Object.fromEntries(
    [...ids, ...(gated ? KEY_HEADERS : [])]
      .filter((id) => id !== false)
      .map((id) => {
        const { name, type = 'string', description }: HeaderText = ANSWER_HEADERS[id];
        headers.set(id, { description, schema: { type } });
        return [name, { $ref: `#/components/headers/${id}` }];
      }),
  );

export const successHeaders = (
  { kind, alsoAs }: { kind: 'query' | 'command'; alsoAs?: readonly string[] },
  named: NamedHeaders,
): HeaderRefs =>
  headerRefs(named, [
    'requestId',
    'consistencyToken',
    'logState',
    kind === 'command' && 'replayed',
    kind === 'command' && 'original',
    alsoAs !== undefined && 'asOf',
    alsoAs !== undefined && 'next',
  ]);

const STATUSES_TO_WAIT: ReadonlySet<number> = new Set([429, 503, 507]);

const problemHeaderRefs = (
  status: number,
  codes: readonly ProblemCode[],
  named: NamedHeaders,
): HeaderRefs =>
  headerRefs(named, [
    'requestId',
    'help',
    (status === 401 || codes.includes('scope_missing')) && 'challenge',
    STATUSES_TO_WAIT.has(status) && 'retryAfter',
  ]);

export type Shared = NamedHeaders & {
  schemas: Map<string, SchemaObject>;
  responses: Map<string, ResponseObject>;
};

/**
 * Returns the responses for every problem of an operation, by status. Operations that answer the same codes with a
 * status share one component.
 */
export const problemResponses = (
  codes: readonly ProblemCode[],
  shared: Shared,
): Record<string, { $ref: string }> => {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of new Set([...codes, ...UNIVERSAL_PROBLEMS])) {
    const { status } = PROBLEMS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, list]) => {
      // Generators make names of files and types of it: all codes of the list would be too long.
      const name = `Problem${status}_${hash('sha256', list.join(' ')).slice(0, 8)}`;
      shared.responses.set(name, {
        description: list.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('. '),
        headers: problemHeaderRefs(status, list, shared),
        content: {
          'application/problem+json': {
            schema: {
              allOf: [
                { $ref: '#/components/schemas/Problem' },
                { type: 'object', properties: { code: { type: 'string', enum: list } } },
              ],
            },
          },
        },
      });
      return [String(status), { $ref: `#/components/responses/${name}` }];
    }),
  );
};
