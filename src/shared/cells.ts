/** Values of cells in tables, from feeds and for files: amounts, numbers, texts. */
import type { z } from 'zod';
import { DECIMALS, decimalsOf } from '#contracts/currencies.ts';
import { PRODUCT_LIMITS } from '#contracts/limits.ts';
import { refusedText } from './visible.ts';

/** A fault of one value, for which its row is rejected. */
export type CellFault = { column: string; reason: string };

/** Column name to value, empty for an empty cell; without the columns that the file or the object lacks. */
export type Cells = ReadonlyMap<string, string>;

export type Tier = { min_quantity: number; unit_price: number };

const MAJOR_DIGITS_MAX = 12;

/** A value as a refusal of its row shows it. */
export const shown = (value: string): string => JSON.stringify(refusedText(value));

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

  const raw = (column: string): string | undefined => cells.get(column) || undefined;

  /** Reads a cell by the schema of the contract. `reason` says what it must be. */
  const read = <Value>(
    column: string,
    schema: z.ZodType<Value, string>,
    reason?: string,
  ): Value | undefined => {
    const value = raw(column);
    if (value === undefined) return undefined;
    if (value.includes(REPLACEMENT) || !value.isWellFormed())
      return refuse(column, 'holds text that is not valid UTF-8');
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    if (issue?.code === 'too_big')
      return refuse(column, `has ${value.length} characters; at most ${issue.maximum} are allowed`);
    const text = reason ?? issue?.message ?? 'is not valid';
    return refuse(column, /[\n\t]/.test(value) ? text : `${text}, and is ${shown(value)}`);
  };

  const whole = (column: string, min: number, max: number): number | undefined => {
    const value = raw(column);
    if (value === undefined) return undefined;
    const number = /^\d{1,9}$/.test(value) ? Number(value) : -1;
    if (number >= min && number <= max) return number;
    return refuse(column, `must be a whole number from ${min} to ${max}, and is ${shown(value)}`);
  };

  return {
    faults,
    refuse,
    /** Whether the row has the column, even if it is empty. */
    has: (column: string) => cells.has(column),
    raw,
    read,
    whole,
  };
};

export type CellReader = ReturnType<typeof cellReader>;

/** The amount in minor units, or a fault of the column. */
const unitPriceIn = (
  cells: CellReader,
  column: string,
  [amount, currency]: readonly [string, string],
): number | undefined => {
  const minor = minorUnits(amount, currency);
  if (typeof minor !== 'number') return cells.refuse(column, minor.reason);
  if (minor <= PRODUCT_LIMITS.PRICE_MAX) return minor;
  const most = moneyText({ amount: PRODUCT_LIMITS.PRICE_MAX, currency });
  return cells.refuse(column, `must be at most ${most}, and is ${shown(amount)}`);
};

/** Reads an amount with its currency, like 0.85 GBP. */
export const priceIn = (
  cells: CellReader,
  column: string,
): { amount: number; currency: string } | undefined => {
  const value = cells.raw(column);
  if (value === undefined) return undefined;
  const [, amount = '', code = ''] = /^(\S+) +([A-Z]{3})$/i.exec(value) ?? [];
  if (code === '') return cells.refuse(column, `must be like 0.85 GBP, and is ${shown(value)}`);
  const currency = code.toUpperCase();
  if (!DECIMALS.has(currency))
    return cells.refuse(column, `${currency} is not a currency of ISO 4217`);
  const minor = unitPriceIn(cells, column, [amount, currency]);
  return minor === undefined ? undefined : { amount: minor, currency };
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
    if (min_quantity > PRODUCT_LIMITS.QUANTITY_MAX) {
      return cells.refuse(column, `must be like 4:0.39|48:0.29, and has ${shown(part)}`);
    }
    const unit_price = unitPriceIn(cells, column, [amount, currency]);
    if (unit_price === undefined) return undefined;
    tiers.push({ min_quantity, unit_price });
  }
  if (tiers.length <= PRODUCT_LIMITS.TIERS_MAX) return tiers;
  return cells.refuse(column, `has more than ${PRODUCT_LIMITS.TIERS_MAX} tiers`);
};

/**
 * The beginning of a formula (OWASP, CSV injection). Spreadsheets ignore spaces before it, and some read the full-width
 * forms as the signs.
 */
const FORMULA = /^(?:[\t\r]|\s*[=+\-@＝＋－＠])/;

/** Writes a CSV cell. Text that a spreadsheet would run as a formula gets an apostrophe. */
const csvCell = (value: string | number | null | undefined): string => {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

/** Writes a line of CSV (RFC 4180). */
export const csvLine = (cells: readonly (string | number | null | undefined)[]): string =>
  `${cells.map(csvCell).join(',')}\r\n`;
