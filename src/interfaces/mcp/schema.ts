import { z } from 'zod';
import { inToolWords } from './wording.ts';

/** The members of a JSON Schema (2020-12) that this module reads. */
export type Schema = {
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  required?: string[];
  $ref?: string;
};

/** Formats that JSON Schema defines. Other formats are replaced by their patterns. */
const FORMATS: ReadonlySet<string | undefined> = new Set(['date', 'date-time', 'email', 'uri']);

/** Narrows the format date-time: capital T and Z, and no leap second. */
const TIME_PATTERN = 'T\\d\\d:[0-5]\\d:[0-5]\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)$';

const LONG = Number.MAX_SAFE_INTEGER;

/** Removes what does not help a reader, and what some clients cannot handle. */
const trimmed = (node: Schema, io: 'input' | 'output'): void => {
  // The pattern of a date has 200 characters and says no more than the format.
  if (FORMATS.has(node.format)) delete node.pattern;
  else delete node.format;
  if (io === 'input' && node.format === 'date-time') node.pattern = TIME_PATTERN;
  if (node.minimum === -LONG) delete node.minimum;
  if (node.maximum === LONG) delete node.maximum;
  // Later releases may add fields to answers; requests with unknown fields are refused.
  if (io === 'output' && node.additionalProperties === false) delete node.additionalProperties;
  if (node.description !== undefined) node.description = inToolWords(node.description);
};

/** Converts a list of types into alternatives, for clients that expect one type. */
const eitherType = ({ type, ...rest }: Schema): Schema =>
  Array.isArray(type)
    ? { ...rest, anyOf: type.map((one: string) => ({ type: one })) }
    : { ...(type !== undefined && { type }), ...rest };

/** Named schemas in their places: a tool's schema stands alone, and some clients follow no $ref. */
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

/** A zod schema as a tool shows it: one object, without references, in the words of tools. */
export const toolSchema = (schema: z.ZodType, io: 'input' | 'output'): Schema => {
  const made = z.toJSONSchema(schema, {
    io,
    reused: 'inline',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => trimmed(jsonSchema as Schema, io),
  }) as Schema & { $defs?: Record<string, unknown> };
  return { type: 'object', ...(inlined(made, made.$defs ?? {}) as Schema) };
};
