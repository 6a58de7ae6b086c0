/** Conversion of events to and from EventStoreDB's records. */
import type { AllStreamRecordedEvent, EventData, RecordedEvent } from '@eventstore/db-client';
import type { FoldEvent, Meta, StoredEvent } from '#src/ports/event-log.ts';
import { type EncodedEvent, upcastData, type Upcasts } from '../event-codec.ts';
import { positionOfEvent } from './positions.ts';

export type Recorded = RecordedEvent | AllStreamRecordedEvent;

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
  record.isJson &&
  typeof record.data === 'object' &&
  isMeta(record.metadata);

const originOf = ({ streamId, revision, ...record }: Recorded) => ({
  stream: streamId,
  owner: streamId.slice(0, streamId.indexOf('-')),
  revision: Number(revision),
  position: positionOfEvent(record),
});

/** Converts a record to an event as it is stored: `readEvent` or `readAnyEvent` in event-codec checks it. */
export const toStoredEvent = (record: LogRecord): StoredEvent => {
  const { id, type, data, metadata } = record;
  return { id, type, data, meta: metadata, ...originOf(record) };
};

export const toFoldEvent = (upcasts: Upcasts, record: LogRecord): FoldEvent => {
  const { type, metadata } = record;
  const data = upcastData(upcasts, { type, v: metadata.v }, record.data);
  return { ...originOf(record), type, at: metadata.at, data };
};
