/**
 * Splits a CSV or TSV feed into records by the quoting rules of RFC 4180. Not csv-parse, because a
 * streaming parser loses the good lines after a stray quote.
 */

/**
 * `from` and `to` are its lines. A record with wrong quotes is its first line alone, because its end
 * is unknown; the lines after it are read as records of their own.
 */
export type TableRecord = { from: number; to: number; values: string[]; reason?: string };

/** More than a product can hold: a quoted value that is longer was not meant to be quoted. */
export const ROW_CHARS_MAX = 262_144;
export const ROW_TOO_LONG = `is longer than ${ROW_CHARS_MAX} characters, which no product needs; check its quotes`;

const QUOTED = /^"[^"]*(?:""[^"]*)*"$/;
const OPEN_QUOTE = /^"[^"]*(?:""[^"]*)*$/;
const INSIDE_QUOTES = /^[^"]*(?:""[^"]*)*$/;

const hasOddQuotes = (text: string): boolean => text.split('"').length % 2 === 0;

/** The values of a record so far; `open` is a quoted value that continues in the next line. */
type Values = { values: string[]; open?: string };

/** Splits text into values; undefined when a quote is misplaced. */
const valuesIn = (text: string, separator: string): Values | undefined => {
  const pieces = text.split(separator);
  if (!text.includes('"')) return { values: pieces };
  const values: string[] = [];
  let open: string | undefined;
  for (const piece of pieces) {
    const value = open === undefined ? piece : open + separator + piece;
    const continues = (open !== undefined) !== hasOddQuotes(piece);
    open = continues ? value : undefined;
    if (continues) continue;
    if (!value.includes('"')) values.push(value);
    else if (QUOTED.test(value)) values.push(value.slice(1, -1).replaceAll('""', '"'));
    else return undefined;
  }
  if (open === undefined) return { values };
  return OPEN_QUOTE.test(open) ? { values, open } : undefined;
};

/** Adds one more line; only the open value is split again. */
const withLine = (
  { values, open = '' }: Values,
  line: string,
  separator: string,
): Values | undefined => {
  const text = `${open}\n${line}`;
  if (INSIDE_QUOTES.test(line)) return { values, open: text };
  const more = valuesIn(text, separator);
  for (const value of more?.values ?? []) values.push(value);
  return more && { ...more, values };
};

const reasonOf = (ends: boolean, from: number, to: number): string => {
  const remedy = 'double it and quote the value';
  if (from === to) return `has a quote ${ends ? 'inside a value' : 'that never closes'}; ${remedy}`;
  const how = ends ? `that ends inside a value in line ${to}` : `that does not close by line ${to}`;
  return `has a quote ${how}; ${remedy}. Reading continues in line ${from + 1}`;
};

/** Lines that were read ahead. Takes constant time for each line: an array moves all others when its first is removed. */
class LineQueue {
  readonly #source: AsyncIterator<string>;
  #lines: string[] = [];
  #first = 0;

  constructor(source: AsyncIterator<string>) {
    this.#source = source;
  }

  /** Returns the line at this offset from the first, which is at most one past those read; undefined at the end. */
  async at(offset: number): Promise<string | undefined> {
    const index = this.#first + offset;
    if (this.#lines.length <= index) {
      const next = await this.#source.next();
      if (!next.done) this.#lines.push(next.value);
    }
    return this.#lines[index];
  }

  drop(count: number): void {
    this.#first += count;
    if (this.#first * 2 < this.#lines.length) return;
    this.#lines = this.#lines.slice(this.#first);
    this.#first = 0;
  }
}

/**
 * Reads the records of a file. Each line that is not empty is part of one record. Takes linear time; memory is bounded
 * by ROW_CHARS_MAX and the longest line.
 */
export async function* recordsOf(
  lines: AsyncIterable<string>,
  separator: string,
): AsyncIterable<TableRecord> {
  const source = lines[Symbol.asyncIterator]();
  const queue = new LineQueue(source);
  let from = 1;
  try {
    for (let first = await queue.at(0); first !== undefined; first = await queue.at(0)) {
      if (first.length > ROW_CHARS_MAX) {
        yield { from, to: from, values: [], reason: ROW_TOO_LONG };
        queue.drop(1);
        from += 1;
        continue;
      }
      let [read, count, chars] = [valuesIn(first, separator), 1, first.length];
      while (read?.open !== undefined && chars < ROW_CHARS_MAX) {
        const next = await queue.at(count);
        if (next === undefined) break;
        count += 1;
        chars += next.length + 1;
        read = withLine(read, next, separator);
      }
      const to = from + count - 1;
      if (!read || read.open !== undefined) {
        const values = first.replaceAll('"', '').split(separator);
        yield { from, to: from, values, reason: reasonOf(!read, from, to) };
        count = 1;
      } else if (first !== '') yield { from, to, values: read.values };
      queue.drop(count);
      from += count;
    }
  } finally {
    await source.return?.();
  }
}
