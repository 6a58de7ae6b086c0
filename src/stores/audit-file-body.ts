/**
 * The file of an audit: a head, then one event a line in canonical JSON. Each line begins with a hash of itself and of the
 * line before, so a change, a cut and another order are noticed at the line where they are. The head has the hash of all
 * lines, and one of itself.
 * Nothing in a file proves who wrote it.
 */
import { createHash, hash } from 'node:crypto';
import type { Position } from '#src/ports/event-log.ts';

export type AuditFileHead = {
  /** The file has the owner's events after this position. */
  after: Position;
  /** Time of the owner's last event up to `up_to`. */
  at: string | null;
  classifier_version: number;
  events: number;
  format: 'tributary-audit';
  /** Of the head, with an empty text in its place. Files of version 1 have none. */
  head_sha256?: string;
  log: string;
  owner: string;
  /** Names that desk tokens were issued for, by the actor of their events, in order of the actor. */
  people?: Readonly<Record<string, string>>;
  /** Why personal data was opened. */
  reason?: string;
  /** Of the body: every line after the head, with its line break. */
  sha256: string;
  up_to: Position;
  version: 1 | 2;
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

/** Follows the hashes of the lines of a file. */
export class ChainReader {
  readonly #chain = new Chain();

  /**
   * Returns the text of the line from `start` to `end`; undefined if its hash is not right. The line has no line break.
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
export const headHash = (line: string, own: string): string =>
  hash('sha256', line.replace(`"head_sha256":"${own}"`, '"head_sha256":""'), 'hex');

/** Chains the lines of a body, and computes its hash. */
export class AuditBody {
  events = 0;
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
    about: Omit<AuditFileHead, 'events' | 'format' | 'head_sha256' | 'sha256' | 'version'>,
  ): string {
    const { after, at, classifier_version, log, owner, people = {}, reason, up_to } = about;
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
      ...(reason !== undefined && { reason }),
      sha256: this.#hash.digest('hex'),
      up_to,
      version: 2,
    };
    head.head_sha256 = headHash(JSON.stringify(head), '');
    return `${JSON.stringify(head)}\n`;
  }
}
