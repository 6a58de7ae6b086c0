/** References of records for people: short, without look-alikes, with a check character. They are derived from ids and give no access. */

/** Crockford's digits: without I, L, O and U. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const DATA_CHARS = 8;
/** How people read the letters that are no digits. */
const LOOK_ALIKES: Readonly<Record<string, string>> = { I: '1', L: '1', O: '0' };

/** The check character of ISO 7064, hybrid system MOD 33,32: the one of MOD 37,36 for an alphabet of 32 characters. */
const checkOf = (data: string): string => {
  const base = DIGITS.length;
  let product = base;
  for (const digit of data) {
    const sum = (product + DIGITS.indexOf(digit)) % base || base;
    product = (2 * sum) % (base + 1);
  }
  return DIGITS.charAt((base + 1 - product) % base);
};

/** The data characters of a record's reference: the last characters of its id, which are random, as digits. */
export const referenceData = (id: string): string =>
  Array.from(id.slice(-DATA_CHARS), (letter) =>
    DIGITS.charAt(Number.parseInt(letter, 36) % DIGITS.length),
  ).join('');

/** The reference of a record, like `R-7H3E-2KQ4-M`. */
export const referenceOf = (id: string): string => {
  const data = referenceData(id);
  return `R-${data.slice(0, 4)}-${data.slice(4)}-${checkOf(data)}`;
};

/** What a text is as a reference: its data characters, or that its check character does not fit; undefined for another text. */
export const readReference = (text: string): { data: string } | { mistyped: true } | undefined => {
  const [, typed] = /^R?((?:[0-9A-Z]){9})$/.exec(text.toUpperCase().replaceAll(/[\s-]/g, '')) ?? [];
  // Letters alone are a word.
  if (typed === undefined || !/[-\s\d]/.test(text.trim())) return undefined;
  const digits = Array.from(typed, (letter) => LOOK_ALIKES[letter] ?? letter).join('');
  const data = digits.slice(0, DATA_CHARS);
  return checkOf(data) === digits.at(-1) && !digits.includes('U') ? { data } : { mistyped: true };
};
