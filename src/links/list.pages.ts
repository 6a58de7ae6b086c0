/** The landing page of a list. */
import { html } from 'hono/html';
import { type Warning, WARNINGS } from '#contracts/handoffs/records.ts';
import { LIMITS } from '#contracts/limits.ts';
import {
  heads,
  nameCell,
  priceCells,
  remarkList,
  totalRow,
} from '#src/handoffs/review-lines.pages.ts';
import { HOUSE_LOCALE, writerFor } from '#src/shared/money.ts';
import { type Html, notice, type Page, plural } from '#src/web/layout.ts';
import {
  keeping,
  keptFields,
  type PageSource,
  promotionNotice,
  withLines,
  searchForm,
} from './product.pages.ts';
import type { ShownList } from './visitors.ts';

/** The page of a list that its address has. Nothing is stored until its button is pressed. */
export const listPage = (list: ShownList, source: PageSource): Page => {
  const { lines, missing } = list;
  return {
    title: 'Your list',
    main: html`<article class="review"><header class="head"><h1>Your list</h1>
<p class="lede">The list is in the address of this page only. Nothing is stored or sent yet.</p>
${promotionNotice(source)}</header>
${
  missing.length > 0 &&
  notice(
    'warn',
    html`<p>${missing.length} ${plural(missing.length, 'product is', 'products are')} no longer offered
and left out.</p>`,
  )
}
${lines.length === 0 ? html`<p class="lede">The list is empty.</p>` : content(list, source)}
${searchForm('', source)}</article>`,
  };
};

const content = ({ lines, totals, once }: ShownList, source: PageSource): Html => {
  const writer = writerFor(HOUSE_LOCALE);
  const without = (removed: string): PageSource =>
    withLines(
      source,
      source.lines.filter(({ product_id }) => product_id !== removed),
    );
  return html`<table role="table" class="lines">
<caption>Prices are indicative, per unit, for the quantity shown.</caption>
${heads(writer)}
<tbody role="rowgroup">${lines.map((line) => {
    const { product_id, title, quantity, warnings = [] } = line;
    const remarks = warnings.map((warning) => WARNINGS[warning as Warning]);
    const ways = html`<span class="ways"><a href="${keeping(`/p/${product_id}`, source)}"
 aria-label="Change ${title}">Change</a>
<a href="${keeping('/list', without(product_id))}" aria-label="Remove ${title}">Remove</a></span>`;
    return html`<tr role="row">${nameCell(line, html`${remarkList(line, remarks)}${ways}`)}
<td role="cell" data-label="Quantity" class="num">${writer.count(quantity)}</td>
${priceCells(line, writer)}</tr>`;
  })}</tbody>
${totalRow(totals, writer)}
</table>
<form action="/h" method="post">${keptFields(source)}
<input type="hidden" name="once" value="${once}">
<p>“Review” stores the list and opens its page, where you can change it, decline it or send it as a request
for quotation. Nothing is ordered.</p>
<button type="submit">Review</button></form>
<p class="quiet">A list has at most ${LIMITS.LIST_LINES_MAX} products.</p>`;
};
