import { LIMITS } from '#contracts/limits.ts';

/** Why a text is not JSON that we take: where, and which. */
export type ScanFault = { pointer: string; code: string; detail: string };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

type Frame = { keys: Set<string> | null; name: string; index: number };

/**
 * One pass over the raw text before it is parsed, without recursion: what JSON.parse would take
 * silently (a name twice, the last wins; a name that reaches a prototype), lose (1e400, 2^53+1) or
 * choke on (nesting) is refused with its place. Says nothing of syntax otherwise: JSON.parse does.
 */
export const scanJson = (text: string): ScanFault | undefined => {
  const stack: Frame[] = [];
  // Every value but the outermost is a member of something.
  let members = -1;
  let expectsName = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const top = stack.at(-1);
    switch (code) {
      case 0x7b: // {
      case 0x5b: {
        // [
        const object = code === 0x7b;
        if (stack.length >= LIMITS.JSON_DEPTH_MAX)
          return fault(stack, 'too_deep', `nests deeper than ${LIMITS.JSON_DEPTH_MAX}`);
        members += 1;
        if (members > LIMITS.JSON_MEMBERS_MAX) return tooMany(stack);
        stack.push({ keys: object ? new Set() : null, name: '', index: 0 });
        expectsName = object;
        break;
      }
      case 0x7d: // }
      case 0x5d: // ]
        if (!stack.pop()) return undefined;
        expectsName = false;
        break;
      case 0x2c: // ,
        if (top) {
          top.index += 1;
          expectsName = top.keys !== null;
        }
        break;
      case QUOTE: {
        const end = endOfString(text, i);
        if (end < 0) return undefined;
        const raw = text.slice(i, end + 1);
        const value = raw.includes('\\') ? parsed(raw) : raw.slice(1, -1);
        const isName = expectsName && top?.keys;
        if (isName) top.name = value.toWellFormed();
        else members += 1;
        if (!value.isWellFormed())
          return fault(stack, 'lone_surrogate', 'holds half of a surrogate pair');
        if (isName) {
          if (isReserved(stack)) return fault(stack, 'reserved_name', 'is not a name to be sent');
          if (isName.has(value)) return fault(stack, 'duplicate_name', 'is given twice');
          isName.add(value);
          expectsName = false;
        }
        i = end;
        break;
      }
      case 0x74: // true
      case 0x66: // false
      case 0x6e: // null
        members += 1;
        break;
      default: {
        if (!startsNumber(code)) break;
        const end = endOfNumber(text, i);
        // NaN, which is no JSON at all, is not larger than anything.
        if (Math.abs(Number(text.slice(i, end))) > Number.MAX_SAFE_INTEGER)
          return fault(stack, 'number_out_of_range', 'is too large to be kept exactly');
        members += 1;
        i = end - 1;
      }
    }
    if (members > LIMITS.JSON_MEMBERS_MAX) return tooMany(stack);
  }
  return undefined;
};

/** The names that lead to a prototype in code that copies members one by one. */
const isReserved = (stack: readonly Frame[]): boolean => {
  const name = stack.at(-1)?.name;
  return name === '__proto__' || (name === 'prototype' && stack.at(-2)?.name === 'constructor');
};

const startsNumber = (code: number): boolean => code === 0x2d || (code >= 0x30 && code <= 0x39);

/** Behind the last character that a number could have, whether or not it is one. */
const endOfNumber = (text: string, from: number): number => {
  let end = from + 1;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    const isPart =
      startsNumber(code) || code === 0x2b || code === 0x2e || code === 0x45 || code === 0x65;
    if (!isPart) break;
  }
  return end;
};

const endOfString = (text: string, from: number): number => {
  for (let i = from + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === BACKSLASH) i += 1;
    else if (code === QUOTE) return i;
  }
  return -1;
};

const parsed = (raw: string): string => {
  try {
    return JSON.parse(raw) as string;
  } catch {
    // Bad escapes are a matter of syntax, which JSON.parse will name for the whole body.
    return raw;
  }
};

const tooMany = (stack: readonly Frame[]): ScanFault =>
  fault(stack, 'too_many', `is one more than ${LIMITS.JSON_MEMBERS_MAX} members`);

const fault = (stack: readonly Frame[], code: string, detail: string): ScanFault => ({
  pointer: stack
    .map(
      ({ keys, name, index }) =>
        `/${keys ? name.replaceAll('~', '~0').replaceAll('/', '~1') : index}`,
    )
    .join('')
    .slice(0, 200),
  code,
  detail,
});
