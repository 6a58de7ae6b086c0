import { cached } from '#src/shared/cached.ts';
import { DAY_MS } from '#src/shared/time.ts';

/**
 * Assigns the quarter hours of UTC days to the days of an IANA time zone. All offsets in use today are
 * multiples of a quarter hour, so a quarter hour belongs to one local day.
 */
export type Calendar = {
  /** Local days of the 96 quarters of a UTC day, as days since the epoch. */
  localDays(utcDay: number): (quarter: number) => number;
};

const QUARTER_MS = 900_000;
const QUARTERS = 96;

export const isTimeZone = (name: string): boolean => {
  // Intl accepts offsets, which are not time zones.
  if (/^[+-]/.test(name)) return false;
  try {
    calendarOf(name);
    return true;
  } catch {
    return false;
  }
};

const makeCalendar = (timeZone: string): Calendar => {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  const offsets = new Map<number, number>();

  /** Local wall clock minus UTC, in quarter hours, at the start of a quarter since the epoch. */
  const offsetAt = (quarter: number): number => {
    const known = offsets.get(quarter);
    if (known !== undefined) return known;
    const at = quarter * QUARTER_MS;
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
    const [year, month, day] = [part('year'), part('month') - 1, part('day')];
    const wall = Date.UTC(year, month, day, part('hour'), part('minute'));
    const offset = Math.floor((wall - at) / QUARTER_MS);
    offsets.set(quarter, offset);
    return offset;
  };

  return {
    localDays(utcDay) {
      const first = utcDay * QUARTERS;
      const start = offsetAt(first);
      const end = offsetAt(first + QUARTERS - 1);
      // Most days have one offset. The offset of each quarter is needed only on days with a change.
      return start === end
        ? (quarter) => Math.floor((first + quarter + start) / QUARTERS)
        : (quarter) => Math.floor((first + quarter + offsetAt(first + quarter)) / QUARTERS);
    },
  };
};

const CALENDARS_MAX = 200;

/** Cached, because making an Intl formatter costs far more than using it. Throws for an unknown time zone. */
export const calendarOf = cached(CALENDARS_MAX, makeCalendar);

/** Days since the epoch of a date like 2026-11-21. */
export const dayOf = (date: string): number => Math.floor(Date.parse(`${date}T00:00:00Z`) / DAY_MS);

export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

export const todayIn = (timeZone: string, now: number): number => {
  const utcDay = Math.floor(now / DAY_MS);
  return calendarOf(timeZone).localDays(utcDay)(Math.floor((now % DAY_MS) / QUARTER_MS));
};

/** First day of the bucket that a day belongs to. Weeks start on Monday (ISO 8601). */
export const bucketOf = (
  day: number,
  granularity: 'day' | 'week' | 'month' | 'total',
  from: number,
): number => {
  switch (granularity) {
    case 'day':
      return day;
    case 'week':
      return day - ((((day + 3) % 7) + 7) % 7);
    case 'month':
      return dayOf(`${dateOf(day).slice(0, 7)}-01`);
    case 'total':
      return from;
  }
};

/** The same date some years later, or earlier. 29 February becomes 28 February in common years. */
export const yearsOn = (day: number, years: number): number => {
  const [year = 0, month = 1, date = 1] = dateOf(day).split('-').map(Number);
  const last = new Date(Date.UTC(year + years, month, 0)).getUTCDate();
  return Math.floor(Date.UTC(year + years, month - 1, Math.min(date, last)) / DAY_MS);
};
