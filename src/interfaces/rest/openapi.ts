/** The OpenAPI documents, from the registries. */
import { hash } from 'node:crypto';
import type {
  HeaderObject,
  ReferenceObject,
  ResponseObject,
  SchemaObject,
  OpenAPIObject,
  OperationObject,
  PathItemObject,
} from 'openapi3-ts/oas31';
import { z } from 'zod';
import { BOUNDARIES } from '#contracts/boundaries.ts';
import { ANSWER_HEADERS, type AnswerHeader, type HeaderText } from '#contracts/headers.ts';
import { DEFAULT_RATES, publishedLimits, type Rates } from '#contracts/limits.ts';
import type { DeskOperation, Example, Operation } from '#contracts/operation.ts';
import {
  AGENT_BASE,
  CONSISTENCY_HEADER,
  CONTRACT_VERSION,
  DESK_BASE,
  EXCEL_PARAMETER,
  IDEMPOTENCY_HEADER,
  placeOf,
  acceptsConsistencyToken,
  answersCsv,
} from '#contracts/places.ts';
import {
  PROBLEM_CODES,
  type ProblemCode,
  PROBLEMS,
  UNIVERSAL_PROBLEMS,
} from '#contracts/problems.ts';
import { operations } from '#contracts/registries/agents.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import { SCOPES } from '#contracts/scopes.ts';
import { afterText } from '#src/interfaces/documents/markdown.ts';

/** Returns a zod schema as JSON Schema 2020-12. Adds schemas with an id to `named` and refers to them. */
const jsonSchema = (
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
    .array(
      z.object({
        pointer: z.string(),
        code: z.string(),
        detail: z.string(),
        value: z
          .string()
          .optional()
          .describe('What was sent, cut, with each invisible character as its code point'),
      }),
    )
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

const problemSchema = jsonSchema(problem, 'output', new Map());

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

const successHeaders = (
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

type Shared = NamedHeaders & {
  schemas: Map<string, SchemaObject>;
  responses: Map<string, ResponseObject>;
};

/**
 * Returns the responses for every problem of an operation, by status. Operations that answer the same codes with a
 * status share one component.
 */
const problemResponses = (
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

type AnyOperation = (Operation | DeskOperation) & {
  scope?: string | null;
  roles?: readonly string[];
};

const examplesOf = <Value>(
  { examples }: AnyOperation,
  valueOf: (example: Example) => Value | undefined,
) =>
  Object.fromEntries(
    examples.flatMap((example) => {
      const value = valueOf(example);
      const key = example.name.replaceAll(/\W+/g, '-');
      return value === undefined
        ? []
        : [[key, { summary: example.name + afterText(example), value }] as const];
    }),
  );

/** Some generators read every answer of an operation as a stream that declares this type; its description names it. */
const UNDECLARED = 'application/x-ndjson';

const splitInput = (operation: AnyOperation, named: Map<string, SchemaObject>) => {
  const whole = jsonSchema(operation.input, 'input', named) as SchemaObject & {
    properties?: Record<string, SchemaObject>;
    required?: string[];
    dependentRequired?: Record<string, string[]>;
  };
  const { properties = {}, required = [], dependentRequired } = whole;
  const parameters: NonNullable<OperationObject['parameters']> = [];
  const body: Record<string, SchemaObject> = {};
  for (const [name, schema] of Object.entries(properties)) {
    const place = placeOf(operation, name);
    if (place === 'body') {
      body[name] = schema;
      continue;
    }
    const { description, ...rest } = schema;
    const examples = examplesOf(operation, ({ input }) => input[name]);
    parameters.push({
      name: place === 'header' ? IDEMPOTENCY_HEADER : name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description !== undefined && { description }),
      ...(place === 'query' && schema.type === 'array' && { style: 'form', explode: false }),
      schema: rest,
      ...(Object.keys(examples).length > 0 && { examples }),
    });
  }
  if (acceptsConsistencyToken(operation))
    parameters.push({ ...CONSISTENCY_HEADER, in: 'header', schema: { type: 'string' } });
  if (answersCsv(operation))
    parameters.push({ ...EXCEL_PARAMETER, in: 'query', schema: { type: 'string', enum: ['1'] } });
  const needed = required.filter((name) => placeOf(operation, name) === 'body');
  return { parameters, body, needed, dependentRequired };
};

const operationObject = (operation: AnyOperation, shared: Shared): OperationObject => {
  const { parameters, body, needed, dependentRequired } = splitInput(operation, shared.schemas);
  const query = operation.http.method === 'GET';
  const output = jsonSchema(operation.output, 'output', shared.schemas);
  const bodyExamples = examplesOf(operation, ({ input }) =>
    Object.fromEntries(
      Object.entries(input).filter(([field]) => placeOf(operation, field) === 'body'),
    ),
  );
  const outputExamples = examplesOf(operation, ({ output: value }) => value);
  const success: ResponseObject = {
    description: operation.summary,
    headers: successHeaders(operation, shared),
    content: {
      'application/json': { schema: output, examples: outputExamples },
      ...Object.fromEntries(
        (operation.alsoAs ?? [])
          .filter((media) => media !== UNDECLARED)
          .map((media) => [media, { schema: { type: 'string' as const } }]),
      ),
    },
  };
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: operation.guidance,
    tags: [operation.kind === 'query' ? 'read' : 'write'],
    security: [{ bearer: [] }],
    ...(operation.scope !== undefined && { 'x-scope': operation.scope }),
    ...(operation.roles !== undefined && { 'x-roles': operation.roles }),
    ...(parameters.length > 0 && { parameters }),
    ...(!query && {
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: {
              type: 'object',
              properties: body,
              ...(needed.length > 0 && { required: needed }),
              ...(dependentRequired && { dependentRequired }),
              additionalProperties: false,
            },
            examples: bodyExamples,
          },
        },
      },
    }),
    responses: {
      [operation.http.status]: success,
      ...(operation.id === 'submitLead' && {
        '200': { ...success, description: 'The lead was amended or withdrawn' },
      }),
      ...problemResponses(operation.problems, shared),
    },
  };
};

