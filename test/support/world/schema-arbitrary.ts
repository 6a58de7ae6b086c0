/** Arbitrary valid and nearly valid values of a schema. */
import fc from 'fast-check';
import { type Path, placesOf, type Schema, withValue } from './schema-values.ts';

/** Texts that are rarely expected. */
export const STRANGE = [
  '',
  ' ',
  'null',
  '0',
  '-1',
  '1e9',
  '\u0000',
  '\u202e',
  'é',
  'e\u0301',
  '😀',
  '%00',
  '../..',
  "' OR 1=1 --",
  '<script>',
  '{{7*7}}',
  '"*"',
  'NEAR(a b)',
  '__proto__',
  'constructor',
  '0000-01-01',
  '9999-12-31',
  '2026-02-30',
  '+01:00',
  'Etc/GMT+12',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59-23:59',
  '9'.repeat(40),
  'x'.repeat(8_000),
];

const twoDigits = (max: number, min = 1) =>
  fc.integer({ min, max }).map((value) => String(value).padStart(2, '0'));
const year = fc.oneof(
  fc.constantFrom('2025', '2026'),
  fc.integer({ min: 0, max: 9_999 }).map((value) => String(value).padStart(4, '0')),
);
const date = fc.tuple(year, twoDigits(12), twoDigits(28)).map((parts) => parts.join('-'));
const time = fc
  .tuple(date, twoDigits(23, 0), fc.constantFrom('Z', '+05:30', '-23:59', '+00:00'))
  .map(([day, hour, zone]) => `${day}T${hour}:00:00${zone}`);

const FORMATS: Record<string, fc.Arbitrary<string>> = {
  date,
  'date-time': time,
  'idn-email': fc.constantFrom('ada@shop.example', 'a+b@x.co', 'jörg@bücher.example'),
  uri: fc.constantFrom('https://shop.example/a', 'http://x.example'),
  e164: fc.constantFrom('+441632960000', '+12025550123'),
};

const text = (schema: Schema): fc.Arbitrary<string> => {
  const format = schema.format === undefined ? undefined : FORMATS[schema.format];
  if (format) return format;
  // Only the pattern of an owner has a lookahead.
  if (schema.pattern?.includes('(?!')) return fc.constantFrom('acme', 'other', 'nobody');
  if (schema.pattern !== undefined) return fc.stringMatching(new RegExp(schema.pattern));
  const maxLength = Math.min(schema.maxLength ?? 40, 40);
  const words = fc.constantFrom(
    'mug',
    'MUG-1',
    'blue mug',
    'Mugs',
    'en',
    'UTC',
    'Europe/London',
    'GB',
  );
  const any = fc.string({ unit: 'grapheme', minLength: schema.minLength ?? 0, maxLength });
  return fc.oneof(words, any);
};

/** Returns values that are valid by the schema. */
export const valid = (schema: Schema): fc.Arbitrary<unknown> => {
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(valid));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  switch ([schema.type].flat()[0]) {
    case 'string':
      return text(schema);
    case 'integer': {
      const { minimum = -1_000, maximum = 1_000_000 } = schema;
      const min = Math.max(minimum, -1_000);
      const max = Math.min(maximum, 1_000_000_000);
      return fc.oneof(fc.integer({ min, max: Math.min(max, min + 200) }), fc.integer({ min, max }));
    }
    case 'number':
      return fc.oneof(
        fc.integer({ min: 0, max: 1_000 }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
      );
    case 'boolean':
      return fc.boolean();
    case 'array': {
      const { minItems = 0, maxItems = 5, items = {} } = schema;
      return fc.array(valid(items), {
        minLength: minItems,
        maxLength: Math.min(maxItems, minItems + 3),
      });
    }
    case 'object':
      return object(schema);
    default:
      return fc.constantFrom(null, 1, 'a');
  }
};

const object = ({ properties = {}, required = [], additionalProperties }: Schema) => {
  const named = fc.record(
    Object.fromEntries(Object.entries(properties).map(([name, of]) => [name, valid(of)])),
    { requiredKeys: required.filter((name) => name in properties) },
  );
  if (typeof additionalProperties !== 'object') return named;
  const more = fc.dictionary(fc.stringMatching(/^[a-z0-9_]{1,10}$/), valid(additionalProperties), {
    maxKeys: 3,
  });
  return fc.tuple(named, more).map(([one, other]) => ({ ...one, ...other }));
};

const wild = fc.oneof(
  fc.constantFrom(...STRANGE),
  fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }),
  fc.constantFrom(0, -1, 0.5, 2 ** 53 - 1, null, true, [], {}),
);

/** Replaces `least` to two places of a value by strange ones, or adds unknown places. */
const changed = (
  schema: Schema,
  base: fc.Arbitrary<unknown>,
  least: number,
): fc.Arbitrary<unknown> => {
  const places = placesOf(schema).map(({ path }) => path);
  const paths: fc.Arbitrary<Path> = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...places) },
    { weight: 1, arbitrary: fc.constantFrom<Path[]>(['surprise'], ['__proto__'], ['constructor']) },
  );
  const changes = fc.array(fc.tuple(paths, wild), { minLength: least, maxLength: 2 });
  return fc
    .tuple(base, changes)
    .map(([value, edits]) => edits.reduce((of, [path, now]) => withValue(of, path, now), value));
};

/** Returns values that are valid except in one or two places. */
export const nearlyValid = (schema: Schema): fc.Arbitrary<unknown> =>
  changed(schema, valid(schema), 1);

/** Returns the example with up to two places changed. */
export const likeExample = (schema: Schema, example: unknown): fc.Arbitrary<unknown> =>
  changed(schema, fc.constant(example), 0);

export const anything = fc.oneof(wild, fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }));
