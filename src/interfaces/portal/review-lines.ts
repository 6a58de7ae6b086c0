import { html } from 'hono/html';
import type { Warning } from '#contracts/records/handoff.ts';
import { WARNINGS } from '#contracts/records/handoff.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import type { Html } from './layout.ts';
import type { Writer } from './money.ts';
import { describedBy, invalid } from './parts.ts';
import type { Line, ReviewView } from './review-view.ts';
import { totalsIn } from './review-view.ts';

/** Digits of the largest quantity that a list can hold. */
const QUANTITY_CHARS_MAX = 9;

/**
 * The list as fields: a quantity each, 0 takes a line off. Roles are said although they are the
 * elements' own: a browser forgets them where the style sheet makes cards of the rows.
 */
export const lineFields = (view: ReviewView, writer: Writer): Html => {
  const { state } = view.review;
  return html`<table role="table" class="lines" id="quantities">
<caption>Prices are indicative, per unit, for the quantity shown.</caption>
${heads()}
<tbody role="rowgroup">${state.lines.map((line) => formRow(line, view, writer))}</tbody>
${totalRow(view, writer)}
</table>
<div class="bar"><p id="unsaved" role="status"></p>
<button type="submit" formaction="/h/${view.token}/quantities" class="second">Update
quantities</button></div>`;
};

/** The list to read, once nothing can be changed. */
export const lineTable = (view: ReviewView, writer: Writer): Html => {
  const { lines } = view.review.state;
  return html`<table role="table" class="lines">
<caption>Prices are indicative, per unit.</caption>
${heads()}
<tbody role="rowgroup">${lines.map(
    (line) => html`<tr role="row">${nameCell(line)}
<td role="cell" data-label="Quantity" class="num">${writer.count(line.quantity)}</td>
${priceCells(line, writer)}</tr>`,
  )}</tbody>
${totalRow(view, writer)}
</table>`;
};

const heads = (): Html => html`<thead role="rowgroup"><tr role="row">
<th role="columnheader" scope="col">Product</th>
<th role="columnheader" scope="col" class="num">Quantity</th>
<th role="columnheader" scope="col" class="num">Unit price</th>
<th role="columnheader" scope="col" class="num">Total</th></tr></thead>`;

const totalRow = ({ review: { state } }: ReviewView, writer: Writer): Html =>
  html`<tfoot role="rowgroup"><tr role="row"><th role="rowheader" scope="row" colspan="3">
Indicative total</th>
<td role="cell" class="num">${totalsIn(state.totals, writer)}</td></tr></tfoot>`;

const nameCell = (line: Line, remarks: Html | '' = ''): Html =>
  html`<th role="rowheader" scope="row"><span class="name">${line.title}</span>
<span class="sku">${line.sku}</span>
${line.note && html`<span class="note">${line.note}</span>`}${remarks}</th>`;

const priceCells = (line: Line, writer: Writer, better: Html | '' = ''): Html => {
  const { unit_price, quantity, currency } = line;
  const sum = unit_price * quantity;
  return html`<td role="cell" data-label="Unit price" class="num">
<span class="unit">${writer.money(unit_price, currency)}</span>${better}</td>
<td role="cell" data-label="Total" class="num">
<data class="sum" value="${sum}">${writer.money(sum, currency)}</data></td>`;
};

const formRow = (line: Line, view: ReviewView, writer: Writer): Html => {
  const name = `quantity.${line.line_id}`;
  const product = view.products.get(line.product_id);
  const remarks = remarksOn(line, view, writer);
  const tiers = tiersOf(line, product);
  return html`<tr role="row" data-currency="${line.currency}" data-tiers="${tiers}">
${nameCell(line, remarkList(name, remarks))}
<td role="cell" data-label="Quantity" class="num">
${quantityField(line, view, remarks.length > 0)}${stepHint(product)}</td>
${priceCells(line, writer, betterPrice(line, product, writer))}</tr>`;
};

const quantityField = (line: Line, view: ReviewView, hasRemarks: boolean): Html => {
  const name = `quantity.${line.line_id}`;
  const fault = view.faults.get(name);
  const described = [fault && `${name}-fault`, hasRemarks && `${name}-remarks`];
  return html`${fault && html`<p class="fault" id="${name}-fault">${fault}</p>`}
<input class="quantity" id="${name}" name="${name}" data-was="${line.quantity}"
 value="${view.typed.get(name) ?? line.quantity}"
 inputmode="numeric" autocomplete="off" maxlength="${QUANTITY_CHARS_MAX}"
 aria-label="Quantity of ${line.title}"
${describedBy(described.filter(Boolean).join(' '))}${invalid(fault)}>`;
};

const remarkList = (name: string, remarks: readonly string[]): Html | '' =>
  remarks.length === 0
    ? ''
    : html`<ul class="remarks" id="${name}-remarks">${remarks.map(
        (one) => html`<li>${one}</li>`,
      )}</ul>`;

/** What the reader should know of a line before sending it, as things stand now. */
export const remarksOn = (line: Line, view: ReviewView, writer: Writer): string[] => {
  const now = view.review.changed.get(line.line_id);
  const product = view.products.get(line.product_id);
  if (now === 'withdrawn')
    return ['No longer offered. Set the quantity to 0 to take it off the list.'];
  const remarks = (now?.warnings ?? line.warnings ?? []).flatMap((warning) =>
    warning in WARNINGS ? [inWords(warning as Warning, product, writer)] : [],
  );
  if (now && now.unit_price !== line.unit_price) {
    const [price, was] = [now.unit_price, line.unit_price].map((amount) =>
      writer.money(amount, product?.currency ?? line.currency),
    );
    remarks.unshift(`The price is now ${price}; it was ${was} when this line was priced.`);
  }
  return remarks;
};

const inWords = (warning: Warning, product: CatalogProduct | undefined, writer: Writer): string => {
  if (!product) return `${WARNINGS[warning]}.`;
  const { moq, increment, stock } = product;
  const limit = {
    below_moq: moq,
    off_increment: increment,
    stock_below_quantity: stock.level === 'out_of_stock' ? 0 : stock.available_quantity,
  }[warning];
  return `${WARNINGS[warning]}${limit === null ? '' : ` (${writer.count(limit)})`}.`;
};

const stepHint = (product: CatalogProduct | undefined): Html | '' => {
  if (!product || (product.moq <= 1 && product.increment <= 1)) return '';
  const least = product.moq > 1 ? `at least ${product.moq}` : '';
  const step = product.increment > 1 ? `in steps of ${product.increment}` : '';
  return html`<span class="hint">${[least, step].filter(Boolean).join(', ')}</span>`;
};

/** The next tier, when a larger quantity costs less each. */
const betterPrice = (
  line: Line,
  product: CatalogProduct | undefined,
  writer: Writer,
): Html | '' => {
  const next = product?.price_tiers.find(
    (tier) => tier.min_quantity > line.quantity && tier.unit_price < line.unit_price,
  );
  if (!product || !next) return '';
  const price = writer.money(next.unit_price, product.currency);
  return html`<span class="hint">${price} from ${writer.count(next.min_quantity)}</span>`;
};

/** For the script: what a unit costs from which quantity on, as `20:42 100:39`. */
const tiersOf = (line: Line, product: CatalogProduct | undefined): string =>
  product
    ? product.price_tiers.map((tier) => `${tier.min_quantity}:${tier.unit_price}`).join(' ')
    : `1:${line.unit_price}`;
