/** Writes amounts, counts, times and texts for a locale. */
import { decimalsOf } from '#contracts/currencies.ts';
import { cached } from './work.ts';
import { languageOf, LANGUAGES, type MessageKey, messageParts, type ValuesIf } from './messages.ts';

export type Writer = {
  locale: string;
  /** Formats minor units exactly, without floating-point arithmetic. */
  money(amount: number, currency: string): string;
  count(value: number): string;
  /** A day, with the month as a word. */
  day(at: number): string;
  /** Day and time with `UTC`: a page without script does not know the reader's time zone. */
  moment(at: number): string;
  /** A text in the language of the locale. */
  say<Key extends MessageKey>(key: Key, ...values: ValuesIf<Key>): string;
  /** The same as its parts: texts at even places, names of values at odd ones. */
  parts(key: MessageKey, count: number | undefined): string[];
  /** The name of a country, of its code. */
  country(code: string): string;
};

/** Locale of public pages. */
export const HOUSE_LOCALE = 'en-GB';

const REGION: Readonly<Record<string, string>> = { en: 'GB', de: 'DE' };

/** A locale whose dates and amounts are those of a region: its own, otherwise the country's, otherwise the language's. */
export const regionalLocale = (locale: string, country?: string): string => {
  const { language, region, script } = new Intl.Locale(locale);
  const other = country ?? REGION[language];
  return region !== undefined || other === undefined
    ? locale
    : [language, script, other].filter((part) => part !== undefined).join('-');
};

const WRITERS_MAX = 100;
/** More than there are currencies. */
const CURRENCIES_MAX = 500;

const textsIn = (locale: string, counts: Intl.NumberFormat): Pick<Writer, 'say' | 'parts'> => {
  const language = languageOf(locale);
  const messages = LANGUAGES[language];
  const rules = new Intl.PluralRules(language);
  const parts: Writer['parts'] = (key, count) => messageParts(messages, key, { count, rules });
  return {
    parts,
    say(key, ...[values]) {
      const byName: Readonly<Record<string, string | number>> = values ?? {};
      const { count } = byName;
      return parts(key, typeof count === 'number' ? count : undefined)
        .map((part, index) => {
          if (index % 2 === 0) return part;
          const value = byName[part] ?? '';
          return typeof value === 'number' ? counts.format(value) : value;
        })
        .join('');
    },
  };
};

const makeWriter = (locale: string): Writer => {
  const counts = new Intl.NumberFormat(locale);
  const days = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' });
  const moments = new Intl.DateTimeFormat(locale, {
    dateStyle: 'long',
    timeStyle: 'short',
    timeZone: 'UTC',
  });
  const of = cached(CURRENCIES_MAX, (currency: string) => {
    const digits = decimalsOf(currency);
    return new Intl.NumberFormat(locale, {
      style: 'currency',
      currency,
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    });
  });
  const regions = new Intl.DisplayNames(languageOf(locale) === 'de' ? locale : HOUSE_LOCALE, {
    type: 'region',
  });
  return {
    locale,
    ...textsIn(locale, counts),
    country: (code) => regions.of(code) ?? code,
    money: (amount, currency) =>
      of(currency).format(`${amount}E-${decimalsOf(currency)}` as `${number}`),
    count: (value) => counts.format(value),
    day: (at) => days.format(at),
    moment: (at) => `${moments.format(at)} UTC`,
  };
};

/** Cached by locale: making formatters costs as much as rendering a hundred lines. */
export const writerFor = cached(WRITERS_MAX, makeWriter);

/** The writer of a list's pages and letters: in its language, for the country of its buyer. */
export const writerOf = ({
  locale,
  buyer,
}: {
  locale: string;
  buyer: { country?: string | undefined };
}): Writer => writerFor(regionalLocale(locale, buyer.country));

/** A moment, of a record or in milliseconds, as pages write it: the day and the minute, in UTC. */
export const momentText = (at: string | number): string =>
  writerFor(HOUSE_LOCALE).moment(typeof at === 'string' ? Date.parse(at) : at);
