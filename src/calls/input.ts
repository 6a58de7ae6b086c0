/**
 * Reads an operation's input: first the forms of its values that have one meaning, then their schema. Describes its faults by
 * field, each with what is allowed there. A text that the contract itself gives (`error`) is used as it is; all other texts
 * about inputs are made here.
 */
import { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';
import type { Declared } from '#contracts/operation.ts';
import type { InputFault } from '#contracts/problems.ts';
import { codePointOf, INVISIBLE, beginningOf } from '#contracts/texts.ts';
import { closestName } from '#src/shared/closest-name.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';
import { refusedText } from '#src/shared/visible.ts';
import { pageMarks, identifier } from '#contracts/fields.ts';
import { isRecord, present } from '#src/shared/json.ts';
import { CREDENTIAL_PATTERN } from './authenticate.ts';
import type { ClientInfo } from '#src/shared/call.ts';

/*
 * Forms of a value that have one meaning: clients in other languages write null for what is absent, text for a number, and
 * one value for a list. Everything else is left as it is, for the schema to refuse.
 */

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

const READERS: Partial<Record<string, (text: string) => string>> = {
  datetime: readTime,
  date: (text) => MIDNIGHT.exec(text)?.[1] ?? text,
  e164: readPhone,
};

const readText = (def: object, text: string): string => {
  const read = 'format' in def ? READERS[String(def.format)] : undefined;
  return read ? read(text) : text;
};

const readOption = (options: readonly Schema[], value: unknown): unknown =>
  options.some((option) => accepts(option, value))
    ? value
    : (options
        .map((option) => ({ option, read: normalize(option, value) }))
        .find(({ option, read }) => accepts(option, read))?.read ?? value);

/** Reads a value by its schema; shares what needs no change with `value`. */
const normalize = (schema: Schema, value: unknown): unknown => {
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

type Issue = z.core.$ZodIssue;

/** The members of a JSON Schema that the texts are made from. */
type JsonSchema = {
  type?: string;
  format?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  items?: JsonSchema;
  required?: string[];
};

/** Texts for the formats that the contracts use. */
const FORMATS: Record<string, string> = {
  date: 'a day like 2026-11-21',
  datetime: 'a time like 2026-11-21T09:30:00Z',
  'date-time': 'a time like 2026-11-21T09:30:00Z',
  'idn-email': 'an e-mail address',
  e164: 'a number like +442071838750',
  url: 'a web address',
  uri: 'a web address',
};

const UNBOUND = Number.MAX_SAFE_INTEGER;

/** ` from 1 to 100`, ` of at least 1`; empty where there is no bound. */
const between = (least: number | undefined, most: number | undefined): string => {
  const low = least === undefined || least <= -UNBOUND ? undefined : least;
  const high = most === undefined || most >= UNBOUND ? undefined : most;
  if (low !== undefined && high !== undefined) return ` from ${low} to ${high}`;
  if (low !== undefined) return ` of at least ${low}`;
  return high === undefined ? '' : ` of at most ${high}`;
};

const oneOf = (values: readonly unknown[]): string => {
  const shown = values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  return shown.length === 1 ? (shown[0] ?? '') : `one of ${shown.join(', ')}`;
};

/** The end of a sentence that begins with "must be". */
const describe = (schema: JsonSchema): string => {
  if (schema.anyOf) return [...new Set(schema.anyOf.map(describe))].join(' or ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return oneOf(schema.enum);
  switch (schema.type) {
    case 'integer':
      return `a whole number${between(schema.minimum, schema.maximum)}`;
    case 'number':
      return `a number${between(schema.minimum, schema.maximum)}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return `a list${lengthOf(schema.minItems, schema.maxItems, 'item')}, each ${describe(schema.items ?? {})}`;
    case 'object':
      return `an object${schema.required ? ` with ${schema.required.join(' and ')}` : ''}`;
    default:
      return (
        FORMATS[schema.format ?? ''] ??
        `text${lengthOf(schema.minLength, schema.maxLength, 'character')}`
      );
  }
};

const counted = (count: number, what: string): string =>
  `${count} ${what}${count === 1 ? '' : 's'}`;

const lengthOf = (least = 0, most = UNBOUND, what = ''): string => {
  if (most >= UNBOUND) return least > 0 ? ` of at least ${counted(least, what)}` : '';
  return least > 0
    ? ` of ${least} to ${counted(most, what)}`
    : ` of at most ${counted(most, what)}`;
};

/** Texts by schema: each of a thousand lines may have the same fault. */
const textBySchema = new WeakMap<object, string>();

const expectedBy = (inst: z.core.$ZodRawIssue['inst']): string => {
  const schema = inst as z.ZodType;
  const known = textBySchema.get(schema);
  if (known !== undefined) return known;
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const words = describe(json as JsonSchema);
  textBySchema.set(schema, words);
  return words;
};

const tooFew = (origin: string, least: number | bigint): string => {
  if (origin === 'string')
    return least === 1 ? 'must not be empty' : `must have at least ${least} characters`;
  if (origin === 'array') return `must have at least ${counted(Number(least), 'item')}`;
  return `must be at least ${least}`;
};

const tooMany = (origin: string, most: number | bigint): string => {
  if (origin === 'string') return `must have at most ${counted(Number(most), 'character')}`;
  if (origin === 'array') return `must have at most ${counted(Number(most), 'item')}`;
  return `must be at most ${most}`;
};

/** Makes the text of an issue whose schema gives none. */
const messageOf = (issue: z.core.$ZodRawIssue): string | undefined => {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${expectedBy(issue.inst)}${otherKind(issue.input, issue.expected)}`;
    case 'invalid_union':
      return `must be ${expectedBy(issue.inst)}`;
    case 'invalid_value':
      return `must be ${oneOf(issue.values)}`;
    case 'invalid_format':
      return FORMATS[issue.format] && `must be ${FORMATS[issue.format]}`;
    case 'invalid_key':
      return issue.issues[0]?.message;
    case 'unrecognized_keys':
      // Not a text: what an issue keeps of its schema, which is read when its faults are made.
      return issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape).join(' ') : '';
    case 'too_small':
      return tooFew(issue.origin, issue.minimum);
    case 'too_big':
      return tooMany(issue.origin, issue.maximum);
    default:
      return undefined;
  }
};

/**
 * Names the kind of value that was sent, where that helps. All values of a query string are text, and those that
 * are numbers were converted before: to say of the others that they are text would mislead.
 */
const otherKind = (given: unknown, expected: string): string => {
  if (typeof given === 'number' && (expected === 'int' || expected === 'number')) return '';
  if (typeof given === 'string' && !/^-?\d{1,15}$/.test(given)) return '';
  return `, not ${kindOf(given)}`;
};

const kindOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return 'text';
  return typeof value === 'boolean' ? 'true or false' : 'a number';
};

/** Makes a JSON Pointer (RFC 6901) of a path. */
export const pointerOf = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** Faults whose value is not shown: it is a secret or personal data, or its name is at fault. */
const UNSHOWN: ReadonlySet<string> = new Set(['credential', 'pii_not_allowed', 'invalid_key']);
/** A credential of this service, or the user and password of a URL. */
const SECRET = new RegExp(`${CREDENTIAL_PATTERN.source}|//[^/?#]*@`);

/** Faults that a character which cannot be seen can explain. */
const EXPLAINED: ReadonlySet<string> = new Set(['invalid_format', 'invalid_value']);

/** Adds the value that was sent to a fault, and names its first invisible character. */
const withValue = (fault: InputFault, given: unknown): InputFault => {
  const { code, detail } = fault;
  if (typeof given !== 'string' && typeof given !== 'number' && typeof given !== 'boolean')
    return fault;
  const text = String(given);
  if (UNSHOWN.has(code) || SECRET.test(text)) return fault;
  const [hidden] = (EXPLAINED.has(code) && INVISIBLE.exec(text)) || [];
  const note = hidden === undefined ? '' : `; ${codePointOf(hidden)} in it cannot be seen`;
  return { ...fault, detail: detail + note, value: refusedText(text) };
};

type Hint = (name: string, known: readonly string[]) => string;

/** Makes the function that names the field which an unknown one of this input was meant to be. */
const hintFor = (): Hint => {
  let compared = 0;
  return (name, known) => {
    compared += 1;
    // A comparison takes up to 0.3 ms.
    const closest = compared > LIMITS.FAULTS_MAX ? undefined : closestName(name, known);
    return closest === undefined ? '' : `; did you mean ${closest}?`;
  };
};

/** Converts an issue of zod; an unknown field gets a pointer of its own. */
const faultsOf = (issue: Issue, raw: unknown, hint: Hint): InputFault[] => {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.slice(0, ISSUES_MAX).map((key) => ({
      pointer: pointerOf([...issue.path, key]),
      code: 'unknown_field',
      detail: `is not a field of this operation${hint(key, issue.message.split(' '))}`,
    }));
  const given = issue.path.reduce<unknown>(
    (value, part) => (value as Record<PropertyKey, unknown> | undefined | null)?.[part],
    raw,
  );
  const pointer = pointerOf(issue.path);
  if (given === undefined && issue.code !== 'custom')
    return [{ pointer, code: 'required', detail: 'is required' }];
  const detail = issue.message + nearest(issue, given, hint);
  return [withValue({ pointer, code: codeOf(issue), detail }, given)];
};

/** Of the values that a name may have, the one that it was meant to be. */
const nearest = (issue: Issue, given: unknown, hint: Hint): string =>
  issue.code === 'invalid_value' && issue.values.length > 1 && typeof given === 'string'
    ? hint(given, issue.values.map(String))
    : '';

/** The contract's own code, where it names one. */
const codeOf = (issue: Issue): string => {
  if (issue.code === 'invalid_union') return 'invalid_type';
  const named: unknown = issue.code === 'custom' ? issue.params?.['code'] : undefined;
  return typeof named === 'string' ? named : issue.code;
};

/** Ranks the faults of one field: the lowest is named. */
const rankOf = ({ code }: InputFault): number => {
  if (UNSHOWN.has(code)) return 0;
  return code === 'invalid_type' ? 1 : 2;
};

/** Keeps one fault of each field; of several limits of the same kind, the last and narrowest. */
const withoutRepetitions = (faults: readonly InputFault[]): InputFault[] => {
  const faultByPointer = new Map<string, InputFault>();
  for (const fault of faults) {
    const other = faultByPointer.get(fault.pointer);
    const isNarrower = fault.code === other?.code && fault.code !== 'custom';
    if (!other || isNarrower || rankOf(fault) < rankOf(other))
      faultByPointer.set(fault.pointer, fault);
  }
  return [...faultByPointer.values()];
};

/** Issues that are made into faults: some of them are one fault, and one more than FAULTS_MAX says that there are more. */
const ISSUES_MAX = 3 * (LIMITS.FAULTS_MAX + 1);

const parseRaw = (schema: z.core.$ZodType, value: unknown) =>
  schema._zod.run({ value, issues: [] }, { async: false }) as z.core.ParsePayload;

/** The list that a field takes, also where it is optional; undefined for other fields. */
const listIn = (field: z.core.$ZodType): z.core.$ZodArray | undefined => {
  if (field instanceof z.ZodOptional || field instanceof z.ZodDefault)
    return listIn(field.unwrap());
  return field instanceof z.ZodArray ? field : undefined;
};

const mostIn = ({ _zod: { def } }: z.core.$ZodArray): number => {
  const bounds = def.checks?.map((check) => check._zod.def as { maximum?: number }) ?? [];
  return Math.min(...bounds.map(({ maximum = Infinity }) => maximum));
};

/** Ends a list after the item with which its faults are too many to be named: the rest would cost as much again. */
const cutList = (field: z.core.$ZodType, items: unknown): unknown => {
  if (!Array.isArray(items) || items.length <= LIMITS.FAULTS_MAX) return items;
  const list = listIn(field);
  // A list that is too long is refused for that alone.
  if (!list || items.length > mostIn(list)) return items;
  let issues = 0;
  for (const [index, item] of items.entries()) {
    issues += parseRaw(list._zod.def.element, item).issues.length;
    if (issues > ISSUES_MAX) return items.slice(0, index + 1);
  }
  return items;
};

const withCutLists = (schema: z.ZodType, raw: unknown): unknown => {
  if (!(schema instanceof z.ZodObject) || typeof raw !== 'object' || raw === null) return raw;
  const given = raw as Record<string, unknown>;
  const cut = Object.entries<z.core.$ZodType>(schema.shape).flatMap(([name, field]) => {
    const items = cutList(field, given[name]);
    return items === given[name] ? [] : [[name, items]];
  });
  return cut.length === 0 ? raw : { ...raw, ...Object.fromEntries(cut) };
};

/**
 * Parses a value by its schema: the value, or its first faults with their pointers, one more than FAULTS_MAX if it has
 * more. A refusal costs less than an answer would: texts are made for the faults that are named, not for all.
 */
export const readInput = <Value>(
  schema: z.ZodType<Value>,
  sent: unknown,
): { value: Value } | { faults: InputFault[] } => {
  const raw = normalize(schema, sent);
  const { value, issues } = parseRaw(schema, withCutLists(schema, raw));
  if (issues.length === 0) return { value: value as Value };
  const hint = hintFor();
  const faults = issues
    .slice(0, ISSUES_MAX)
    .map((issue) => z.core.util.finalizeIssue(issue, { error: messageOf }, z.core.config()))
    .flatMap((issue) => faultsOf(issue, raw, hint));
  return { faults: withoutRepetitions(faults).slice(0, LIMITS.FAULTS_MAX + 1) };
};

/** Finds every text of an input that is shaped like a credential. */
function* secretsIn(value: unknown, path: readonly PropertyKey[] = []): Generator<InputFault> {
  if (typeof value === 'string' && CREDENTIAL_PATTERN.test(value))
    yield {
      pointer: pointerOf(path),
      code: 'credential',
      detail: 'contains something that looks like a credential',
    };
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) yield* secretsIn(member, [...path, name]);
}

