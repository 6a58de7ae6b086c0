/** Conversion of events to and from EventStoreDB's records. */
import type { AllStreamRecordedEvent, EventData, RecordedEvent } from '@eventstore/db-client';
import type { FoldEvent, Meta, Position, StoredEvent } from '#src/ports/event-log.ts';
import { type EncodedEvent, upcastData, type Upcasts } from '#src/stores/event-codec.ts';
import { positionOf } from './positions.ts';

/** A record of the server: an event of the log, or what others store in the database. */
export type Recorded = {
  readonly id: string;
  readonly streamId: string;
  readonly type: string;
  /** Rounded in the record of a deletion. */
  readonly revision: number;
  readonly position: Position;
  /** Whether the data is declared as JSON and begins like an object. */
  readonly isObject: boolean;
  /** Parsed JSON, or bytes. */
  readonly data: unknown;
  /** Parsed JSON; undefined if it is none. */
  readonly metadata: unknown;
};

export const toRecorded = (record: RecordedEvent | AllStreamRecordedEvent): Recorded => ({
  id: record.id,
  streamId: record.streamId,
  type: record.type,
  revision: Number(record.revision),
  position: positionOf(record.position?.commit),
  isObject: record.isJson && typeof record.data === 'object',
  data: record.data,
  metadata: record.metadata,
});

const utf8 = new TextEncoder();

/**
 * Makes an append of the encoded text, so that later changes to the caller's object have no effect.
 * `data` is parsed again because the client serializes it itself; only data that is declared as JSON
 * can be displayed and filtered by the server.
 */
export const toEventData = ({ id, type, data, meta }: EncodedEvent): EventData => ({
  id,
  type,
  contentType: 'application/json',
  data: JSON.parse(data),
  metadata: utf8.encode(meta),
});

const isMeta = (metadata: unknown): metadata is Meta =>
  typeof metadata === 'object' &&
  metadata !== null &&
  'at' in metadata &&
  Number.isSafeInteger(metadata.at) &&
  'v' in metadata &&
  typeof metadata.v === 'number';

export type LogRecord = Recorded & { metadata: Meta; data: object };

/**
 * Reports whether a record is an event of Tributary's log. Types and streams that begin with `$`
 * belong to the server, or to what Tributary stores beside the log; events of other applications
 * have no attribution.
 */
export const isLogRecord = (record: Recorded | undefined): record is LogRecord =>
  record !== undefined &&
  !record.type.startsWith('$') &&
  !record.streamId.startsWith('$') &&
  record.streamId.indexOf('-') > 0 &&
  record.isObject &&
  isMeta(record.metadata);

const originOf = ({ streamId, revision, position }: Recorded) => ({
  stream: streamId,
  owner: streamId.slice(0, streamId.indexOf('-')),
  revision,
  position,
});

/** Converts a record to an event as it is stored: `readEvent` or `readAnyEvent` in event-codec checks it. */
export const toStoredEvent = (record: LogRecord): StoredEvent => {
  const { id, type, data, metadata } = record;
  return { id, type, data, meta: metadata, ...originOf(record) };
};

/** Converts a record to an event whose data is parsed when it is first read. */
export const toFoldEvent = (upcasts: Upcasts, record: LogRecord): FoldEvent => {
  const { type, metadata, streamId, revision, position } = record;
  let data: object | undefined;
  return {
    stream: streamId,
    owner: streamId.slice(0, streamId.indexOf('-')),
    revision,
    position,
    type,
    at: metadata.at,
    get data() {
      return (data ??= upcastData(upcasts, { type, v: metadata.v }, record.data));
    },
  };
};

/** Returns the events among the records after `after`, and the position of the last record. */
export const logPageOf = (
  upcasts: Upcasts,
  records: readonly Recorded[],
  after: Position,
): { events: FoldEvent[]; position: Position } => {
  const events: FoldEvent[] = [];
  let position = after;
  for (const record of records) {
    if (record.position <= position) continue;
    position = record.position;
    if (isLogRecord(record)) events.push(toFoldEvent(upcasts, record));
  }
  return { events, position };
};
