/** What every log adapter does with an event: validates it before the write and after the read. */
import { EVENTS } from '#contracts/registries/events.ts';
import {
  type Append,
  AppendTooLarge,
  type NewEvent,
  expectedRevision,
  type StoredEvent,
  type StreamRevision,
  UnknownEventType,
} from '#src/ports/event-log.ts';

/** Of data and attribution. Every command reads its stream whole, so a giant event slows them all. */
const EVENT_BYTES_MAX = 1_048_576;

/** By event type and by the `meta.v` of the stored event: converts its data to the next version. */
export type Upcasts = {
  readonly [type: string]: { readonly [v: number]: (data: object) => object };
};

/** Empty: all schemas are at their first version. */
export const UPCASTS: Upcasts = {};

export type EncodedEvent = {
  id: string;
  type: string;
  at: number;
  data: string;
  meta: string;
  bytes: number;
};

type Schema = (typeof EVENTS)[keyof typeof EVENTS];
const SCHEMAS = new Map<string, Schema>(Object.entries(EVENTS));

// A file or a line does not return a control character or a lone surrogate unchanged.
const STREAM = /^[^$\-\p{C}][^\-\p{C}]*-\P{C}+$/u;

/** Returns the part before the first dash. Throws TypeError if no log can store the name. */
const ownerOfStream = (stream: string): string => {
  if (!STREAM.test(stream)) throw new TypeError(`not a stream name: ${JSON.stringify(stream)}`);
  return stream.slice(0, stream.indexOf('-'));
};

/** Serializes at once, so that later changes of the caller's object are not stored. */
const encodeEvent = (event: NewEvent): EncodedEvent => {
  const schema = SCHEMAS.get(event.type);
  if (!schema) throw new TypeError(`event type ${event.type} is not in contracts/events`);
  const checked = schema.safeParse(event.data);
  if (!checked.success) throw new TypeError(`invalid ${event.type}: ${checked.error.message}`);
  if (!Number.isSafeInteger(event.meta.at)) {
    throw new TypeError(`meta.at of ${event.type} is not a time in milliseconds: ${event.meta.at}`);
  }
  const data = JSON.stringify(event.data);
  const meta = JSON.stringify(event.meta);
  const bytes = Buffer.byteLength(data) + Buffer.byteLength(meta);
  if (bytes > EVENT_BYTES_MAX) {
    throw new AppendTooLarge(
      `${event.type} has ${bytes} bytes; an event can have at most ${EVENT_BYTES_MAX}`,
    );
  }
  return { id: event.id, type: event.type, at: event.meta.at, data, meta, bytes };
};

export type EncodedAppend = {
  stream: string;
  owner: string;
  expected: number;
  unchanged: readonly StreamRevision[];
  confirm: (() => Promise<void>) | undefined;
  events: EncodedEvent[];
};

/** Validates and serializes appends to different streams. Throws TypeError or AppendTooLarge. */
export const encodeAppends = (appends: readonly Append[]): EncodedAppend[] => {
  if (appends.length === 0) throw new TypeError('nothing to append');
  const streams = new Set(appends.map(({ stream }) => stream));
  if (streams.size < appends.length) throw new TypeError('two appends to one stream in one call');
  return appends.map(encodeAppend);
};

const encodeAppend = ({ stream, expected, events }: Append): EncodedAppend => {
  const revision = expectedRevision(expected);
  if (!Number.isSafeInteger(revision) || revision < -1) {
    throw new TypeError(`not a revision: ${revision}`);
  }
  if (events.length === 0) throw new TypeError(`nothing to append to ${stream}`);
  return {
    stream,
    owner: ownerOfStream(stream),
    expected: revision,
    unchanged: typeof expected === 'number' ? [] : expected.unchanged,
    confirm: typeof expected === 'number' ? undefined : () => expected.confirm(),
    events: events.map(encodeEvent),
  };
};

/** Converts the data of an event written at version `v` to the newest version. */
export const upcastData = (
  upcasts: Upcasts,
  { type, v }: { type: string; v: number },
  data: object,
): object => {
  const step = upcasts[type]?.[v];
  return step ? upcastData(upcasts, { type, v: v + 1 }, step(data)) : data;
};

const placeOf = ({ position, stream, revision }: StoredEvent): string =>
  `position ${position} (${stream}, revision ${revision})`;

/** Throws UnknownEventType. */
const schemaOf = (event: StoredEvent): Schema => {
  const schema = SCHEMAS.get(event.type);
  if (schema) return schema;
  throw new UnknownEventType(
    `event type ${event.type} at ${placeOf(event)} is unknown to this version: a newer one wrote it`,
  );
};

/** Throws UnknownEventType when this version does not know the type of an event. */
export const requireKnownTypes = (events: readonly StoredEvent[]): void => {
  for (const event of events) schemaOf(event);
};

/**
 * Returns the event with its data at the newest version and otherwise as stored, with its unknown
 * fields, because proofs cover them. Throws when this version of the code does not know the event.
 */
export const readEvent = (upcasts: Upcasts, event: StoredEvent): StoredEvent => {
  const schema = schemaOf(event);
  const data = upcastData(upcasts, { type: event.type, v: event.meta.v }, event.data);
  const checked = schema.safeParse(data);
  if (!checked.success) {
    throw new Error(
      `${event.type} at ${placeOf(event)} does not fit its schema: ${checked.error.message}`,
    );
  }
  return { ...event, data };
};

/**
 * As `readEvent`, for histories and copies: an event of a type that this version does not know is returned
 * as it is stored. It changes no state here, and one such event must not hide all others.
 */
export const readAnyEvent = (upcasts: Upcasts, event: StoredEvent): StoredEvent =>
  SCHEMAS.has(event.type) ? readEvent(upcasts, event) : event;
