/** JSON: one canonical text for each value, objects without absent members, and a scan that refuses what parsers read differently. */
import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { LIMITS } from '#contracts/limits.ts';

/** Whether a value is a JSON object. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Writes JSON in canonical form (JCS, RFC 8785). Throws on a lone surrogate. */
export const canonicalJson = (value: object): string => canonicalize(value) ?? '';

/** SHA-256 of the canonical form, in hex. */
export const hashOfJson = (value: object): string => hash('sha256', canonicalJson(value), 'hex');

/** Why a JSON text is refused, with a JSON Pointer to the place. */
export type ScanFault = { pointer: string; code: string; detail: string };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** An object or list that is open: the names so far (null for a list), the last name, the index. */
type Frame = { names: Set<string> | null; name: string; index: number };

/**
 * Scans the raw text once, without recursion, before it is parsed. Refuses what JSON.parse accepts
 * but changes (a repeated name, of which the last wins; a name that reaches a prototype; 1e400;
 * 2^53+1) and what it cannot handle (deep nesting). Reports no syntax errors: JSON.parse does.
 */
export const scanJson = (text: string): ScanFault | undefined => new Scanner(text).scan();

class Scanner {
  readonly #text: string;
  readonly #stack: Frame[] = [];
  #at = 0;
  /** Every value but the outermost is a member of an object or a list. */
  #members = -1;
  #expectsName = false;

  constructor(text: string) {
    this.#text = text;
  }

  scan(): ScanFault | undefined {
    for (; this.#at < this.#text.length; this.#at += 1) {
      const fault = this.#token(this.#text.charCodeAt(this.#at));
      if (fault) return fault;
      if (this.#members > LIMITS.JSON_MEMBERS_MAX) return this.#tooMany();
    }
    return undefined;
  }

  #token(code: number): ScanFault | undefined {
    switch (code) {
      case 0x7b: // {
        return this.#open(new Set());
      case 0x5b: // [
        return this.#open(null);
      case 0x7d: // }
      case 0x5d: // ]
        if (!this.#stack.pop()) this.#stop();
        this.#expectsName = false;
        return undefined;
      case 0x2c: // ,
        return this.#separate(this.#stack.at(-1));
      case QUOTE:
        return this.#string();
      case 0x74: // true
      case 0x66: // false
      case 0x6e: // null
        this.#members += 1;
        return undefined;
      default:
        return isNumberStart(code) ? this.#number() : undefined;
    }
  }

  #open(names: Frame['names']): ScanFault | undefined {
    if (this.#stack.length >= LIMITS.JSON_DEPTH_MAX)
      return this.#fault('too_deep', `nests deeper than ${LIMITS.JSON_DEPTH_MAX}`);
    this.#members += 1;
    if (this.#members > LIMITS.JSON_MEMBERS_MAX) return this.#tooMany();
    this.#stack.push({ names, name: '', index: 0 });
    this.#expectsName = names !== null;
    return undefined;
  }

  #separate(top: Frame | undefined): undefined {
    if (!top) return;
    top.index += 1;
    this.#expectsName = top.names !== null;
  }

  #string(): ScanFault | undefined {
    const end = endOfString(this.#text, this.#at);
    if (end < 0) return this.#stop();
    const raw = this.#text.slice(this.#at, end + 1);
    this.#at = end;
    const value = raw.includes('\\') ? unescape(raw) : raw.slice(1, -1);
    const top = this.#stack.at(-1);
    const names = this.#expectsName ? top?.names : null;
    if (top && names) top.name = value.toWellFormed();
    else this.#members += 1;
    if (!value.isWellFormed())
      return this.#fault('lone_surrogate', 'holds half of a surrogate pair');
    if (!names) return undefined;
    if (this.#isReserved()) return this.#fault('reserved_name', 'is a reserved name');
    if (names.has(value)) return this.#fault('duplicate_name', 'is given twice');
    names.add(value);
    this.#expectsName = false;
    return undefined;
  }

  #number(): ScanFault | undefined {
    const end = endOfNumber(this.#text, this.#at);
    // A malformed number is NaN here, which no comparison refuses; JSON.parse reports it.
    if (Math.abs(Number(this.#text.slice(this.#at, end))) > Number.MAX_SAFE_INTEGER)
      return this.#fault('number_out_of_range', 'is too large to be kept exactly');
    this.#members += 1;
    this.#at = end - 1;
    return undefined;
  }

  /** The names that lead to a prototype in code that copies members one by one. */
  #isReserved(): boolean {
    const name = this.#stack.at(-1)?.name;
    const isPrototype = name === 'prototype' && this.#stack.at(-2)?.name === 'constructor';
    return isPrototype || name === '__proto__';
  }

  /** Ends the scan at a syntax error. */
  #stop(): undefined {
    this.#at = this.#text.length;
  }

  #tooMany(): ScanFault {
    return this.#fault('too_many', `is one more than ${LIMITS.JSON_MEMBERS_MAX} members`);
  }

  #fault(code: string, detail: string): ScanFault {
    const steps = this.#stack.map(({ names, name, index }) =>
      names ? name.replaceAll('~', '~0').replaceAll('/', '~1') : index,
    );
    const pointer = steps.map((step) => `/${step}`).join('');
    return { pointer: pointer.slice(0, 200), code, detail };
  }
}

const isNumberStart = (code: number): boolean => code === 0x2d || (code >= 0x30 && code <= 0x39);

/** The index after the last character that can be part of a number, whether or not it is one. */
const endOfNumber = (text: string, from: number): number => {
  let end = from + 1;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    const isPart =
      isNumberStart(code) || code === 0x2b || code === 0x2e || code === 0x45 || code === 0x65;
    if (!isPart) break;
  }
  return end;
};

/** The index of the closing quote; -1 when there is none. */
const endOfString = (text: string, from: number): number => {
  for (let i = from + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === BACKSLASH) i += 1;
    else if (code === QUOTE) return i;
  }
  return -1;
};

const unescape = (raw: string): string => {
  try {
    return JSON.parse(raw) as string;
  } catch {
    // A bad escape is a syntax error, which JSON.parse reports for the whole body.
    return raw;
  }
};

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Copies the members that are not undefined: answers and events leave out what is absent. */
export const present = <T extends object>(members: T): Present<T> => {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(members)) if (value !== undefined) copy[name] = value;
  return copy as Present<T>;
};
