/** The number of letters to insert, delete, replace or swap with their neighbour to make one text the other. */
const distance = (a: string, b: string): number => {
  let last: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const beforeLast = last;
    last = row;
    row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? (beforeLast[j - 2] ?? Infinity) + 1 : Infinity;
      row[j] = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replaced, swapped);
    }
  }
  return row[b.length] ?? 0;
};

/** The words of a name in any spelling: `noteToBuyer`, `note-to-buyer`. */
const wordsOf = (name: string): string[] =>
  name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter(Boolean);

const includesAll = (words: readonly string[], others: readonly string[]): boolean =>
  others.length > 0 && others.every((word) => words.includes(word));

/** Whether one text is an abbreviation of the other: its letters in their order, and the same first one. */
const abbreviates = (short: string, long: string): boolean => {
  let at = 0;
  for (const letter of long) if (letter === short[at]) at += 1;
  return short.length >= 3 && short[0] === long[0] && at === short.length;
};

/** How far a name is from a known one, from 0; undefined if they are not alike. */
const farness = (name: string, known: string): number | undefined => {
  const [words, others] = [wordsOf(name), wordsOf(known)];
  const [a, b] = [words.join(''), others.join('')];
  const allowed = Math.floor(Math.max(a.length, b.length) / 3);
  const edits = Math.abs(a.length - b.length) > allowed ? Infinity : distance(a, b);
  if (edits <= allowed) return edits / b.length;
  if (includesAll(words, others) || includesAll(others, words)) return 1;
  return abbreviates(a, b) || abbreviates(b, a) ? 2 : undefined;
};

/** No known name is longer, and the cost grows with the product of the lengths. */
const NAME_CHARS_MAX = 64;

/** The known name that is most like `name`, of several the first; undefined if none is. */
export const closestName = (name: string, known: readonly string[]): string | undefined => {
  if (name.length > NAME_CHARS_MAX) return undefined;
  let closest: { name: string; far: number } | undefined;
  for (const one of known) {
    const far = farness(name, one);
    if (far !== undefined && far < (closest?.far ?? Infinity)) closest = { name: one, far };
  }
  return closest?.name;
};