export type Parsable<Input extends object> = Pick<Declared, 'kind'> & { input: z.ZodType<Input> };

export type Parsed<Input> = { input: Input } | { refusal: Refusal };

/**
 * Validates an input against the operation's schema: its faults with their pointers. A command of an agent
 * or at the desk needs its idempotency key, and no field of it may hold a credential.
 */
export const parseInput = <Input extends object>(
  operation: Parsable<Input>,
  raw: Record<string, unknown>,
): Parsed<Input> => {
  const read = parseFields(operation, raw);
  if (operation.kind === 'query') return read;
  const { errors = [] } = 'refusal' in read ? read.refusal : {};
  const others = errors.filter(({ pointer }) => pointer !== '/idempotency_key');
  const refusal = refuseKey(raw['idempotency_key'], others.length < errors.length);
  // Also names the faults of the other fields.
  if (refusal) return { refusal: { ...refusal, ...(others.length > 0 && { errors: others }) } };
  if ('refusal' in read) return read;
  return CREDENTIAL_PATTERN.test(JSON.stringify(read.input))
    ? {
        refusal: refuse('secret_in_payload', 'A field holds something shaped like a key.', {
          errors: secretsIn(read.input).take(LIMITS.FAULTS_MAX).toArray(),
        }),
      }
    : read;
};

