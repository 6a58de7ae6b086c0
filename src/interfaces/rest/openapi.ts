/** The OpenAPI documents, from the registries. */
import { hash } from 'node:crypto';
import {
  OpenApiBuilder,
  type OperationObject,
  type ReferenceObject,
  type ResponseObject,
  type SchemaObject,
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
import { isRecord } from '#src/shared/json.ts';
import { afterText } from '#src/interfaces/documents/markdown.ts';

/** Returns a zod schema as JSON Schema 2020-12. Adds schemas with an id to the components and refers to them. */
const jsonSchema = (
  schema: z.ZodType,
  io: 'input' | 'output',
  builder: OpenApiBuilder,
): SchemaObject | ReferenceObject => {
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
  for (const [name, definition] of Object.entries($defs))
    builder.addSchema(name, forClients(definition));
  return named(builder, schema.meta()?.id, forClients(rest));
};

/** Adds a schema to the components under a name, and refers to it; returns one without a name, or a reference, as it is. */
const named = (
  builder: OpenApiBuilder,
  name: string | undefined,
  schema: SchemaObject | ReferenceObject,
): SchemaObject | ReferenceObject => {
  if (name === undefined || '$ref' in schema) return schema;
  builder.addSchema(name, schema);
  return { $ref: `#/components/schemas/${name}` };
};

type Node = Record<string, unknown>;

/**
 * Writes a schema for generators of typed clients: references point to the components, null is one of the types of a value,
 * integers tell their size, and what no language has as a name is a text with a pattern.
 */
const forClients = (schema: SchemaObject): SchemaObject => typed(schema) as SchemaObject;

const typed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(typed);
  if (!isRecord(value)) return value;
  const { $id: _id, id, $ref, ...members } = value;
  const node: Node = Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, typed(member)]),
  );
  // The id of a schema is a text; a property with this name is a schema.
  if (isRecord(id)) node['id'] = typed(id);
  if (typeof $ref === 'string')
    return { $ref: $ref.replace('#/$defs/', '#/components/schemas/'), ...node };
  return sized(nullable(spelled(node)));
};

/**
 * Replaces the values of an enum that are not all names, such as `links:write`, by a pattern: serializers of C# that read
 * enums by their names would read none of them.
 */
const spelled = ({ enum: choices, ...node }: Node): Node => {
  if (!Array.isArray(choices)) return node;
  const texts = choices.map(String);
  if (texts.every((text) => /^[A-Za-z_]\w*$/.test(text))) return { ...node, enum: choices };
  const escaped = texts.map((text) => text.replaceAll(/[[\]]/g, String.raw`\$&`));
  return { ...node, pattern: `^(?:${escaped.join('|')})$` };
};

/** Replaces alternatives by one schema with several types, where they are one type and null, or texts of several formats. */
const nullable = ({ anyOf, ...node }: Node): Node => {
  if (!Array.isArray(anyOf)) return node;
  const options = (anyOf as Node[]).flatMap((option) =>
    Array.isArray(option['anyOf']) ? (option['anyOf'] as Node[]) : [option],
  );
  const values = options.filter(({ type }) => type !== 'null');
  const orNull = (type: unknown): unknown =>
    values.length < options.length ? [type, 'null'] : type;
  const [first = {}] = values;
  const { type, enum: choices } = first;
  if (typeof type !== 'string' || values.some((one) => one['type'] !== type))
    return { ...node, anyOf: options };
  if (values.length > 1)
    return type === 'string' ? { ...node, type: orNull(type) } : { ...node, anyOf: options };
  return {
    ...first,
    ...node,
    type: orNull(type),
    ...(Array.isArray(choices) && { enum: [...(choices as unknown[]), null] }),
  };
};

/** The greatest quantity. Amounts and positions can be greater, and are of 64 bits in every place. */
const INT32_MAX = 100_000_000;

/** Names the size of an integer. */
const sized = (node: Node): Node => {
  if (
    node['type'] !== 'integer' &&
    !(Array.isArray(node['type']) && node['type'].includes('integer'))
  )
    return node;
  const { minimum, maximum, ...rest } = node;
  return {
    ...rest,
    format: Number(maximum ?? Infinity) > INT32_MAX ? 'int64' : 'int32',
    ...(Number(minimum) > Number.MIN_SAFE_INTEGER && { minimum }),
    ...(Number(maximum) < Number.MAX_SAFE_INTEGER && { maximum }),
  };
};

