/** Formats amounts, counts and times for a locale. */

export type Writer = {
  /** Formats minor units exactly, without floating-point arithmetic. */
  money(amount: number, currency: string): string;
  count(value: number): string;
  /** A day, with the month as a word. */
  day(at: number): string;
  /** Day and time with `UTC`: a page without script does not know the reader's time zone. */
  moment(at: number): string;
};

/** Locale of public pages. */
export const HOUSE_LOCALE = 'en-GB';

/** Formatters by locale: making one costs as much as rendering a hundred lines. */
const WRITERS_MAX = 100;
const writers = new Map<string, Writer>();

export const writerFor = (locale: string): Writer => {
  const known = writers.get(locale);
  if (known) return known;
  if (writers.size >= WRITERS_MAX) writers.clear();
  const made = makeWriter(locale);
  writers.set(locale, made);
  return made;
};

const makeWriter = (locale: string): Writer => {
  const counts = new Intl.NumberFormat(locale);
  const days = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' });
  const moments = new Intl.DateTimeFormat(locale, {
    dateStyle: 'long',
    timeStyle: 'short',
    timeZone: 'UTC',
  });
  const byCurrency = new Map<string, { format: Intl.NumberFormat; digits: number }>();
  const of = (currency: string) => {
    const known = byCurrency.get(currency);
    if (known) return known;
    const format = new Intl.NumberFormat(locale, { style: 'currency', currency });
    const made = { format, digits: format.resolvedOptions().maximumFractionDigits ?? 2 };
    byCurrency.set(currency, made);
    return made;
  };
  return {
    money(amount, currency) {
      const { format, digits } = of(currency);
      return format.format(`${amount}E-${digits}` as `${number}`);
    },
    count: (value) => counts.format(value),
    day: (at) => days.format(at),
    moment: (at) => `${moments.format(at)} UTC`,
  };
};
