/**
 * Decodes the messages of a read or a subscription (`ReadResp` in EventStoreDB's streams.proto) without
 * parsing the contents of records: the client's decoder costs several times as much as the message does
 * on the network, and parses JSON that no fold of this process needs.
 */
import { LogCorrupted, type Position } from '#src/ports/event-log.ts';
import { exactPosition } from './positions.ts';
import type { Recorded } from './recorded-events.ts';

/** `other`: a message without meaning here, such as the confirmation of a subscription. */
export type ReadItem = Recorded | { checkpoint: Position } | 'caughtUp' | 'other';

/** Field numbers. */
const EVENT = 1;
const CHECKPOINT = 3;
const CAUGHT_UP = 8;

const LENGTH_DELIMITED = 2;
/** Bytes of a value of wire type 1 or 5. */
const FIXED_BYTES: { readonly [wireType: number]: number } = { 1: 8, 5: 4 };

/** A cursor over the fields of one message, between two offsets of a buffer. */
class Fields {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;
  #wireType = 0;
  /** Number of the field that `next` reached. */
  field = 0;

  constructor(bytes: Buffer, at = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = at;
    this.#end = end;
  }

  /** Moves to the next field. Each field must be read or skipped before the next call. */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    const tag = this.varint();
    this.field = Math.floor(tag / 8);
    this.#wireType = tag % 8;
    return true;
  }

  /** Rounded above 2^53. */
  varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined)
        throw new RangeError('13 INTERNAL: a message of the server is cut off');
      this.#at += 1;
      value += (byte % 128) * factor;
      if (byte < 128) return value;
    }
  }

  message(): Fields {
    const [start, end] = this.#range();
    return new Fields(this.#bytes, start, end);
  }

  text(): string {
    const [start, end] = this.#range();
    return this.#bytes.toString('utf8', start, end);
  }

  bytes(): Buffer {
    const [start, end] = this.#range();
    return this.#bytes.subarray(start, end);
  }

  skip(): void {
    if (this.#wireType === 0) this.varint();
    else if (this.#wireType === LENGTH_DELIMITED) this.#range();
    else this.#at += FIXED_BYTES[this.#wireType] ?? Infinity;
  }

  #range(): [start: number, end: number] {
    const length = this.varint();
    const start = this.#at;
    this.#at += length;
    return [start, this.#at];
  }
}

export const decodeReadResponse = (bytes: Buffer): ReadItem => {
  const fields = new Fields(bytes);
  while (fields.next()) {
    if (fields.field === EVENT) return decodeEvent(fields.message());
    if (fields.field === CHECKPOINT) return { checkpoint: firstPosition(fields.message()) };
    if (fields.field === CAUGHT_UP) return 'caughtUp';
    fields.skip();
  }
  return 'other';
};

const firstPosition = (fields: Fields): Position => {
  let commit = 0;
  while (fields.next())
    if (fields.field === 1) commit = fields.varint();
    else fields.skip();
  return exactPosition(commit);
};

const decodeEvent = (fields: Fields): ReadItem => {
  while (fields.next()) {
    if (fields.field === 1) return new LazyRecord(fields.message());
    fields.skip();
  }
  return 'other';
};

const lastText = (fields: Fields, wanted: number): string => {
  let text = '';
  while (fields.next())
    if (fields.field === wanted) text = fields.text();
    else fields.skip();
  return text;
};

/** A record whose data and metadata are parsed when they are first read. */
class LazyRecord implements Recorded {
  id = '';
  streamId = '';
  type = '';
  revision = 0;
  position = 0;
  isJson = false;
  #metadata: Buffer | undefined;
  #data: Buffer | undefined;
  #parsed: unknown;
  #parsedMetadata: unknown;

  constructor(fields: Fields) {
    while (fields.next()) this.#take(fields);
  }

  get isObject(): boolean {
    return this.isJson && this.#data?.[0] === 0x7b;
  }

  /** The parsed JSON, or the bytes. Throws LogCorrupted. */
  get data(): unknown {
    if (!this.isJson) return this.#data;
    try {
      return (this.#parsed ??= JSON.parse(this.#data?.toString() ?? ''));
    } catch (cause) {
      throw new LogCorrupted(`the data at position ${this.position} is not JSON`, { cause });
    }
  }

  /** Undefined where it is not JSON. */
  get metadata(): unknown {
    if (this.#metadata) {
      try {
        this.#parsedMetadata = JSON.parse(this.#metadata.toString());
      } catch {
        // Another application's.
      }
      this.#metadata = undefined;
    }
    return this.#parsedMetadata;
  }

  #take(fields: Fields): void {
    switch (fields.field) {
      case 1:
        this.id = lastText(fields.message(), 2);
        return;
      case 2:
        this.streamId = lastText(fields.message(), 3);
        return;
      case 3:
        this.revision = fields.varint();
        return;
      case 5:
        this.position = exactPosition(fields.varint());
        return;
      case 6:
        this.#takeProperty(fields.message());
        return;
      case 7:
        this.#metadata = fields.bytes();
        return;
      case 8:
        this.#data = fields.bytes();
        return;
      default:
        fields.skip();
    }
  }

  #takeProperty(fields: Fields): void {
    let name = '';
    let value = '';
    while (fields.next())
      if (fields.field === 1) name = fields.text();
      else if (fields.field === 2) value = fields.text();
      else fields.skip();
    if (name === 'type') this.type = value;
    else if (name === 'content-type') this.isJson = value === 'application/json';
  }
}
