/** Reads the file of an audit, and checks it whole. */
import { createHash, hash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import {
  type Position,
  type EventLog,
  type FoldEvent,
  eventTextOf,
  foldEventOf,
  type StoredEvent,
} from '#src/ports/event-log.ts';
import { lowerBound } from '#src/ports/lower-bound.ts';
import { UPCASTS } from '#contracts/registries/events.ts';
import { isReadable, readAnyEvent, upcastData } from './event-codec.ts';

/**
 * The head of an audit file. The head is followed by one event a line in canonical JSON. Each line begins with a hash
 * of itself and of the line before, so a change, a cut and a different order are noticed at the line where they are.
 * The head contains the hash of all lines, and its own hash. Nothing in a file proves who wrote it.
 */
type AuditFileHead = {
  /** The file contains the owner's events after this position. */
  after: Position;
  /** Time of the owner's last event up to `up_to`. */
  at: string | null;
  classifier_version: number;
  events: number;
  format: 'tributary-audit';
  /** Of the head, with an empty text in its place. */
  head_sha256: string;
  log: string;
  owner: string;
  /** Proves the records; absent in a file of a service that made none. */
  proof?: object;
  /** Names that desk tokens were issued for, by the actor of their events, in order of the actor. */
  people?: Readonly<Record<string, string>>;
  /** Why personal data was opened. */
  reason?: string;
  /** The types of the events, and the newest version of the schema of each. */
  schemas: Readonly<Record<string, number>>;
  /** Of the body: every line after the head, with its line break. */
  sha256: string;
  /** The events of the owner that a read model is folded without; absent if there are none. */
  skips?: readonly { read_model: string; revision: number; stream: string }[];
  up_to: Position;
  version: 3;
};

/** Of a hash: 132 bits. */
const CHAIN_CHARS = 22;
/** The beginning of each line. */
const CHAIN_OPENING = '{"chain":"';
/** Where the rest of a line begins. */
const REST_AT = CHAIN_OPENING.length + CHAIN_CHARS + '",'.length;

/** Makes or checks the hashes of lines, each over the hash of the line before and the line without its own. */
class Chain {
  #last = '';

  /**
   * Returns the hash of the line in `bytes` that begins at `start` with room for its own hash. Writes the hash of the line
   * before over this room, because hashing a copy takes longer.
   */
  next(bytes: Buffer, start: number, end: number): string {
    const from = start + REST_AT - '{'.length - this.#last.length;
    bytes.write(`${this.#last}{`, from, 'latin1');
    this.#last = hash('sha256', bytes.subarray(from, end), 'base64url').slice(0, CHAIN_CHARS);
    return this.#last;
  }
}

/** Follows the hashes of a file's lines. */
class ChainReader {
  readonly #chain = new Chain();

  /**
   * Returns the text of the line from `start` to `end`; undefined if its hash is not right. The line contains no line break.
   * Changes its bytes.
   */
  next(bytes: Buffer, start: number, end: number): string | undefined {
    if (end - start < REST_AT) return undefined;
    const text = bytes.toString('utf8', start, end);
    return text.startsWith(`${CHAIN_OPENING}${this.#chain.next(bytes, start, end)}",`)
      ? text
      : undefined;
  }
}

const LINE_FEED = 10;
const UTF8_BYTES_MAX = 3;

/** Hashes a header line without its own hash field. */
const headHash = (line: string, own: string): string =>
  hash('sha256', line.replace(`"head_sha256":"${own}"`, '"head_sha256":""'), 'hex');

/** What precedes the type, and the version, in the canonical JSON of an event: each is the last such member. */
const TYPE = '"type":"';
const VERSION = '"v":';

/** Chains the lines of a body, and computes its hash. */
export class AuditBody {
  events = 0;
  readonly #schemas = new Map<string, number>();
  readonly #hash = createHash('sha256');
  readonly #chain = new Chain();
  /** One for all lines, because each further one of this size makes V8 collect garbage. */
  #bytes = Buffer.alloc(0);

  /** Returns the bytes of the lines with their hashes, each with a line break. They are valid until the next call. */
  add(lines: readonly string[]): Buffer {
    const bytes = this.#bytesFor(lines);
    let start = 0;
    for (const line of lines) {
      const at = start + REST_AT - '{'.length;
      const end = at + bytes.write(line, at);
      bytes.write(`${CHAIN_OPENING}${this.#chain.next(bytes, start, end)}",`, start, 'latin1');
      bytes[end] = LINE_FEED;
      start = end + 1;
      const type = line.slice(line.lastIndexOf(TYPE) + TYPE.length, -'"}'.length);
      const version = Number.parseInt(line.slice(line.lastIndexOf(VERSION) + VERSION.length), 10);
      this.#schemas.set(type, Math.max(version, this.#schemas.get(type) ?? 0));
    }
    this.events += lines.length;
    const body = bytes.subarray(0, start);
    this.#hash.update(body);
    return body;
  }

  #bytesFor(lines: readonly string[]): Buffer {
    let size = 0;
    for (const { length } of lines) size += REST_AT + UTF8_BYTES_MAX * length;
    if (size > this.#bytes.length) this.#bytes = Buffer.allocUnsafe(size);
    return this.#bytes;
  }

  /** Returns the head line with its line break. Call it once, after the last line. */
  head(
    about: Omit<
      AuditFileHead,
      'events' | 'format' | 'head_sha256' | 'schemas' | 'sha256' | 'version'
    >,
  ): string {
    const { after, at, classifier_version, log, owner, people = {}, proof, reason, up_to } = about;
    const skips = (about.skips ?? []).map(({ read_model, revision, stream }) => ({
      read_model,
      revision,
      stream,
    }));
    const names = Object.entries(people).sort(([a], [b]) => (a < b ? -1 : 1));
    // The members are in canonical order.
    const head: AuditFileHead = {
      after,
      at,
      classifier_version,
      events: this.events,
      format: 'tributary-audit',
      head_sha256: '',
      log,
      owner,
      ...(names.length > 0 && { people: Object.fromEntries(names) }),
      ...(proof && { proof }),
      ...(reason !== undefined && { reason }),
      schemas: Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => (a < b ? -1 : 1))),
      sha256: this.#hash.digest('hex'),
      ...(skips.length > 0 && { skips }),
      up_to,
      version: 3,
    };
    head.head_sha256 = headHash(JSON.stringify(head), '');
    return `${JSON.stringify(head)}\n`;
  }
}