const problem = z.object({
  type: z.url(),
  title: z.string(),
  status: z.int(),
  detail: z.string().meta({ 'x-ms-primary-error-message': true }),
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

/** A document that is built. `gated`: whether its operations are those of agents. */
type Building = { builder: OpenApiBuilder; gated: boolean };

type HeaderRefs = Record<string, ReferenceObject>;

const KEY_HEADERS = ['rateLimit', 'rateLimitPolicy', 'keyExpires'] as const;

const headerRefs = (
  { builder, gated }: Building,
  ids: readonly (AnswerHeader | false)[],
): HeaderRefs =>
  Object.fromEntries(
    [...ids, ...(gated ? KEY_HEADERS : [])]
      .filter((id) => id !== false)
      .map((id) => {
        const { name, type = 'string', description }: HeaderText = ANSWER_HEADERS[id];
        builder.addHeader(id, { description, schema: forClients({ type }) });
        return [name, { $ref: `#/components/headers/${id}` }];
      }),
  );

/** Whether an answer is a page of a list. */
const isList = (output: z.ZodType): boolean =>
  output instanceof z.ZodObject &&
  ['page', 'next_before', 'next_after'].some((name) => Object.hasOwn(output.shape, name));

const successHeaders = ({ kind, alsoAs, output }: AnyOperation, building: Building): HeaderRefs =>
  headerRefs(building, [
    'requestId',
    'consistencyToken',
    'logState',
    kind === 'command' && 'replayed',
    kind === 'command' && 'original',
    alsoAs !== undefined && 'asOf',
    isList(output) && 'next',
  ]);

const STATUSES_TO_WAIT: ReadonlySet<number> = new Set([429, 503, 507]);

const problemHeaderRefs = (
  status: number,
  codes: readonly ProblemCode[],
  building: Building,
): HeaderRefs =>
  headerRefs(building, [
    'requestId',
    'help',
    (status === 401 || codes.includes('scope_missing')) && 'challenge',
    STATUSES_TO_WAIT.has(status) && 'retryAfter',
  ]);

/**
 * Returns the responses for every problem of an operation, by status. Operations that answer the same codes with a
 * status share one component.
 */
const problemResponses = (
  codes: readonly ProblemCode[],
  building: Building,
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
      building.builder.addResponse(name, {
        description: list.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('. '),
        headers: problemHeaderRefs(status, list, building),
        content: {
          // One type for all: clients catch it, and read its code.
          'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
        },
        'x-codes': list,
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

const splitInput = (operation: AnyOperation, builder: OpenApiBuilder) => {
  const whole = jsonSchema(operation.input, 'input', builder) as SchemaObject & {
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

/** `CreateLinkInput`: the name of a schema of an operation. */
const nameFor = ({ id }: AnyOperation, what: 'Input' | 'Answer'): string =>
  `${id.charAt(0).toUpperCase()}${id.slice(1)}${what}`;

const operationObject = (operation: AnyOperation, building: Building): OperationObject => {
  const { builder } = building;
  const { parameters, body, needed, dependentRequired } = splitInput(operation, builder);
  const query = operation.http.method === 'GET';
  const answer = jsonSchema(operation.output, 'output', builder);
  const bodyExamples = examplesOf(operation, ({ input }) =>
    Object.fromEntries(
      Object.entries(input).filter(([field]) => placeOf(operation, field) === 'body'),
    ),
  );
  const outputExamples = examplesOf(operation, ({ output: value }) => value);
  const success: ResponseObject = {
    description: operation.summary,
    headers: successHeaders(operation, building),
    // Not the types of files, which the description names: generators would type every answer as a record or a text.
    content: {
      'application/json': {
        schema: named(builder, nameFor(operation, 'Answer'), answer),
        examples: outputExamples,
      },
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
            schema: named(builder, nameFor(operation, 'Input'), {
              type: 'object',
              properties: body,
              ...(needed.length > 0 && { required: needed }),
              ...(dependentRequired && { dependentRequired }),
              additionalProperties: false,
            }),
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
      ...problemResponses(operation.problems, building),
    },
  };
};

const document = (
  registry: Record<string, AnyOperation>,
  about: { title: string; description: string; base: string; server: string; rates: Rates },
): string => {
  const builder = OpenApiBuilder.create({
    openapi: '3.1.0',
    info: {
      title: about.title,
      version: CONTRACT_VERSION,
      description: about.description,
      contact: { name: 'Tributary', url: `${about.server}/` },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    'x-limits': publishedLimits(about.rates),
  })
    .addServer({ url: about.server })
    .addTag({ name: 'read', description: 'Changes nothing' })
    .addTag({
      name: 'write',
      description: 'Needs an Idempotency-Key; a call with the same key is executed at most once',
    })
    .addSecurityScheme('bearer', {
      type: 'http',
      scheme: 'bearer',
      description:
        'Keep the key in a server-side secret named SERVICE_API_KEY, never in a browser or a URL.',
    });
  builder.addSchema('Problem', jsonSchema(problem, 'output', builder));
  const building = { builder, gated: about.base === AGENT_BASE };
  for (const operation of Object.values(registry)) {
    const { method, path } = operation.http;
    const made = operationObject(operation, building);
    builder.addPath(about.base + path, { [method === 'GET' ? 'get' : 'post']: made });
  }
  return `${builder.getSpecAsJson(undefined, 2)}\n`;
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
