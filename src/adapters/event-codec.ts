/** What every log adapter does to an event: check it before it is written and when it is read. */
import { EVENTS } from '#contracts/events/index.ts';
import {
  AppendTooLarge,
  type NewEvent,
  type StoredEvent,
  UnknownEventType,
} from '#src/ports/event-log.ts';

/** Of data and attribution. A stream is read whole: a giant would cost every later command. */
const EVENT_BYTES_MAX = 1_048_576;

/** By type and by the `meta.v` it was written at: makes its data one version newer. */
export type Upcasts = {
  readonly [type: string]: { readonly [v: number]: (data: object) => object };
};

/** None yet: all schemas stand at their first version. */
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

// A control character or a lone surrogate would not come back from a file or a line as it went in.
const STREAM = /^[^$\-\p{C}][^\-\p{C}]*-\P{C}+$/u;

/** The part before the first dash. Throws on a name that no log takes: a bug of the caller. */
export const ownerOf = (stream: string): string => {
  if (!STREAM.test(stream)) throw new TypeError(`not a stream name: ${JSON.stringify(stream)}`);
  return stream.slice(0, stream.indexOf('-'));
};

/** Text at once: what the caller does to its object afterwards changes nothing that is stored. */
const encodeEvent = (event: NewEvent): EncodedEvent => {
  const schema = SCHEMAS.get(event.type);
  if (!schema) throw new TypeError(`event type ${event.type} is not in contracts/events`);
  const checked = schema.safeParse(event.data);
  if (!checked.success) throw new TypeError(`invalid ${event.type}: ${checked.error.message}`);
  if (!Number.isSafeInteger(event.meta.at)) {
    throw new TypeError(`meta.at of ${event.type} is no time: ${event.meta.at}`);
  }
  const data = JSON.stringify(event.data);
  const meta = JSON.stringify(event.meta);
  const bytes = Buffer.byteLength(data) + Buffer.byteLength(meta);
  if (bytes > EVENT_BYTES_MAX) {
    throw new AppendTooLarge(
      `${event.type} of ${bytes} bytes; at most ${EVENT_BYTES_MAX} are stored`,
    );
  }
  return { id: event.id, type: event.type, at: event.meta.at, data, meta, bytes };
};

/** All events of one append, and where they go. */
export const encodeAppend = (
  stream: string,
  expected: number,
  events: readonly NewEvent[],
): { owner: string; events: EncodedEvent[] } => {
  if (!Number.isSafeInteger(expected) || expected < -1) {
    throw new TypeError(`not a revision: ${expected}`);
  }
  if (events.length === 0) throw new TypeError(`nothing to append to ${stream}`);
  return { owner: ownerOf(stream), events: events.map(encodeEvent) };
};

export const upcastData = (upcasts: Upcasts, type: string, v: number, data: object): object => {
  const step = upcasts[type]?.[v];
  return step ? upcastData(upcasts, type, v + 1, step(data)) : data;
};

const placeOf = ({ position, stream, revision }: StoredEvent): string =>
  `position ${position} (${stream}, revision ${revision})`;

/** Throws UnknownEventType. */
const schemaOf = (event: StoredEvent): Schema => {
  const schema = SCHEMAS.get(event.type);
  if (schema) return schema;
  throw new UnknownEventType(
    `event type ${event.type} at ${placeOf(event)} is unknown here: a newer version wrote it`,
  );
};

/** Throws UnknownEventType when this version does not know the type of an event. */
export const requireKnownTypes = (events: readonly StoredEvent[]): void => {
  for (const event of events) schemaOf(event);
};

/**
 * The event with its data at the newest version, as stored otherwise: unknown fields stay, since
 * proofs are made over them. Throws when this version of the code cannot know what it means.
 */
export const readEvent = (upcasts: Upcasts, event: StoredEvent): StoredEvent => {
  const schema = schemaOf(event);
  const data = upcastData(upcasts, event.type, event.meta.v, event.data);
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
