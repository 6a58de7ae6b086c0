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
  /** Why personal data was opened. */
  reason?: string;
  /** Of the body: every line after the head, with its line break. */
  sha256: string;
  up_to: Position;
  version: 1;
};

/** Of a hash: 132 bits. */
export const CHAIN_CHARS = 22;
/** The beginning of each line. */
export const CHAIN_OPENING = '{"chain":"';

/** The hash of a line, without its own, and of the hash of the line before. */
export const chainOf = (previous: string, line: string): string =>
  hash('sha256', previous + line, 'base64url').slice(0, CHAIN_CHARS);

/** Chains the lines of a body, and computes its hash. */
export class AuditBody {
  events = 0;
  readonly #hash = createHash('sha256');
  #chain = '';

  /** Returns the lines with their chains, each with a line break. */
  add(lines: readonly string[]): string {
    let text = '';
    for (const line of lines) {
      this.#chain = chainOf(this.#chain, line);
      text += `${CHAIN_OPENING}${this.#chain}",${line.slice(1)}\n`;
    }
    this.events += lines.length;
    this.#hash.update(text);
    return text;
  }

  /** Returns the head line with its line break. Call it once, after the last line. */
  head(about: Omit<AuditFileHead, 'events' | 'format' | 'sha256' | 'version'>): string {
    const { after, at, classifier_version, log, owner, reason, up_to } = about;
    // The members are in canonical order.
    const head: AuditFileHead = {
      after,
      at,
      classifier_version,
      events: this.events,
      format: 'tributary-audit',
      log,
      owner,
      ...(reason !== undefined && { reason }),
      sha256: this.#hash.digest('hex'),
      up_to,
      version: 1,
    };
    return `${JSON.stringify(head)}\n`;
  }
}