const byName = <T>(map: Map<string, T>): Record<string, T> =>
  Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1)));

const document = (
  registry: Record<string, AnyOperation>,
  about: { title: string; description: string; base: string; server: string; rates: Rates },
): string => {
  const gated = about.base === AGENT_BASE;
  const shared: Shared = { schemas: new Map(), responses: new Map(), headers: new Map(), gated };
  const paths: Record<string, PathItemObject> = {};
  for (const operation of Object.values(registry)) {
    const { method, path } = operation.http;
    const item = (paths[about.base + path] ??= {});
    item[method === 'GET' ? 'get' : 'post'] = operationObject(operation, shared);
  }
  const specification: OpenAPIObject = {
    openapi: '3.1.0',
    info: {
      title: about.title,
      version: CONTRACT_VERSION,
      description: about.description,
      contact: { name: 'Tributary', url: `${about.server}/` },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: about.server }],
    tags: [
      { name: 'read', description: 'Changes nothing' },
      {
        name: 'write',
        description: 'Needs an Idempotency-Key; a call with the same key is executed at most once',
      },
    ],
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            'Keep the key in a server-side secret named SERVICE_API_KEY, never in a browser or a URL.',
        },
      },
      schemas: { Problem: problemSchema, ...byName(shared.schemas) },
      headers: byName(shared.headers),
      responses: byName(shared.responses),
    },
    'x-limits': publishedLimits(about.rates),
  };
  return `${JSON.stringify(specification, null, 2)}\n`;
};

const SCOPE_LIST = Object.entries(SCOPES)
  .map(([name, { meaning }]) => `- \`${name}\`: ${meaning}`)
  .join('\n');

/** Returns the agents' contract: the seven operations. `server` is the public origin; `rates` are those configured. */
export const openApi = (server: string, rates = DEFAULT_RATES): string =>
  document(operations, {
    title: 'Tributary, promoter affiliate interface',
    base: AGENT_BASE,
    server,
    rates,
    description:
      'Find ready-stock wholesale products, create attributed links and buyer-reviewed handoffs, submit ' +
      'leads, read performance. No agent can accept a quotation, submit an RFQ, place an order, reserve ' +
      `stock or send payment.\n\nScopes:\n${SCOPE_LIST}`,
  });

/** Returns the desk's contract, which is only for people. */
export const deskOpenApi = (server: string, rates = DEFAULT_RATES): string =>
  document(deskOperations, {
    title: 'Tributary, desk',
    base: DESK_BASE,
    server,
    rates,
    description: 'For owners, staff, auditors and operators. An agent key is never accepted here.',
  });
