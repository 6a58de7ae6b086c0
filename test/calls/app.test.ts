import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DECIMALS } from '#contracts/currencies.ts';
import { performanceExample } from '#contracts/examples/records.ts';
import { getPerformance } from '#contracts/performance/operations.ts';
import { mintCredential } from '#src/calls/authenticate.ts';
import { decimalOf, minorUnits } from '#src/shared/cells.ts';
import { freshKeyring } from '#src/system/keyring.ts';
import { secretsOf } from '#src/system/secrets.ts';
import { fingerprintsOf, nameOf } from '#src/writing/streams.ts';
import { limiter } from '#src/calls/limits.ts';
import {
  bucketOf,
  calendarOf,
  dateOf,
  dayOf,
  isTimeZone,
  yearsOn,
} from '#src/performance/calendar.ts';
import { negotiate, performanceCsv } from '#src/interfaces/rest/routes.ts';

describe('Names and fingerprints', () => {
  it('Names and fingerprints depend only on their parts, not on the order of members', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.array(fc.string()), (a, b) => {
        expect(nameOf(...a) === nameOf(...b)).toBe(JSON.stringify(a) === JSON.stringify(b));
        expect(nameOf(...a)).toMatch(/^[0-9a-z]{24}$/);
      }),
    );
    const [one, other] = [secretsOf(freshKeyring()), secretsOf(freshKeyring())];
    const print = fingerprintsOf(one, 'op', { a: 1, b: { c: 2, d: 3 } });
    expect(print).toEqual([expect.stringMatching(/^1\.[0-9a-f]{64}$/)]);
    expect(fingerprintsOf(one, 'op', { b: { d: 3, c: 2 }, a: 1 })).toEqual(print);
    expect(fingerprintsOf(other, 'op', { a: 1, b: { c: 2, d: 3 } })).not.toEqual(print);
    expect(fingerprintsOf(one, 'op', { a: 1 })).not.toEqual(fingerprintsOf(one, 'other', { a: 1 }));
  });

  it('Names and fingerprints are joined by credentials that end with a checksum', () => {
    const key = mintCredential('trb_live', 'a1B2c3D4e5F6', 'x'.repeat(43));
    expect(key).toMatch(/^trb_live_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/);
  });
});

describe('The rate limiter', () => {
  /** No whole number, so that the sums of times lose digits. */
  const MONTH_MS = 30 * 86_400_000 + 1 / 3;

  it('The rate limiter allows exactly the limit in a burst, and refills evenly', () => {
    let now = 0;
    const limit = limiter({ count: 60, per: 'minute' }, () => now);
    const burst = Array.from({ length: 70 }, () => limit.take('a').allowed);
    expect(burst.filter(Boolean)).toHaveLength(60);
    expect(limit.take('b').allowed).toBe(true);
    now = 1_000;
    expect(limit.take('a').allowed).toBe(true);
    expect(limit.take('a')).toMatchObject({ allowed: false, retryAfterS: 1 });
  });

  it.each([
    { per: 'second', periodMs: 1_000 },
    { per: 'minute', periodMs: 60_000 },
    { per: 'hour', periodMs: 3_600_000 },
    { per: 'day', periodMs: 86_400_000 },
  ] as const)(
    'The rate limiter allows 4 calls per $per, one more after each quarter, and names the time until then',
    ({ per, periodMs }) => {
      let now = MONTH_MS;
      const limit = limiter({ count: 4, per }, () => now);
      const taken = (): boolean[] => Array.from({ length: 5 }, () => limit.take('a').allowed);
      expect(taken()).toEqual([true, true, true, true, false]);
      const quarter = periodMs / 4;
      expect(limit.take('a').retryAfterS).toBe(Math.ceil(quarter / 1_000));
      now += quarter * 0.99;
      expect(limit.take('a').allowed).toBe(false);
      now += quarter * 0.01;
      expect(taken()).toEqual([true, false, false, false, false]);
      now += periodMs;
      expect(taken()).toEqual([true, true, true, true, false]);
    },
  );

  it('The rate limiter allows exactly the limit when the process has run for a month', () => {
    for (let count = 1; count <= 500; count += 1) {
      const limit = limiter({ count, per: 'second' }, () => MONTH_MS);
      const burst = Array.from({ length: count + 1 }, () => limit.take('a').allowed);
      expect(burst.filter(Boolean)).toHaveLength(count);
    }
  });

  it('The rate limiter allows a call exactly if its remaining count was at least one', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 80 }), (steps) => {
        let now = 0;
        const limit = limiter({ count: 10, per: 'minute' }, () => now);
        for (const step of steps) {
          now += step;
          const { remaining } = limit.peek('k');
          expect(limit.take('k').allowed).toBe(remaining >= 1);
        }
      }),
    );
  });
});