/** Validates the fields alone, for operations that no key makes idempotent. */
export const parseFields = <Input extends object>(
  operation: Parsable<Input>,
  raw: Record<string, unknown>,
): Parsed<Input> => {
  const read = readInput(operation.input, raw);
  if (!('faults' in read)) return { input: read.value };
  const errors = read.faults.slice(0, LIMITS.FAULTS_MAX);
  const isQuery = operation.kind === 'query';
  const count = new Set(errors.map(({ pointer }) => pointer)).size;
  const what = isQuery ? 'parameter' : 'field';
  const detail =
    errors.length < read.faults.length
      ? `More than ${errors.length} faults; the first ${errors.length} are named.`
      : `${count} ${what}${count === 1 ? ' is' : 's are'} not valid.`;
  return {
    refusal: refuse(isQuery ? 'parameter_invalid' : 'validation_failed', detail, { errors }),
  };
};

const refuseKey = (key: unknown, isInvalid: boolean): Refusal | undefined => {
  if (key === undefined || key === null)
    return refuse('idempotency_key_required', 'This write needs an idempotency key.');
  return isInvalid
    ? refuse(
        'idempotency_key_invalid',
        `Send one key of 1 to ${LIMITS.IDEMPOTENCY_KEY_CHARS_MAX} of A-Z a-z 0-9 . _ : ~ + / = -.`,
      )
    : undefined;
};

