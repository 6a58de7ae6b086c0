import { LIMITS } from '#contracts/limits.ts';
import { pointerOf } from '#src/app/pipeline/input-faults.ts';

/** What was left out of a value to keep its result small: rows of a list, or the end of a text. */
export type Cut = { pointer: string; kept: number; of: number; unit: 'rows' | 'characters' };

/** Room for the envelope, _meta and the note of what was cut. */
const AROUND_BYTES = 3_072;
/** Up to this length a record fits, whatever its characters: each is 7 bytes at most, in both forms. */
const FITS_CHARS = 2_048;
/** Texts are not cut below this: what is left would say nothing. */
const TEXT_CHARS_MIN = 120;

/** Bytes of a record in a result: as structuredContent, and again as escaped text. */
const bytesOf = (json: string): number =>
  Buffer.byteLength(json) + Buffer.byteLength(JSON.stringify(json));

const fits = (json: string): boolean =>
  json.length <= FITS_CHARS || bytesOf(json) <= LIMITS.TOOL_RESULT_BYTES_MAX - AROUND_BYTES;

type Place = { holder: Record<string, unknown>; name: string; pointer: string; bytes: number };

const isCuttable = (member: unknown): boolean =>
  Array.isArray(member)
    ? member.length > 1
    : typeof member === 'string' && member.length > TEXT_CHARS_MIN;

/** The heaviest list or text anywhere in a value; undefined when there is nothing left to cut. */
const heaviest = (value: object): Place | undefined => {
  let found: Place | undefined;
  const look = (holder: Record<string, unknown>, pointer: string): void => {
    for (const [name, member] of Object.entries(holder)) {
      const here = pointer + pointerOf([name]);
      const bytes = isCuttable(member) ? bytesOf(JSON.stringify(member)) : 0;
      if (bytes > (found?.bytes ?? 0)) found = { holder, name, pointer: here, bytes };
      if (typeof member === 'object' && member !== null)
        look(member as Record<string, unknown>, here);
    }
  };
  look(value as Record<string, unknown>, '');
  return found;
};

/** The most items from the front with which the whole still fits; one at least. */
const keptRows = (whole: object, { holder, name }: Place): number => {
  const rows = holder[name] as unknown[];
  let [low, high] = [1, rows.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    holder[name] = rows.slice(0, middle);
    if (fits(JSON.stringify(whole))) low = middle;
    else high = middle - 1;
  }
  holder[name] = rows.slice(0, low);
  return low;
};

/** Half of a text; one that is halved twice was cut once. */
const halve = ({ holder, name, pointer }: Place, cuts: Cut[]): void => {
  const text = holder[name] as string;
  const half = text.slice(0, Math.floor(text.length / 2)).toWellFormed();
  holder[name] = half;
  const known = cuts.find((cut) => cut.pointer === pointer && cut.unit === 'characters');
  if (known) known.kept = half.length;
  else cuts.push({ pointer, kept: half.length, of: text.length, unit: 'characters' });
};

/**
 * A record within the budget of a tool's result, and what was cut: whatever is heaviest, rows from
 * the end of a list or the end of a text. The record given is not changed.
 */
export const withinBudget = (value: object): { json: string; cuts: Cut[] } => {
  let json = JSON.stringify(value);
  if (fits(json)) return { json, cuts: [] };
  const whole = structuredClone(value);
  const cuts: Cut[] = [];
  while (!fits(json)) {
    const place = heaviest(whole);
    if (!place) throw new Error('a result could not be cut to its budget');
    const member = place.holder[place.name];
    if (Array.isArray(member)) {
      const of = member.length;
      cuts.push({ pointer: place.pointer, kept: keptRows(whole, place), of, unit: 'rows' });
    } else halve(place, cuts);
    json = JSON.stringify(whole);
  }
  return { json, cuts };
};
