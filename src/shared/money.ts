/** Formats amounts, counts and times for a locale. */
import { decimalsOf } from '#contracts/currencies.ts';
import { cached } from './cached.ts';

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

const WRITERS_MAX = 100;
/** More than there are currencies. */
const CURRENCIES_MAX = 500;

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
  return {
    money: (amount, currency) =>
      of(currency).format(`${amount}E-${decimalsOf(currency)}` as `${number}`),
    count: (value) => counts.format(value),
    day: (at) => days.format(at),
    moment: (at) => `${moments.format(at)} UTC`,
  };
};

/** Cached by locale: making formatters costs as much as rendering a hundred lines. */
export const writerFor = cached(WRITERS_MAX, makeWriter);

/** A moment, of a record or in milliseconds, as pages write it: the day and the minute, in UTC. */
export const momentText = (at: string | number): string =>
  writerFor(HOUSE_LOCALE).moment(typeof at === 'string' ? Date.parse(at) : at);