describe('The calendar', () => {
  it('The calendar accepts only IANA time zones', () => {
    expect(isTimeZone('Europe/London')).toBe(true);
    expect(isTimeZone('Mars/Base')).toBe(false);
  });

  it('The calendar changes the day at local midnight, even when the clock changes', () => {
    // London: on 2026-10-25 at 01:00 UTC the clock goes back from 02:00 to 01:00.
    const day = dayOf('2026-10-24');
    const london = calendarOf('Europe/London').localDays(day);
    expect(dateOf(london(91))).toBe('2026-10-24');
    expect(dateOf(london(92))).toBe('2026-10-25');
    const after = calendarOf('Europe/London').localDays(dayOf('2026-10-25'));
    expect(dateOf(after(0))).toBe('2026-10-25');
    expect(dateOf(after(95))).toBe('2026-10-25');
  });

  it('The calendar agrees with Intl for every quarter hour of random days in unusual zones', () => {
    const zones = [
      'Asia/Kathmandu',
      'Australia/Lord_Howe',
      'America/St_Johns',
      'Pacific/Chatham',
      'UTC',
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: 18_000, max: 24_000 }),
        fc.integer({ min: 0, max: 95 }),
        (timeZone, day, quarter) => {
          const at = day * 86_400_000 + quarter * 900_000;
          const shown = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(
            at,
          );
          expect(dateOf(calendarOf(timeZone).localDays(day)(quarter))).toBe(shown);
        },
      ),
    );
  });

  it('The calendar starts weeks on Monday and months on the first, and handles leap years', () => {
    expect(dateOf(bucketOf(dayOf('2026-11-22'), 'week', 0))).toBe('2026-11-16');
    expect(dateOf(bucketOf(dayOf('2026-11-16'), 'week', 0))).toBe('2026-11-16');
    expect(dateOf(bucketOf(dayOf('2026-11-30'), 'month', 0))).toBe('2026-11-01');
    expect(dateOf(yearsOn(dayOf('2028-02-29'), -1))).toBe('2027-02-28');
    expect(dateOf(yearsOn(dayOf('2027-02-28'), 1))).toBe('2028-02-28');
  });
});

describe('An amount of money in a file', () => {
  const answer = getPerformance.output.parse(performanceExample);
  const csv = (rfq_value: { amount: number; currency: string }[]): string | undefined => {
    const metrics = { ...answer.totals, rfq_value };
    return performanceCsv(answer, {})
      .textOf({ bucket_start: '2026-11-20', dimensions: {}, metrics })
      .split(',')
      .at(-2);
  };

  it.each([
    [[], ''],
    [[{ amount: 877_263, currency: 'GBP' }], '8772.63 GBP'],
    [[{ amount: 7, currency: 'EUR' }], '0.07 EUR'],
    [[{ amount: 1_250, currency: 'JPY' }], '1250 JPY'],
    [[{ amount: 1_250, currency: 'KWD' }], '1.250 KWD'],
    [
      [
        { amount: 100, currency: 'EUR' },
        { amount: 0, currency: 'GBP' },
      ],
      '1.00 EUR|0.00 GBP',
    ],
  ])(
    'An amount of money in a file is a decimal with the digits of its currency: %j',
    (amounts, shown) => {
      expect(csv(amounts)).toBe(shown);
    },
  );

  it('An amount of money in a file is read back as the same amount', () => {
    const currencies = fc.constantFrom(...DECIMALS.keys());
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999_999_999_999 }), currencies, (amount, currency) => {
        expect(minorUnits(decimalOf(amount, currency), currency)).toBe(amount);
      }),
    );
  });
});

describe('Content negotiation', () => {
  it.each([
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['text/csv', 'text/csv'],
    ['text/csv;q=0.1, application/json', 'application/json'],
    ['text/*', 'text/csv'],
    ['image/png', undefined],
    ['application/json;q=0', undefined],
  ])('Content negotiation answers the Accept header %s with %s', (accept, media) => {
    expect(negotiate(accept, ['application/json', 'text/csv'])).toBe(media);
  });
});
