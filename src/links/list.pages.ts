/** The landing page of a list. */
import { html } from 'hono/html';
import type { Warning } from '#contracts/handoffs/records.ts';
import { LIMITS } from '#contracts/limits.ts';
import {
  heads,
  nameCell,
  priceCells,
  remarkList,
  totalRow,
} from '#src/handoffs/review-lines.pages.ts';
import { type Html, notice, type Page } from '#src/web/layout.ts';
import {
  keeping,
  keptFields,
  type PageSource,
  promotionNotice,
  withLines,
  searchForm,
  shopNav,
} from './product.pages.ts';
import type { ShownList } from './visitors.ts';

/** The page of a list that its address has. Nothing is stored until its button is pressed. */
export const listPage = (list: ShownList, source: PageSource): Page => {
  const { lines, missing } = list;
  const { say, locale } = source.writer;
  return {
    title: say('review_own_title'),
    locale,
    nav: shopNav(source),
    main: html`<article class="review"><header class="head"><h1>${say('review_own_title')}</h1>
<p class="lede">${say('list_unstored')}</p>
${promotionNotice(source)}</header>
${
  missing.length > 0 &&
  notice('warn', html`<p>${say('list_missing', { count: missing.length })}</p>`)
}
${lines.length === 0 ? html`<p class="lede">${say('list_empty')}</p>` : content(list, source)}
${searchForm('', source)}</article>`,
  };
};

const content = ({ lines, totals, once }: ShownList, source: PageSource): Html => {
  const { writer } = source;
  const { say } = writer;
  const without = (removed: string): PageSource =>
    withLines(
      source,
      source.lines.filter(({ product_id }) => product_id !== removed),
    );
  return html`<table role="table" class="lines">
<caption>${say('lines_caption_form')}</caption>
${heads(writer)}
<tbody role="rowgroup">${lines.map((line) => {
    const { product_id, title, quantity, warnings = [] } = line;
    const remarks = warnings.map((warning) => say(`warning_${warning as Warning}`));
    const ways = html`<span class="ways"><a href="${keeping(`/p/${product_id}`, source)}"
 aria-label="${say('list_change_one', { title })}">${say('list_change')}</a>
<a href="${keeping('/list', without(product_id))}" aria-label="${say('list_remove_one', { title })}">${say('list_remove')}</a></span>`;
    return html`<tr role="row">${nameCell(line, html`${remarkList(line, remarks)}${ways}`)}
<td role="cell" data-label="${say('quantity')}" class="num">${writer.count(quantity)}</td>
${priceCells(line, writer)}</tr>`;
  })}</tbody>
${totalRow(totals, writer)}
</table>
<form action="/h" method="post">${keptFields(source)}
<input type="hidden" name="once" value="${once}">
<p>${say('list_review_text')}</p>
<button type="submit">${say('list_review')}</button></form>
<p class="quiet">${say('list_most', { most: writer.count(LIMITS.LIST_LINES_MAX) })}</p>`;
};