// Which assistant an agent acts with, as its client names itself: kept with events, and never trusted.
const NAME_CHARS_MAX = 64;
const VERSION_CHARS_MAX = 32;

/** Returns a text without what cannot be seen; undefined if nothing is left, or if it has contact details or a credential. */
const cleaned = (value: unknown, max: number): string | undefined => {
  if (typeof value !== 'string' || CREDENTIAL_PATTERN.test(value)) return undefined;
  // Cut only after it was read whole: a part of an address is none.
  const read = identifier(16 * max).safeParse(beginningOf(value.toWellFormed(), 16 * max));
  return read.success ? beginningOf(read.data, max).trim() || undefined : undefined;
};

const clientOf = (said: {
  name: unknown;
  version: unknown;
  model: unknown;
}): ClientInfo | undefined => {
  const name = cleaned(said.name, NAME_CHARS_MAX);
  if (name === undefined) return undefined;
  const version = cleaned(said.version, VERSION_CHARS_MAX);
  return { name, ...present({ version, model: cleaned(said.model, NAME_CHARS_MAX) }) };
};

const PRODUCT = /^\s*([^\s/();,]+)(?:\/([^\s();,]+))?/;
const MODEL = /(?:^|\s)model\/([^\s();,]+)/i;

/** Reads the first product of a User-Agent, and the product `model`: `acme-agent/1.2 model/gpt-5`. */
export const clientInAgent = (userAgent: string | undefined): ClientInfo | undefined => {
  const [, name, version] = PRODUCT.exec(userAgent ?? '') ?? [];
  return clientOf({ name, version, model: MODEL.exec(userAgent ?? '')?.[1] });
};

/** Reads a client from `clientInfo` ({ name, version }), and its model from there or from beside it. */
export const clientIn = (clientInfo: unknown, model?: unknown): ClientInfo | undefined =>
  isRecord(clientInfo)
    ? clientOf({
        name: clientInfo['name'],
        version: clientInfo['version'],
        model: model ?? clientInfo['model'],
      })
    : undefined;
