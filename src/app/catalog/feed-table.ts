/**
 * The records of a CSV or TSV feed, with the quotes where RFC 4180 lets them stand, and nowhere else.
 * Ours: a parser that is read as a stream, csv-parse too, loses the good lines behind a stray quote.
 */

/**
 * `from` and `to` are the lines that it stands in. One whose quotes are wrong is its first line alone:
 * nobody can tell where it ends, so what it would have swallowed is read as records of its own.
 */
export type TableRecord = { from: number; to: number; values: string[]; reason?: string };

/** More than a product can hold: a quote that goes on for longer was never meant to. */
const RECORD_CHARS_MAX = 262_144;

const QUOTED = /^"[^"]*(?:""[^"]*)*"$/;
const BEGUN = /^"[^"]*(?:""[^"]*)*$/;
const WITHIN = /^[^"]*(?:""[^"]*)*$/;

const hasOddQuotes = (text: string): boolean => text.split('"').length % 2 === 0;

/** What was read of a record: its values, and the one that goes on in the next line. */
type Values = { values: string[]; begun?: string };

/** undefined where a quote stands where none may. */
const valuesIn = (text: string, separator: string): Values | undefined => {
  const pieces = text.split(separator);
  if (!text.includes('"')) return { values: pieces };
  const values: string[] = [];
  let begun: string | undefined;
  for (const piece of pieces) {
    const value = begun === undefined ? piece : begun + separator + piece;
    const goesOn = (begun !== undefined) !== hasOddQuotes(piece);
    begun = goesOn ? value : undefined;
    if (goesOn) continue;
    if (!value.includes('"')) values.push(value);
    else if (QUOTED.test(value)) values.push(value.slice(1, -1).replaceAll('""', '"'));
    else return undefined;
  }
  if (begun === undefined) return { values };
  return BEGUN.test(begun) ? { values, begun } : undefined;
};

/** With one line more: only what has begun is looked at again. */
const withLine = (
  { values, begun = '' }: Values,
  line: string,
  separator: string,
): Values | undefined => {
  const text = `${begun}\n${line}`;
  if (WITHIN.test(line)) return { values, begun: text };
  const read = valuesIn(text, separator);
  for (const value of read?.values ?? []) values.push(value);
  return read && { ...read, values };
};

const reasonOf = (ends: boolean, from: number, to: number): string => {
  const mend = 'double it and quote the value';
  if (from === to) return `has a quote ${ends ? 'inside a value' : 'that never closes'}; ${mend}`;
  const how = ends ? `that ends inside a value in line ${to}` : `that does not close by line ${to}`;
  return `has a quote ${how}; ${mend}. Reading goes on in line ${from + 1}`;
};

/** Lines that can be looked at before they are taken. */
const looked = (lines: AsyncIterable<string>) => {
  const source = lines[Symbol.asyncIterator]();
  let seen: string[] = [];
  let taken = 0;
  return {
    async at(offset: number): Promise<string | undefined> {
      while (seen.length <= taken + offset) {
        const next = await source.next();
        if (next.done) return undefined;
        seen.push(next.value);
      }
      return seen[taken + offset];
    },
    take(count: number): void {
      taken += count;
      if (taken < seen.length) return;
      seen = [];
      taken = 0;
    },
    close: () => source.return?.(),
  };
};

/** Every line that is not empty is in one of them. */
export async function* recordsOf(
  lines: AsyncIterable<string>,
  separator: string,
): AsyncIterable<TableRecord> {
  const ahead = looked(lines);
  let from = 1;
  const take = (count: number): void => {
    from += count;
    ahead.take(count);
  };
  try {
    for (;;) {
      const first = await ahead.at(0);
      if (first === undefined) return;
      let [read, count, chars] = [valuesIn(first, separator), 1, first.length];
      while (read?.begun !== undefined && chars < RECORD_CHARS_MAX) {
        const next = await ahead.at(count);
        if (next === undefined) break;
        count += 1;
        chars += next.length + 1;
        read = withLine(read, next, separator);
      }
      const to = from + count - 1;
      if (read && read.begun === undefined) {
        if (first !== '') yield { from, to, values: read.values };
        take(count);
      } else {
        const values = first.replaceAll('"', '').split(separator);
        yield { from, to: from, values, reason: reasonOf(!read, from, to) };
        take(1);
      }
    }
  } finally {
    await ahead.close();
  }
}
