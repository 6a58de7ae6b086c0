/** Inputs with every optional field filled, from the schemas of the contract. */
import { type Schema, withValue } from './schema-values.ts';

const BY_FORMAT: Record<string, string> = {
  date: '2026-11-21',
  'date-time': '2026-01-20T09:00:00Z',
  'idn-email': 'ada.filled@shop.example',
  uri: 'https://shop.example/filled',
  e164: '+442079460958',
};
const BY_PATTERN = (pattern: string): string =>
  ['GB', 'GBP', 'en-GB', 'acme', 'filled'].find((one) => new RegExp(pattern, 'u').test(one)) ??
  'no value of this pattern is known';

/** The path of a text as words, so that each text is different and can be found in answers. */
const wordsAt = (path: readonly string[]): string => `Filled ${path.join(' ')}`;

const fill = (schema: Schema, path: readonly string[]): unknown => {
  const [first] = schema.anyOf ?? [];
  if (first) return fill(first, path);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  switch ([schema.type].flat()[0]) {
    case 'string':
      if (schema.format !== undefined && BY_FORMAT[schema.format] !== undefined)
        return BY_FORMAT[schema.format];
      if (schema.pattern !== undefined) return BY_PATTERN(schema.pattern);
      return wordsAt(path).slice(0, schema.maxLength);
    case 'integer':
      return Math.max(schema.minimum ?? 1, 1);
    case 'boolean':
      return true;
    case 'array':
      return [fill(schema.items ?? {}, path)];
    case 'object': {
      const named = Object.entries(schema.properties ?? {});
      const members = named.map(([name, of]) => [name, fill(of, [...path, name])]);
      const { additionalProperties: more } = schema;
      const other = typeof more === 'object' ? [['any', fill(more, [...path, 'any'])]] : [];
      return Object.fromEntries([...members, ...other]);
    }
    default:
      throw new Error(`no value is known at ${path.join('/')}`);
  }
};

/**
 * Returns an input with every field. `known` has the values that the schema cannot tell, like ids, by pointer; undefined
 * leaves a field out, which excludes others.
 */
export const filled = (schema: Schema, known: Record<string, unknown> = {}): never => {
  const all = fill(schema, []);
  return Object.entries(known).reduce((input, [pointer, value]) => {
    const path = pointer
      .slice(1)
      .split('/')
      .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    return withValue(input, path, value);
  }, all) as never;
};

/** Every text in a value that `filled` made up. */
export const madeUp = (value: unknown): string[] => {
  if (typeof value === 'string') return /filled/i.test(value) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(madeUp);
};
