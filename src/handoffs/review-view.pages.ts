import { html } from 'hono/html';
import type { Review } from './review.ts';
import type { Faults, Html } from '#src/web/layout.ts';
import type { Writer } from '#src/shared/money.ts';

/** Content of a review page: the list, and what the buyer has entered. */
export type ReviewView = {
  review: Review;
  token: string;
  /** Values of a refused form, by field. */
  typed: ReadonlyMap<string, string>;
  faults: Faults;
  /** Lines as they would be sent now, by id, with the entered quantities that can be priced. */
  priced: { lines: ReadonlyMap<string, Line>; totals: Totals };
  /** The requested page of the list, from 1; after the last one, the last. */
  page: number;
  /** Origins of other servers whose pictures are shown. */
  imageOrigins: readonly string[];
  notice?: ReviewNotice;
  /** The id of a line that was just added. */
  added?: string;
};

/** Notice at the top of a page that answers a form. */
export type ReviewNotice =
  /** The list was changed or closed after the page was loaded. */
  | 'outrun'
  /** The total is no longer the one that the page showed. */
  | 'other_total'
  /** The list has reached its limit of changes. */
  | 'spent'
  /** The link has reached its limit of acts a minute. */
  | 'too_often'
  /** The network has sent as many requests as it can in a day. */
  | 'network_full'
  /** The quantities were saved, and other fields were entered. */
  | 'saved'
  /** A line was put on the list. */
  | 'added';

export type Line = Review['state']['lines'][number];
export type Totals = Review['state']['totals'];

/** Lines on one page: a browser and this process take constant time for each list. */
export const LINES_PER_PAGE = 100;

/** A part of the list: its lines, its number from 1, and the number of parts. */
export type LinesShown = { lines: readonly Line[]; number: number; count: number };

export const linesShown = ({ review, page }: ReviewView): LinesShown => {
  const { lines } = review.state;
  const count = Math.max(1, Math.ceil(lines.length / LINES_PER_PAGE));
  const number = Math.min(page, count);
  const from = (number - 1) * LINES_PER_PAGE;
  return { lines: lines.slice(from, from + LINES_PER_PAGE), number, count };
};

/** The number of the part that has a line; 1 if the list does not have it. */
export const pageWith = (lines: readonly Line[], id: string): number =>
  Math.floor(
    Math.max(
      0,
      lines.findIndex(({ line_id }) => line_id === id),
    ) / LINES_PER_PAGE,
  ) + 1;

/** The address of a part of the list. */
export const addressOf = (token: string, page: number): string =>
  `/h/${encodeURIComponent(token)}${page > 1 ? `?page=${page}` : ''}`;

/** Prefix of the names of test spaces; no owner's name starts with it. */
const TEST_SPACE = /^test(?=.)/;

export const ownerOf = ({ ownerId }: Review): { name: string; isTest: boolean } => ({
  name: ownerId.replace(TEST_SPACE, ''),
  isTest: TEST_SPACE.test(ownerId),
});

/** Totals by currency, which are never added up. */
export const totalsIn = (totals: Totals, writer: Writer): Html =>
  html`<span class="totals">${totals.map(
    ({ amount, currency }, index) =>
      html`${index > 0 ? ' + ' : ''}<data class="total"
 value="${amount}">${writer.money(amount, currency)}</data>`,
  )}</span>`;

/** The totals as a form field, as `GBP:9552 EUR:500`. */
export const totalsField = (totals: Totals): string =>
  totals.map(({ amount, currency }) => `${currency}:${amount}`).join(' ');

const TOTAL = /^([A-Z]{3}):(\d{1,16})$/;

/** Reads such a field; a malformed one equals no total. */
export const readTotals = (said: string): Totals =>
  said.split(' ').flatMap((one) => {
    const [, currency, amount] = TOTAL.exec(one) ?? [];
    return currency && amount ? [{ amount: Number(amount), currency }] : [];
  });
