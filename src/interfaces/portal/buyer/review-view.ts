import { html } from 'hono/html';
import type { Review } from '#src/app/handoffs/review.ts';
import type { Html } from '../layout/layout.ts';
import type { Writer } from '../layout/money.ts';
import type { Faults } from '../layout/parts.ts';

/** All that a review page shows: the list, and what its reader has typed so far. */
export type ReviewView = {
  review: Review;
  token: string;
  /** Values of a form that was not taken, by field. */
  typed: ReadonlyMap<string, string>;
  faults: Faults;
  /** The list as it would be sent now, by line id: with what was typed, where that can be priced. */
  priced: { lines: ReadonlyMap<string, Line>; totals: Totals };
  told?: Told;
};

/** What the reader must be told first, where the page answers a form. */
export type Told =
  /** The list was changed, or closed, while this reader looked at it. */
  | 'outrun'
  /** What would be sent comes to another total than the reader was shown. */
  | 'other_total'
  /** No more changes of this list are taken. */
  | 'spent'
  /** So much came from this link within a minute that it has to wait. */
  | 'too_often'
  /** Quantities were taken, among other things that were typed. */
  | 'saved';

export type Line = Review['state']['lines'][number];
export type Totals = Review['state']['totals'];

/** A promoter's test space is named like this; no promoter's own name starts so. */
const TEST_SPACE = /^test(?=.)/;

export const ownerOf = ({ ownerId }: Review): { name: string; isTest: boolean } => ({
  name: ownerId.replace(TEST_SPACE, ''),
  isTest: TEST_SPACE.test(ownerId),
});

/** Totals per currency: never added up across. */
export const totalsIn = (totals: Totals, writer: Writer): Html =>
  html`<span class="totals">${totals.map(
    ({ amount, currency }, index) =>
      html`${index > 0 ? ' + ' : ''}<data class="total"
 value="${amount}">${writer.money(amount, currency)}</data>`,
  )}</span>`;

/** For the form: the same for the program that reads it, as `GBP:9552 EUR:500`. */
export const totalsField = (totals: Totals): string =>
  totals.map(({ amount, currency }) => `${currency}:${amount}`).join(' ');

const TOTAL = /^([A-Z]{3}):(\d{1,16})$/;

/** What such a field says; what cannot be read is no total that there is. */
export const readTotals = (said: string): Totals =>
  said.split(' ').flatMap((one) => {
    const [, currency, amount] = TOTAL.exec(one) ?? [];
    return currency && amount ? [{ amount: Number(amount), currency }] : [];
  });
