/** Every place that reads or shows an amount takes the decimals of its currency from the table of the contract. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CURRENCIES_DATE, DECIMALS, decimalsOf } from '#contracts/currencies.ts';
import { currency, enteredMoney } from '#contracts/fields.ts';
import { parseMoney } from '#src/cli/verbs.ts';
import { approvalLimits } from '#src/shared/approval-limits.ts';
import { minorUnits, moneyText } from '#src/shared/cells.ts';
import { HOUSE_LOCALE, writerFor } from '#src/shared/money.ts';

const AMOUNT = 1_234_567;
/** `1234567` with the decimals of the currency, as every place must show it. */
const written = (digits: number): string =>
  digits === 0 ? `${AMOUNT}` : `${AMOUNT}`.replace(new RegExp(`(\\d{${digits}})$`), '.$1');

describe('The table of ISO 4217', () => {
  it('The table of ISO 4217 contains the currencies with decimals of the list of its day', () => {
    expect(CURRENCIES_DATE).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(DECIMALS.size).toBe(165);
    for (const [code, digits] of [
      ['HUF', 2],
      ['COP', 2],
      ['IDR', 2],
      ['PKR', 2],
      ['ISK', 0],
      ['JPY', 0],
      ['KRW', 0],
      ['UGX', 0],
      ['BHD', 3],
      ['KWD', 3],
      ['TND', 3],
      ['CLF', 4],
    ] as const)
      expect([code, DECIMALS.get(code)]).toEqual([code, digits]);
    for (const gone of ['XTS', 'XAU', 'XDR', 'HRK', 'DEM', 'BGN'])
      expect(DECIMALS.has(gone)).toBe(false);
  });

  it('The table of ISO 4217 is what pages, letters, files, commands and settings use for every currency', () => {
    const differences = [...DECIMALS].flatMap(([code, digits]) => {
      const text = `${written(digits)} ${code}`;
      const shown = writerFor(HOUSE_LOCALE).money(AMOUNT, code);
      const places = {
        contract: currency.safeParse(code).success && decimalsOf(code) === digits,
        entered: enteredMoney.safeParse({ amount: AMOUNT, currency: code }).success,
        pages: /\d[\d,.]*/.exec(shown)?.[0].replaceAll(',', '') === written(digits),
        files: moneyText({ amount: AMOUNT, currency: code }) === text,
        feed: minorUnits(written(digits), code) === AMOUNT,
        zeros: minorUnits(`${Math.floor(AMOUNT)}.000000`, code) === AMOUNT * 10 ** digits,
        commands: parseMoney(text).amount === AMOUNT,
        settings: approvalLimits([text])[0]?.amount === AMOUNT,
      };
      return Object.entries(places)
        .filter(([, isRight]) => !isRight)
        .map(([place]) => `${code} in ${place}`);
    });
    expect(differences).toEqual([]);
  });

  it('The table of ISO 4217 is the only source: nothing asks the locale data for decimals', () => {
    const root = join(import.meta.dirname, '../..');
    const files = globSync(['{src,contracts,projections}/**/*.{ts,js}'], { cwd: root });
    expect(files.length).toBeGreaterThan(300);
    const asking = files.filter((file) =>
      /supportedValuesOf|resolvedOptions\(\)\.m\w+FractionDigits/.test(
        readFileSync(join(root, file), 'utf8'),
      ),
    );
    expect(asking).toEqual([]);
    const formats = files.filter((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      const styled = text.match(/style: 'currency'/g)?.length ?? 0;
      return styled !== (text.match(/maximumFractionDigits: digits/g)?.length ?? 0);
    });
    expect(formats).toEqual([]);
  });
});
