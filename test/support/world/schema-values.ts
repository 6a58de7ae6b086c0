/** Values made from the schemas of the registry. */
import { z } from 'zod';

/** The part of JSON Schema that zod generates. */
export type Schema = {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  propertyNames?: Schema;
  items?: Schema;
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
};

export const inputSchema = (operation: { input: z.ZodObject }): Schema =>
  z.toJSONSchema(operation.input, { io: 'input', reused: 'inline' }) as Schema;

export type Path = (string | number)[];
/** `isOptional`: null there is the same as nothing. */
export type Place = { path: Path; schema: Schema; isOptional?: boolean };

/** Returns every place of a value of this schema, with one item per array. */
export const placesOf = (schema: Schema, path: Path = [], isOptional = false): Place[] => [
  { path, schema, isOptional },
  ...Object.entries(schema.properties ?? {}).flatMap(([name, of]) =>
    placesOf(of, [...path, name], schema.required?.includes(name) !== true),
  ),
  ...(schema.items ? placesOf(schema.items, [...path, 0]) : []),
  ...(typeof schema.additionalProperties === 'object'
    ? placesOf(schema.additionalProperties, [...path, 'any'], true)
    : []),
];

/** Returns a copy with `value` at `path`; creates missing objects and arrays on the path. */
export const withValue = (base: unknown, path: Path, value: unknown): unknown => {
  const [first, ...rest] = path;
  if (first === undefined) return value;
  if (typeof first === 'number') {
    const items = Array.isArray(base) ? [...base] : [];
    items[first] = withValue(items[first], rest, value);
    return items;
  }
  const members = typeof base === 'object' && base !== null ? base : {};
  return { ...members, [first]: withValue(members[first as keyof typeof members], rest, value) };
};

export const pointerOf = (path: Path): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

const allTypes: Record<string, unknown[]> = {
  string: ['text'],
  number: [7],
  boolean: [true],
  object: [{}, { a: 1 }],
  array: [[], ['x']],
  null: [null],
};

const accepts = (schema: Schema, type: string): boolean => {
  if (schema.anyOf) return schema.anyOf.some((one) => accepts(one, type));
  if (schema.const !== undefined) return typeof schema.const === type;
  const types = [schema.type].flat();
  return types.includes(type) || (type === 'number' && types.includes('integer'));
};

const itemsOf = ({ items, anyOf = [] }: Schema): Schema[] =>
  items ? [items] : anyOf.flatMap(itemsOf);

/** Returns values of every type that the schema does not accept, and of its type outside its bounds. */
export const wrongValues = ({ schema, isOptional = false }: Omit<Place, 'path'>): unknown[] => {
  const others = Object.entries(allTypes).flatMap(([type, values]) =>
    // One value is read as a list of one.
    accepts(schema, type) || itemsOf(schema).some((items) => accepts(items, type)) ? [] : values,
  );
  const bounds: unknown[] = [];
  if (schema.type === 'integer') bounds.push(0.1, 1.5, -1e15, '7 or 8', 1e300);
  if (schema.maxLength !== undefined) bounds.push('x'.repeat(schema.maxLength + 1));
  if (schema.minLength !== undefined) bounds.push('');
  if (schema.maxItems !== undefined)
    bounds.push(Array.from({ length: schema.maxItems + 1 }, () => 'x'));
  if (schema.enum) bounds.push(`${String(schema.enum[0])}x`, 'constructor', '__proto__');
  if (schema.format ?? schema.pattern) bounds.push('\u0000', 'x'.repeat(9_000), '../../etc');
  if (schema.const === true) bounds.push(false);
  return [...others, ...bounds].filter((value) => value !== null || !isOptional);
};