/** A file that is refused; `line` counts from 1. */
export class AuditFileDamaged extends Error {
  override readonly name = 'AuditFileDamaged';
  readonly line: number;
  constructor(line: number, what: string) {
    super(`line ${line}: ${what}`);
    this.line = line;
  }
}

const CHUNK_BYTES = 1_048_576;
/** Of one line; an event has at most 1 MiB, and its opened texts are shorter than the sealed ones. */
const LINE_BYTES_MAX = 4_194_304;

export type AuditFile = Pick<
  EventLog,
  'head' | 'readOwner' | 'readOwnerText' | 'readOwnerFold' | 'readBack'
> & {
  about: AuditFileHead;
  /** Plain texts of sealed ones, if the file was exported with them. */
  opened: ReadonlyMap<string, string>;
  close(): void;
};

/** Where each event is in the file: two columns, in order of position. */
type Index = { positions: number[]; offsets: number[]; end: number };

const parseHead = (line: string): AuditFileHead => {
  let head: Partial<AuditFileHead> = {};
  try {
    head = JSON.parse(line) as Partial<AuditFileHead>;
  } catch {
    // Refused below.
  }
  if (head?.format !== 'tributary-audit' || typeof head.owner !== 'string')
    throw new AuditFileDamaged(1, 'this is not an audit file: its first line is not a head');
  const { version, head_sha256: own } = head;
  if (version !== 3)
    throw new AuditFileDamaged(
      1,
      `its version is ${String(version)}; this program reads version 3`,
    );
  if (own !== headHash(line, String(own)))
    throw new AuditFileDamaged(1, 'it was changed: its SHA-256 of itself is not right');
  if (!Array.isArray(head.skips ?? []))
    throw new AuditFileDamaged(1, 'its skips are no list of events');
  for (const [type, newest] of Object.entries(head.schemas ?? {}))
    if (!isReadable(type, newest))
      throw new AuditFileDamaged(
        1,
        `it has ${type} of version ${newest}, which this program does not know: use a newer one`,
      );
  return head as AuditFileHead;
};

/** A line from `start` to its line break at `end`; `offset` is its place in the file. */
type Line = { start: number; end: number; number: number; offset: number };

/** Whole lines of a file, with their line breaks. The bytes are valid until the next chunk is read. */
type Chunk = { bytes: Buffer; lines: Line[] };

