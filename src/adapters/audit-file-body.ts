/**
 * The file of an audit: a head, then one event a line in canonical JSON. Each line begins with a hash of itself and of the
 * line before, so a change, a cut and another order are noticed at the line where they are. The head has the hash of all.
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
  log: string;
  owner: string;
  /** Names that desk tokens were issued for, by the actor of their events, in order of the actor. */
  people?: Readonly<Record<string, string>>;
  /** Why personal data was opened. */
  reason?: string;
  /** Of the body: every line after the head, with its line break. */
  sha256: string;
  up_to: Position;
  version: 1;
};

/** Of a hash: 132 bits. */
const CHAIN_CHARS = 22;
/** The beginning of each line. */
const CHAIN_OPENING = '{"chain":"';
/** Where the rest of a line begins. */
const REST_AT = CHAIN_OPENING.length + CHAIN_CHARS + '",'.length;

/** The hash of the hash of the line before and of a line without its own. */
const chainOf = (text: string | Buffer): string =>
  hash('sha256', text, 'base64url').slice(0, CHAIN_CHARS);

/** Follows the hashes of the lines of a file. */
export class ChainReader {
  #chain = '';

  /**
   * Returns the text of a line without its hash; undefined if this hash is not right. `line` has no line break. Changes its
   * bytes, which is faster than a copy: the hash of the line before replaces its own.
   */
  next(line: Buffer): string | undefined {
    if (line.length < REST_AT) return undefined;
    const opening = line.toString('latin1', 0, REST_AT);
    const start = REST_AT - '{'.length;
    const from = start - this.#chain.length;
    line.write(`${this.#chain}{`, from, 'latin1');
    this.#chain = chainOf(line.subarray(from));
    const isRight = opening === `${CHAIN_OPENING}${this.#chain}",`;
    return isRight ? line.toString('utf8', start) : undefined;
  }
}

/** Chains the lines of a body, and computes its hash. */
export class AuditBody {
  events = 0;
  readonly #hash = createHash('sha256');
  #chain = '';

  /** Returns the bytes of the lines with their chains, each with a line break. */
  add(lines: readonly string[]): Buffer {
    let text = '';
    for (const line of lines) {
      this.#chain = chainOf(this.#chain + line);
      text += `${CHAIN_OPENING}${this.#chain}",${line.slice(1)}\n`;
    }
    this.events += lines.length;
    const bytes = Buffer.from(text);
    this.#hash.update(bytes);
    return bytes;
  }

  /** Returns the head line with its line break. Call it once, after the last line. */
  head(about: Omit<AuditFileHead, 'events' | 'format' | 'sha256' | 'version'>): string {
    const { after, at, classifier_version, log, owner, people = {}, reason, up_to } = about;
    const names = Object.entries(people).sort(([a], [b]) => (a < b ? -1 : 1));
    // The members are in canonical order.
    const head: AuditFileHead = {
      after,
      at,
      classifier_version,
      events: this.events,
      format: 'tributary-audit',
      log,
      owner,
      ...(names.length > 0 && { people: Object.fromEntries(names) }),
      ...(reason !== undefined && { reason }),
      sha256: this.#hash.digest('hex'),
      up_to,
      version: 1,
    };
    return `${JSON.stringify(head)}\n`;
  }
}
