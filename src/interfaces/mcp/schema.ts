import { z } from 'zod';
import { inToolWords } from './wording.ts';

/** The members of a JSON Schema (2020-12) that this module reads or removes. */
export type Schema = {
  [Name in (typeof NOT_PORTABLE | typeof BOUNDS)[number]]?: unknown;
} & {
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  required?: string[];
  $ref?: string;
};

/** Formats that every client knows. The pattern of another format is in its description. */
const FORMATS: ReadonlySet<string | undefined> = new Set(['date', 'date-time']);

const LONG = Number.MAX_SAFE_INTEGER;

/** What an answer need not tell: clients validate names and types. */
const BOUNDS = [
  'maximum',
  'maxItems',
  'maxLength',
  'maxProperties',
  'minimum',
  'minItems',
  'minLength',
  'pattern',
  'propertyNames',
] as const;

/** Members that strict clients refuse, or that cost a model more than they tell it. The server checks them all. */
const NOT_PORTABLE = [
  'allOf',
  'default',
  'dependentRequired',
  'exclusiveMinimum',
  'maxLength',
  'minItems',
  'minLength',
  'oneOf',
  'pattern',
  'uniqueItems',
] as const;

/** A greater maximum tells a model nothing. */
const TELLING_MAX = 1_000_000;

const isOpenMap = ({ additionalProperties }: Schema): boolean =>
  typeof additionalProperties === 'object';

/**
 * Reduces an input to what strict clients accept: closed objects, one type for each value, and no condition between
 * fields. The server accepts more: open maps and conditions are in REST only, and null is the same as absent.
 */
const portableInput = (node: Schema): void => {
  const { default: value, description } = node;
  if (description !== undefined && ['string', 'number'].includes(typeof value))
    node.description = `${description}; default: ${String(value)}`;
  if (node.const !== undefined) node.enum = [node.const];
  delete node.const;
  if (Number(node.maximum) > TELLING_MAX) delete node.maximum;
  for (const name of NOT_PORTABLE) delete node[name];
  for (const [name, member] of Object.entries(node.properties ?? {}))
    if (isOpenMap(member)) delete node.properties?.[name];
};

/** Removes what does not help a reader, and what some clients cannot handle. */
const trimmed = (node: Schema, use: SchemaUse): void => {
  // The pattern of a date has 200 characters and says no more than the format.
  if (FORMATS.has(node.format)) delete node.pattern;
  else delete node.format;
  if (node.minimum === -LONG) delete node.minimum;
  if (node.maximum === LONG) delete node.maximum;
  if (node.description !== undefined) node.description = inToolWords(node.description);
  if (use === 'input') portableInput(node);
  // Later releases may add fields to answers; requests with unknown fields are refused.
  else if (node.additionalProperties === false) delete node.additionalProperties;
  if (use === 'published output')
    for (const name of ['description', ...BOUNDS] as const) delete node[name];
};

/** Converts a list of types into alternatives, for clients that expect one type. */
const eitherType = ({ type, ...rest }: Schema): Schema =>
  Array.isArray(type)
    ? { ...rest, anyOf: type.map((one: string) => ({ type: one })) }
    : { ...(type !== undefined && { type }), ...rest };

/** Named schemas in their places: a tool's schema is read alone, and some clients follow no $ref. */
const inlined = (node: unknown, named: Record<string, unknown>): unknown => {
  if (Array.isArray(node)) return node.map((item) => inlined(item, named));
  if (typeof node !== 'object' || node === null) return node;
  const {
    $ref,
    $defs: _defs,
    $schema: _schema,
    $id: _id,
    ...rest
  } = node as Schema & {
    [name: `$${string}`]: unknown;
  };
  const members = Object.entries(rest).map(([name, value]) => [name, inlined(value, named)]);
  const own = eitherType(Object.fromEntries(members) as Schema);
  if (typeof $ref !== 'string') return own;
  const { id: _named, ...target } = inlined(
    named[$ref.slice('#/$defs/'.length)],
    named,
  ) as Schema & {
    id?: string;
  };
  return { ...target, ...own };
};

/** What a schema is made for. The published output has no words and no bounds. */
type SchemaUse = 'input' | 'output' | 'published output';

/** A zod schema as a tool shows it: one object, without references, in the words of tools. */
export const toolSchema = (schema: z.ZodType, use: SchemaUse): Schema => {
  const made = z.toJSONSchema(schema, {
    io: use === 'input' ? 'input' : 'output',
    reused: 'inline',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => trimmed(jsonSchema as Schema, use),
  }) as Schema & { $defs?: Record<string, unknown> };
  return { type: 'object', ...(inlined(made, made.$defs ?? {}) as Schema) };
};