/** Reads lines in one pass. Throws AuditFileDamaged if the last one has no line break. */
async function* chunksOf(path: string): AsyncGenerator<Chunk> {
  const file = await open(path);
  try {
    let bytes = Buffer.allocUnsafe(CHUNK_BYTES);
    let [number, offset, filled] = [0, 0, 0];
    for (;;) {
      if (filled === bytes.length) bytes = Buffer.concat([bytes], 2 * filled);
      const { bytesRead } = await file.read(bytes, filled, bytes.length - filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
      const lines: Line[] = [];
      let start = 0;
      for (let end = bytes.indexOf(LINE_FEED); end >= 0 && end < filled; ) {
        number += 1;
        lines.push({ start, end, number, offset: offset + start });
        start = end + 1;
        end = bytes.indexOf(LINE_FEED, start);
      }
      if (filled - start > LINE_BYTES_MAX) throw new AuditFileDamaged(number + 1, 'it is too long');
      yield { bytes: bytes.subarray(0, start), lines };
      bytes.copyWithin(0, start, filled);
      offset += start;
      filled -= start;
    }
    if (filled > 0)
      throw new AuditFileDamaged(number + 1, 'it is cut: it has no line break at its end');
  } finally {
    await file.close();
  }
}

type FileEvent = Omit<StoredEvent, 'owner'> & { opened?: Record<string, string> };

const parseLine = (text: string, number: number): FileEvent => {
  try {
    return JSON.parse(text) as FileEvent;
  } catch {
    throw new AuditFileDamaged(number, 'it is not JSON');
  }
};

type OpenOptions = {
  /** Receives the number of events so far and of all. */
  onRead?: ((events: number, total: number) => void) | undefined;
  /** Receives each event that was checked, in the order of the file, which may still turn out to be damaged. */
  onEvent?: (event: FoldEvent, about: AuditFileHead) => void;
};

/**
 * Opens a file: reads it whole, and checks every line. Costs one pass, and 16 bytes of memory an event. Throws
 * AuditFileDamaged.
 */
export const openAuditFile = async (
  path: string,
  { onRead, onEvent }: OpenOptions = {},
): Promise<AuditFile> => {
  const index: Index = { positions: [], offsets: [], end: 0 };
  const opened = new Map<string, string>();
  const body = createHash('sha256');
  const chain = new ChainReader();
  let about: AuditFileHead | undefined;
  let last = 0;
  for await (const { bytes, lines } of chunksOf(path)) {
    const [head] = about ? [] : lines.splice(0, 1);
    if (head) about = parseHead(bytes.toString('utf8', head.start, head.end));
    if (!about) continue;
    if (head) last = about.after;
    body.update(bytes.subarray(head ? head.end + 1 : 0));
    index.end += bytes.length;
    const { owner } = about;
    for (const { start, end, number, offset } of lines) {
      const text = chain.next(bytes, start, end);
      if (text === undefined)
        throw new AuditFileDamaged(
          number,
          'it was changed, or a line before it is missing or in another place',
        );
      const event = parseLine(text, number);
      const { position, stream, revision, type, data, meta } = event;
      if (position <= last || !stream.startsWith(`${owner}-`))
        throw new AuditFileDamaged(number, 'its event is out of order, or of another owner');
      last = position;
      index.positions.push(last);
      index.offsets.push(offset);
      if (event.opened)
        for (const [sealed, plain] of Object.entries(event.opened)) opened.set(sealed, plain);
      const current = upcastData(UPCASTS, { type, v: meta.v }, data);
      onEvent?.({ position, stream, owner, revision, type, data: current, at: meta.at }, about);
    }
    onRead?.(index.positions.length, about.events);
  }
  if (!about) throw new AuditFileDamaged(1, 'the file is empty');
  requireWhole(about, index.positions.length, body.digest('hex'));
  return readerOf(path, about, { index, opened });
};

/** Throws AuditFileDamaged if the head names another number of events, or another body. */
const requireWhole = ({ events, sha256 }: AuditFileHead, count: number, digest: string): void => {
  if (count !== events)
    throw new AuditFileDamaged(
      count + 2,
      `it is missing: the head names ${events} events, and the file has ${count}`,
    );
  if (digest !== sha256)
    throw new AuditFileDamaged(1, 'its SHA-256 is not that of the lines below');
};

const readerOf = (
  path: string,
  about: AuditFileHead,
  { index, opened }: { index: Index; opened: ReadonlyMap<string, string> },
): AuditFile => {
  const file = openSync(path, 'r');
  const { positions, offsets, end } = index;
  const countUpTo = (position: Position): number =>
    lowerBound(positions.length, (at) => (positions[at] ?? 0) <= position);
  const read = (from: number, to: number): StoredEvent[] => {
    if (from >= to) return [];
    const start = offsets[from] ?? 0;
    const bytes = Buffer.allocUnsafe((offsets[to] ?? end) - start);
    readSync(file, bytes, 0, bytes.length, start);
    const lines = bytes.toString('utf8').split('\n');
    return lines.slice(0, to - from).map((text, at) => {
      const { position, stream, revision, id, type, data, meta } = parseLine(text, from + at + 2);
      const event = { position, stream, owner: about.owner, revision, id, type, data, meta };
      return readAnyEvent(UPCASTS, event);
    });
  };
  const readUpTo = (
    owner: string,
    { after, limit, upTo = Infinity }: Parameters<EventLog['readOwner']>[1],
  ): StoredEvent[] => {
    if (owner !== about.owner) return [];
    const from = countUpTo(after);
    return read(from, Math.min(countUpTo(upTo), from + Math.max(0, limit)));
  };
  return {
    about,
    opened,
    async head() {
      return { position: about.up_to, at: about.at === null ? null : Date.parse(about.at) };
    },
    readOwner: async (owner, range) => readUpTo(owner, range),
    readOwnerText: async (owner, range) => readUpTo(owner, range).map(eventTextOf),
    readOwnerFold: async (owner, range) => readUpTo(owner, range).map(foldEventOf),
    async readBack({ upTo, limit, owner = about.owner }) {
      if (owner !== about.owner) return [];
      const to = countUpTo(upTo);
      return read(Math.max(0, to - Math.max(0, limit)), to);
    },
    close: () => closeSync(file),
  };
};
