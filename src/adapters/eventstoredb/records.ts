/** Events of ours as EventStoreDB keeps them, and which of its records those are. */
import type { AllStreamRecordedEvent, EventData, RecordedEvent } from '@eventstore/db-client';
import type { FoldEvent, Meta, StoredEvent } from '#src/ports/event-log.ts';
import { type EncodedEvent, readEvent, upcastData, type Upcasts } from '../event-codec.ts';
import { positionOfEvent } from './positions.ts';

export type Recorded = RecordedEvent | AllStreamRecordedEvent;

const utf8 = new TextEncoder();

/**
 * From the text that was checked: what the caller does to its object afterwards changes nothing.
 * The client makes text of `data` itself; only JSON is shown and filtered as such by the server.
 */
export const dataOf = ({ id, type, data, meta }: EncodedEvent): EventData => ({
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

export type OurRecord = Recorded & { metadata: Meta; data: object };

/**
 * Whether Tributary wrote it as an event of the log. `$` begins what the server keeps for itself,
 * and the types of what we keep beside the log; a neighbour's event has no attribution.
 */
export const isOurs = (event: Recorded | undefined): event is OurRecord =>
  event !== undefined &&
  !event.type.startsWith('$') &&
  !event.streamId.startsWith('$') &&
  event.streamId.indexOf('-') > 0 &&
  event.isJson &&
  typeof event.data === 'object' &&
  isMeta(event.metadata);

const placeOf = ({ streamId, revision, ...event }: Recorded) => ({
  stream: streamId,
  owner: streamId.slice(0, streamId.indexOf('-')),
  revision: Number(revision),
  position: positionOfEvent(event),
});

/** Throws what event-codec's `readEvent` throws. */
export const storedOf = (upcasts: Upcasts, event: OurRecord): StoredEvent => {
  const { id, type, data, metadata } = event;
  return readEvent(upcasts, { id, type, data, meta: metadata, ...placeOf(event) });
};

export const foldedOf = (upcasts: Upcasts, event: OurRecord): FoldEvent => {
  const { type, metadata } = event;
  const data = upcastData(upcasts, type, metadata.v, event.data);
  return { ...placeOf(event), type, at: metadata.at, data };
};
