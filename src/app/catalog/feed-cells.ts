import type { z } from 'zod';
import { country, date, line, text, time, url } from '#contracts/fields.ts';

/** A fault of one value; the row it stands in is not taken. */
export type CellFault = { column: string; reason: string };

/** Column name to value; a column that is absent or empty is not there. */
export type Cells = ReadonlyMap<string, string>;

export type Tier = { min_quantity: number; unit_price: number };

const QUANTITY_MAX = 100_000_000;
const MAJOR_DIGITS_MAX = 12;
const TIERS_MAX = 50;
const SHOWN_CHARS = 40;
const TEXT_CHARS_MAX = 5_000;

/** Made once: a schema costs more to make than a row to read. Lengths are checked beside them. */
const LINE = line(TEXT_CHARS_MAX);
const TEXT = text(TEXT_CHARS_MAX);
const DATE_OR_TIME = date.or(time);

const CURRENCIES = new Set(Intl.supportedValuesOf('currency'));
const DECIMALS = new Map<string, number>();

const decimalsOf = (currency: string): number => {
  const known = DECIMALS.get(currency);
  if (known !== undefined) return known;
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  const decimals = format.resolvedOptions().maximumFractionDigits ?? 0;
  DECIMALS.set(currency, decimals);
  return decimals;
};

const shown = (value: string): string => JSON.stringify(value.slice(0, SHOWN_CHARS));

/** What an encoding error leaves behind, or half a character: text that was lost before it came here. */
const LOST = '\ufffd';

/** A decimal in minor units, exactly: digits are moved, nothing is multiplied. */
export const minorUnits = (amount: string, currency: string): number | { reason: string } => {
  const decimals = decimalsOf(currency);
  if (amount.startsWith('-')) return { reason: `must not be negative, and is ${shown(amount)}` };
  const parts = /^(\d+)(?:\.(\d+))?$/.exec(amount);
  if (!parts) return { reason: `must be an amount like 0.85, and is ${shown(amount)}` };
  const [, major = '', fraction = ''] = parts;
  if (fraction.length > decimals) {
    return { reason: `has more decimals than the ${decimals} of ${currency}: ${shown(amount)}` };
  }
  if (major.length > MAJOR_DIGITS_MAX) return { reason: `is too large: ${shown(amount)}` };
  return Number(major + fraction.padEnd(decimals, '0'));
};

/** Minor units as the decimal that `minorUnits` reads, with every digit that the currency has. */
export const decimalOf = (amount: number, currency: string): string => {
  const decimals = decimalsOf(currency);
  if (decimals === 0) return String(amount);
  const digits = String(amount).padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
};

/** Reads values of one row; what it cannot read it notes, and gives undefined. */
export const cellReader = (cells: Cells) => {
  const faults: CellFault[] = [];

  const refuse = (column: string, reason: string): undefined => {
    faults.push({ column, reason });
  };

  const checked = (
    column: string,
    schema: z.ZodType<string>,
    what?: string,
  ): string | undefined => {
    const value = cells.get(column);
    if (value === undefined) return undefined;
    if (value.includes(LOST) || !value.isWellFormed())
      return refuse(column, 'holds text that is not valid UTF-8');
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    return refuse(column, what ?? result.error.issues[0]?.message ?? 'is not valid');
  };

  const written = (column: string, max: number, schema: z.ZodType<string>): string | undefined => {
    const length = cells.get(column)?.length ?? 0;
    if (length <= max) return checked(column, schema);
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
    line: (column: string, max: number) => written(column, max, LINE),
    text: (column: string, max: number) => written(column, max, TEXT),
    url: (column: string) => checked(column, url, 'must be an http or https address'),
    country: (column: string) =>
      checked(column, country, 'must be a country code of two capital letters, like GB'),
    time: (column: string) =>
      checked(column, DATE_OR_TIME, 'must be a date or a time, like 2026-11-21'),
    whole,
  };
};

export type CellReader = ReturnType<typeof cellReader>;

/** '0.85 GBP', as feeds write it. */
export const priceIn = (
  cells: CellReader,
  column: string,
): { amount: number; currency: string } | undefined => {
  const value = cells.raw(column);
  if (value === undefined) return undefined;
  const parts = /^(\S+) ([A-Z]{3})$/.exec(value);
  const [, amount = '', currency = ''] = parts ?? [];
  if (!parts) return cells.refuse(column, `must be like 0.85 GBP, and is ${shown(value)}`);
  if (!CURRENCIES.has(currency)) return cells.refuse(column, `${currency} is not a currency`);
  const minor = minorUnits(amount, currency);
  if (typeof minor !== 'number') return cells.refuse(column, minor.reason);
  return { amount: minor, currency };
};

/** '4:0.39|48:0.29': from 4 pieces on 0.39 each, from 48 on 0.29. */
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
