/** Values of cells in tables, from feeds and for files: amounts, numbers, texts. */
import type { z } from 'zod';
import { DECIMALS, decimalsOf } from '#contracts/currencies.ts';
import { country, date, line, text, time, url } from '#contracts/fields.ts';

/** A fault of one value, for which its row is rejected. */
export type CellFault = { column: string; reason: string };

/** Column name to value, without absent and empty columns. */
export type Cells = ReadonlyMap<string, string>;

export type Tier = { min_quantity: number; unit_price: number };

const QUANTITY_MAX = 100_000_000;
const MAJOR_DIGITS_MAX = 12;
const TIERS_MAX = 50;
const SHOWN_CHARS = 40;
const TEXT_CHARS_MAX = 5_000;

/** Made once, because making a schema costs more than reading a row. Lengths are checked separately. */
const LINE = line(TEXT_CHARS_MAX);
const TEXT = text(TEXT_CHARS_MAX);
const DATE_OR_TIME = date.or(time);

const shown = (value: string): string => JSON.stringify(value.slice(0, SHOWN_CHARS));

/** The replacement character, which a decoder writes for bytes that are not UTF-8. */
const REPLACEMENT = '\ufffd';

/** Converts a decimal to minor units exactly, by moving digits instead of multiplying. Zeros at its end are no decimals. */
export const minorUnits = (amount: string, currency: string): number | { reason: string } => {
  const decimals = decimalsOf(currency);
  if (amount.startsWith('-')) return { reason: `must not be negative, and is ${shown(amount)}` };
  const parts = /^(\d+)(?:\.(\d+))?$/.exec(amount);
  if (!parts) return { reason: `must be an amount like 0.85, and is ${shown(amount)}` };
  const [, major = '', written = ''] = parts;
  const fraction = written.replace(/0+$/, '');
  if (fraction.length > decimals) {
    return { reason: `has more decimals than the ${decimals} of ${currency}: ${shown(amount)}` };
  }
  if (major.length > MAJOR_DIGITS_MAX) return { reason: `is too large: ${shown(amount)}` };
  return Number(major + fraction.padEnd(decimals, '0'));
};

/** Parses `129.50 GBP`; undefined for any other text. */
export const moneyIn = (text: string): { amount: number; currency: string } | undefined => {
  const [, digits = '', currency = ''] = /^(\S+) ([A-Z]{3})$/.exec(text.trim()) ?? [];
  const amount = DECIMALS.has(currency) ? minorUnits(digits, currency) : undefined;
  return typeof amount === 'number' ? { amount, currency } : undefined;
};

/** Writes minor units as the decimal that `minorUnits` reads, with all decimals of the currency. */
export const decimalOf = (amount: number, currency: string): string => {
  const decimals = decimalsOf(currency);
  if (decimals === 0) return String(amount);
  const digits = String(amount).padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
};

/** Writes money as `moneyIn` reads it: `129.50 GBP`. */
export const moneyText = ({ amount, currency }: { amount: number; currency: string }): string =>
  `${decimalOf(amount, currency)} ${currency}`;

/** Reads the values of one row; for a value that is not valid it adds a fault and returns undefined. */
export const cellReader = (cells: Cells) => {
  const faults: CellFault[] = [];

  const refuse = (column: string, reason: string): undefined => {
    faults.push({ column, reason });
  };

  const parse = (
    column: string,
    schema: z.ZodType<string>,
    reason?: string,
  ): string | undefined => {
    const value = cells.get(column);
    if (value === undefined) return undefined;
    if (value.includes(REPLACEMENT) || !value.isWellFormed())
      return refuse(column, 'holds text that is not valid UTF-8');
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    return refuse(column, reason ?? result.error.issues[0]?.message ?? 'is not valid');
  };

  const parseShort = (
    column: string,
    max: number,
    schema: z.ZodType<string>,
  ): string | undefined => {
    const length = cells.get(column)?.length ?? 0;
    if (length <= max) return parse(column, schema);
    return refuse(column, `has ${length} characters; at most ${max} are allowed`);
  };

  const whole = (column: string, min: number, max = QUANTITY_MAX): number | undefined => {
    const value = cells.get(column);
    if (value === undefined) return undefined;
    const number = /^\d{1,9}$/.test(value) ? Number(value) : -1;
    if (number >= min && number <= max) return number;
    return refuse(column, `must be a whole number from ${min} to ${max}, and is ${shown(value)}`);
  };

  return {
    faults,
    refuse,
    has: (column: string) => cells.has(column),
    raw: (column: string) => cells.get(column),
    line: (column: string, max: number) => parseShort(column, max, LINE),
    text: (column: string, max: number) => parseShort(column, max, TEXT),
    url: (column: string) => parse(column, url, 'must be an http or https address'),
    country: (column: string) =>
      parse(column, country, 'must be a country code of two capital letters, like GB'),
    time: (column: string) =>
      parse(column, DATE_OR_TIME, 'must be a date or a time, like 2026-11-21'),
    whole,
  };
};

export type CellReader = ReturnType<typeof cellReader>;

/** Reads an amount with its currency, like 0.85 GBP. */
export const priceIn = (
  cells: CellReader,
  column: string,
): { amount: number; currency: string } | undefined => {
  const value = cells.raw(column);
  if (value === undefined) return undefined;
  const parts = /^(\S+) ([A-Z]{3})$/.exec(value);
  const [, amount = '', currency = ''] = parts ?? [];
  if (!parts) return cells.refuse(column, `must be like 0.85 GBP, and is ${shown(value)}`);
  if (!DECIMALS.has(currency))
    return cells.refuse(column, `${currency} is not a currency of ISO 4217`);
  const minor = minorUnits(amount, currency);
  if (typeof minor !== 'number') return cells.refuse(column, minor.reason);
  return { amount: minor, currency };
};

/** Reads price tiers, like 4:0.39|48:0.29: 0.39 each from 4 pieces, 0.29 each from 48. */
export const tiersIn = (
  cells: CellReader,
  column: string,
  currency: string,
): Tier[] | undefined => {
  const value = cells.raw(column);
  if (value === undefined) return undefined;
  const tiers: Tier[] = [];
  for (const part of value.split('|')) {
    const [, quantity = '', amount = ''] = /^([^:]*):([^:]*)$/.exec(part.trim()) ?? [];
    const min_quantity = /^[1-9]\d{0,8}$/.test(quantity) ? Number(quantity) : Infinity;
    if (min_quantity > QUANTITY_MAX) {
      return cells.refuse(column, `must be like 4:0.39|48:0.29, and has ${shown(part)}`);
    }
    const unit_price = minorUnits(amount, currency);
    if (typeof unit_price !== 'number') return cells.refuse(column, unit_price.reason);
    tiers.push({ min_quantity, unit_price });
  }
  if (tiers.length <= TIERS_MAX) return tiers;
  return cells.refuse(column, `has more than ${TIERS_MAX} tiers`);
};
