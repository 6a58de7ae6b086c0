import { LIMITS } from '#contracts/limits.ts';
import { pointerOf } from '#src/calls/input-faults.ts';
import type { Done, Outcome, Refusal } from '#src/shared/outcome.ts';

/** What was cut from a value to keep its result small: rows of a list, or the end of a text. */
type Cut = { pointer: string; kept: number; of: number; unit: 'rows' | 'characters' };

/** Reserved for the envelope, _meta and the note about cuts. */
const AROUND_BYTES = 3_072;
/** A record up to this length always fits: each character takes at most 7 bytes in both forms together. */
const FITS_CHARS = 2_048;
/** Texts are not cut below this length. */
const TEXT_CHARS_MIN = 120;

/** Bytes of a record in a result, which has it as structuredContent and as escaped text. */
const bytesOf = (json: string): number =>
  Buffer.byteLength(json) + Buffer.byteLength(JSON.stringify(json));

const fits = (json: string): boolean =>
  json.length <= FITS_CHARS || bytesOf(json) <= LIMITS.TOOL_RESULT_BYTES_MAX - AROUND_BYTES;

type Member = { holder: Record<string, unknown>; name: string; pointer: string; bytes: number };

const isCuttable = (member: unknown): boolean =>
  Array.isArray(member)
    ? member.length > 1
    : typeof member === 'string' && member.length > TEXT_CHARS_MIN;

/** The largest list or text in a value; undefined when nothing is left to cut. */
const largestMember = (value: object): Member | undefined => {
  let largest: Member | undefined;
  const look = (holder: Record<string, unknown>, pointer: string): void => {
    for (const [name, member] of Object.entries(holder)) {
      const here = pointer + pointerOf([name]);
      const bytes = isCuttable(member) ? bytesOf(JSON.stringify(member)) : 0;
      if (bytes > (largest?.bytes ?? 0)) largest = { holder, name, pointer: here, bytes };
      if (typeof member === 'object' && member !== null)
        look(member as Record<string, unknown>, here);
    }
  };
  look(value as Record<string, unknown>, '');
  return largest;
};

/** Keeps as many items from the start of a list as fit, at least one; returns their number. O(log n) serializations. */
const cutRows = (whole: object, { holder, name }: Member): number => {
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

/** Keeps the first half of a text; a text that is halved again is one cut. */
const halveText = ({ holder, name, pointer }: Member, cuts: Cut[]): void => {
  const text = holder[name] as string;
  const half = text.slice(0, Math.floor(text.length / 2)).toWellFormed();
  holder[name] = half;
  const earlier = cuts.find((cut) => cut.pointer === pointer && cut.unit === 'characters');
  if (earlier) earlier.kept = half.length;
  else cuts.push({ pointer, kept: half.length, of: text.length, unit: 'characters' });
};

/**
 * Cuts a copy of a record to the size limit of a tool's result: again and again the end of its largest list or
 * text. Returns the JSON and the cuts.
 */
const cutToSize = (value: object): { json: string; cuts: Cut[] } => {
  let json = JSON.stringify(value);
  if (fits(json)) return { json, cuts: [] };
  const whole = structuredClone(value);
  const cuts: Cut[] = [];
  while (!fits(json)) {
    const place = largestMember(whole);
    if (!place) throw new Error('a result cannot be cut to its size limit');
    const member = place.holder[place.name];
    if (Array.isArray(member)) {
      const of = member.length;
      cuts.push({ pointer: place.pointer, kept: cutRows(whole, place), of, unit: 'rows' });
    } else halveText(place, cuts);
    json = JSON.stringify(whole);
  }
  return { json, cuts };
};

/** An outcome as its result shows it: the record as JSON, and what was cut from it. */
export type FittedResult = {
  ok: true;
  outcome: Done<unknown>;
  json: string;
  cuts: Cut[];
  how?: string;
};

const WHOLE = 'Resources hold whole records: tributary://handoffs/{id}, tributary://products/{id}.';
const CONTINUE = 'Go on with next_cursor.';

const isRows = ({ pointer, unit }: Cut): boolean => pointer === '/data' && unit === 'rows';

/**
 * Fits an outcome into a tool's result. A page of a list that is too large is read again with as many rows as fit, so
 * that its cursor continues after the last row shown: a client that follows the cursors sees every row.
 */
export const fitResult = async (
  first: Done<unknown>,
  readAgain: (limit: number) => Promise<Outcome<unknown>>,
): Promise<FittedResult | Refusal> => {
  let outcome = first;
  let left: Cut | undefined;
  for (;;) {
    const value = outcome.value as object;
    const { json, cuts } = cutToSize(value);
    const rows = 'page' in value ? cuts.find(isRows) : undefined;
    if (!rows) {
      if (left) return { ok: true, outcome, json, cuts: [left, ...cuts], how: CONTINUE };
      return { ok: true, outcome, json, cuts, ...(cuts.length > 0 && { how: WHOLE }) };
    }
    left = { ...rows, of: left?.of ?? rows.of };
    const smaller = await readAgain(left.kept);
    if (!smaller.ok) return smaller;
    outcome = smaller;
  }
};

/** The note about cuts for the model. */
export const truncationNote = ({ cuts, how = '' }: Pick<FittedResult, 'cuts' | 'how'>): string => {
  const parts = cuts.map(
    ({ pointer, kept, of, unit }) => `${pointer} shows ${kept} of ${of} ${unit}`,
  );
  return `Truncated to keep the result small: ${parts.join('; ')}. ${how}`;
};
