/**
 * Reads the forms of an input that have one meaning: clients in other languages write null for what is absent, text for a
 * number, and one value for a list. Everything else is left as it is, for the schema to refuse.
 */
import { z } from 'zod';
import { pageMarks } from '#contracts/fields.ts';
import { isRecord } from '#src/shared/json.ts';

type Schema = z.core.$ZodType;
type Members = Record<string, unknown>;

const defOf = (schema: Schema): z.core.$ZodTypes['_zod']['def'] =>
  (schema as z.core.$ZodTypes)._zod.def;

const accepts = (schema: Schema, value: unknown): boolean => z.safeParse(schema, value).success;

/** The schema of the value itself: of an optional field, its field; of a transformed one, what is transformed. */
const innermost = (schema: Schema): Schema => {
  const def = defOf(schema);
  if ('innerType' in def) return innermost(def.innerType);
  return def.type === 'pipe' ? innermost(def.in) : schema;
};

/** Whether a member with this value is the same as an absent one. */
const isAbsent = (schema: Schema, value: unknown): boolean =>
  schema._zod.optin !== undefined &&
  ((value === null && !accepts(schema, null)) ||
    (value === '' && pageMarks.get(innermost(schema)) !== undefined));

/** Normalizes each member of an object whose schema is known; copies the object only if a member changes. */
const readMembers = (given: Members, schemaOf: (name: string) => Schema | undefined): Members => {
  let read = given;
  const copy = (): Members => (read === given ? (read = { ...given }) : read);
  for (const [name, value] of Object.entries(given)) {
    const schema = schemaOf(name);
    if (!schema) continue;
    if (isAbsent(schema, value)) {
      delete copy()[name];
      continue;
    }
    const member = normalize(schema, value);
    if (member !== value) copy()[name] = member;
  }
  return read;
};

const readItems = (given: readonly unknown[], item: Schema): readonly unknown[] => {
  const read = given.map((one) => normalize(item, one));
  return read.some((one, index) => one !== given[index]) ? read : given;
};

/** Whether a value that is sent instead of a list is its one item: an object for objects, a plain value for others. */
const isItem = (item: Schema, value: unknown): boolean => {
  const { type } = defOf(innermost(item));
  if (type === 'object') return isRecord(value);
  return type !== 'array' && value !== '' && ['string', 'number', 'boolean'].includes(typeof value);
};

const NUMBER = /^ *-?\d{1,15}(?:\.\d{1,15})? *$/;
const TRUTHS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

const readBoolean = (value: unknown): unknown =>
  typeof value === 'string' || typeof value === 'number'
    ? (TRUTHS.get(String(value).toLowerCase()) ?? value)
    : value;

/** The value of an enum that a text spells in other capitals. */
const readChoice = (choices: readonly unknown[], text: string): string => {
  if (choices.includes(text)) return text;
  const folded = text.trim().toLowerCase();
  const alike = choices.filter((one) => typeof one === 'string' && one.toLowerCase() === folded);
  return alike.length === 1 ? (alike[0] as string) : text;
};

/** A time of RFC 3339 or ISO 8601 with an offset, with or without seconds. A plus sign that a query did not escape arrives as a space. */
const TIME =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?) ?([Zz]|[+ -]\d\d(?::?\d\d)?))?$/;
const MIDNIGHT = /^(\d{4}-\d\d-\d\d)[Tt ]00:00(?::00(?:[.,]0+)?)?(?:[Zz]|[+-]00:?00)?$/;

const offsetOf = (text: string): string => {
  if (/^z$/i.test(text)) return 'Z';
  const [, hours = '', minutes = '00'] = /^.(\d\d):?(\d\d)?$/.exec(text) ?? [];
  return `${text.startsWith('-') ? '-' : '+'}${hours}:${minutes}`;
};

/** Writes a time as RFC 3339 does; a day is its start in UTC. */
const readTime = (text: string): string => {
  const [, day, clock = '00:00', offset = 'Z'] = TIME.exec(text) ?? [];
  const seconds = clock.length === '00:00'.length ? ':00' : '';
  return day === undefined
    ? text
    : `${day}T${clock.replace(',', '.')}${seconds}${offsetOf(offset)}`;
};

/** Removes what people write between the digits of a telephone number, except `(0)`, which no international one has. */
const readPhone = (text: string): string =>
  text.includes('(0)') ? text : text.replaceAll(/[\s().\p{Pd}]/gu, '');

const FORMATS: Partial<Record<string, (text: string) => string>> = {
  datetime: readTime,
  date: (text) => MIDNIGHT.exec(text)?.[1] ?? text,
  e164: readPhone,
};

const readText = (def: object, text: string): string => {
  const read = 'format' in def ? FORMATS[String(def.format)] : undefined;
  return read ? read(text) : text;
};

const readOption = (options: readonly Schema[], value: unknown): unknown =>
  options.some((option) => accepts(option, value))
    ? value
    : (options
        .map((option) => ({ option, read: normalize(option, value) }))
        .find(({ option, read }) => accepts(option, read))?.read ?? value);

/** Reads a value by its schema; shares what needs no change with `value`. */
export const normalize = (schema: Schema, value: unknown): unknown => {
  const def = defOf(schema);
  if ('innerType' in def) return normalize(def.innerType, value);
  switch (def.type) {
    case 'object':
      return isRecord(value)
        ? readMembers(value, (name) =>
            Object.hasOwn(def.shape, name) ? def.shape[name] : undefined,
          )
        : value;
    case 'record':
      // An optional member is absent when it is null.
      return isRecord(value) ? readMembers(value, () => z.optional(def.valueType)) : value;
    case 'array':
      if (Array.isArray(value)) return readItems(value, def.element);
      return isItem(def.element, value) ? [normalize(def.element, value)] : value;
    case 'pipe':
      return normalize(def.in, value);
    case 'union':
      return readOption(def.options, value);
    case 'number':
      return typeof value === 'string' && NUMBER.test(value) ? Number(value) : value;
    case 'boolean':
      return readBoolean(value);
    case 'enum':
      return typeof value === 'string' ? readChoice(Object.values(def.entries), value) : value;
    case 'string':
      return typeof value === 'string' ? readText(def, value) : value;
    default:
      return value;
  }
};
