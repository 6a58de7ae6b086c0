import { html } from 'hono/html';
import type { Review } from '#src/app/review.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import type { Html } from './layout.ts';
import type { Writer } from './money.ts';
import type { Faults } from './parts.ts';

/** All that a review page shows: the list, and what its reader has typed so far. */
export type ReviewView = {
  review: Review;
  token: string;
  /** Products of the list that are published now, by id. */
  products: ReadonlyMap<string, CatalogProduct>;
  /** Values of a form that was not taken, by field. */
  typed: ReadonlyMap<string, string>;
  faults: Faults;
  /** The list was changed by somebody else while this reader looked at it. */
  isOutrun: boolean;
  /** This answers quantities that were taken, among other things that were typed. */
  isSaved: boolean;
};

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
  html`${totals.map(
    ({ amount, currency }, index) =>
      html`${index > 0 ? ' + ' : ''}<data class="total" data-currency="${currency}"
 value="${amount}">${writer.money(amount, currency)}</data>`,
  )}`;
