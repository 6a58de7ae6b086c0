import { html } from 'hono/html';
import { visibleTitle } from '#src/shared/visible.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import { field, type Html, plural } from '#src/web/layout.ts';
import type { Writer } from '#src/shared/money.ts';
import { productResult } from '#src/links/product-page.pages.ts';
import { WORDS_CHARS_MAX } from '#src/links/product-routes.pages.ts';
import { LINES_PER_PAGE, linesShown, type ReviewView } from './review-view.pages.ts';

export const searchFields = (view: ReviewView, writer: Writer): Html =>
  html`<div class="search">${field({
    name: 'q',
    label: 'Name or SKU of a product',
    value: view.typed.get('q'),
    autocomplete: 'off',
    maxlength: WORDS_CHARS_MAX,
    faults: view.faults,
  })}
<button type="submit" formaction="/h/${view.token}/search" class="second">Search</button></div>
${results(view, writer)}`;

/** The lines that the buyer removed, each with a button. */
export const removedLines = ({ review, token }: ReviewView, writer: Writer): Html | '' => {
  const { removed = [] } = review.state;
  if (removed.length === 0) return '';
  const shown = removed.slice(-LINES_PER_PAGE).toReversed();
  const more = removed.length - shown.length;
  return html`<h3>Taken off the list</h3>
<ul class="results">${shown.map(
    ({
      line_id,
      product_id,
      title,
      sku,
      quantity,
    }) => html`<li><strong>${visibleTitle(title)}</strong>
<span class="quiet"><span class="sku">${sku}</span> · quantity ${writer.count(quantity)}</span>
${
  review.products.has(product_id)
    ? addButton({ token, title }, { name: 'restore', value: line_id, label: 'Put back' })
    : html`<span class="quiet">No longer offered</span>`
}</li>`,
  )}</ul>
${more > 0 && html`<p class="quiet">And ${writer.count(more)} more: search for a product to put it back.</p>`}`;
};

/** A button of the act that also saves quantities. */
const addButton = (
  { token, title }: { token: string; title: string },
  { name, value, label }: { name: 'add' | 'restore'; value: string; label: string },
): Html =>
  html`<button type="submit" formaction="/h/${token}/quantities" name="${name}" value="${value}"
 class="second" aria-label="${label} ${title}">${label}</button>`;

/** The products that were found. The hidden field shows them again after the next button. */
const results = (view: ReviewView, writer: Writer): Html | '' => {
  const { search } = view.review;
  if (!search) return '';
  const { words, products, total } = search;
  return html`<input type="hidden" name="found" value="${words}">
<h3 id="found" tabindex="-1" autofocus>${
    total === 0
      ? `Nothing matches “${words}”. Try fewer or other words.`
      : `${writer.count(total)} ${plural(total, 'product matches', 'products match')} “${words}”`
  }</h3>
<ul class="results">${products.map((product) =>
    productResult(product, {
      writer,
      source: { kept: [], imageOrigins: view.imageOrigins },
      act: actOn(product, view),
    }),
  )}</ul>
${
  total > products.length &&
  html`<p class="quiet">These are the first ${products.length}. Search for more words to see others.</p>`
}`;
};

/** Adds a product that is not on the list; leads to the line of one that is. */
const actOn = ({ product_id, title }: CatalogProduct, view: ReviewView): Html => {
  const line = view.review.state.lines.find((one) => one.product_id === product_id);
  if (!line)
    return addButton(
      { token: view.token, title },
      { name: 'add', value: product_id, label: 'Add' },
    );
  return linesShown(view).lines.includes(line)
    ? html`<a href="#quantity.${line.line_id}">On the list</a>`
    : html`<span class="quiet">On the list</span>`;
};
