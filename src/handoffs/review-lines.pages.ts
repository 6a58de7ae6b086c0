/** The lines of a list as the pages show them. */
import { html } from 'hono/html';
import { decimalsOf } from '#contracts/currencies.ts';
import { type Warning, WARNINGS } from '#contracts/handoffs/records.ts';
import { quantitiesIn, quantityRule } from '#src/catalog/products.ts';
import { isTestSpace } from '#contracts/spaces.ts';
import { pictureOf } from '#src/links/product.pages.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import type { Writer } from '#src/shared/money.ts';
import { type Faults, type Html, describedBy, invalid, rich } from '#src/web/layout.ts';
import type { Review } from './review.ts';

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
type Totals = Review['state']['totals'];

/** Lines on one page: a browser and this process take constant time for each list. */
export const LINES_PER_PAGE = 100;

/** A part of the list: its lines, its number from 1, and the number of parts. */
type LinesShown = { lines: readonly Line[]; number: number; count: number };

export const linesShown = ({ review, page }: ReviewView): LinesShown => {
  const { lines } = review.state;
  const count = Math.max(1, Math.ceil(lines.length / LINES_PER_PAGE));
  const number = Math.min(page, count);
  const from = (number - 1) * LINES_PER_PAGE;
  return { lines: lines.slice(from, from + LINES_PER_PAGE), number, count };
};

/** The number of the part that contains a line; 1 if the list does not contain it. */
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

export const isTest = ({ ownerId }: Pick<Review, 'ownerId'>): boolean => isTestSpace(ownerId);

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

/** The decimals of the currencies for the script, as `GBP:2 JPY:0`. */
export const decimalsField = (priced: readonly { currency: string }[]): string =>
  [...new Set(priced.map(({ currency }) => currency))]
    .map((currency) => `${currency}:${decimalsOf(currency)}`)
    .join(' ');

const TOTAL = /^([A-Z]{3}):(\d{1,16})$/;

/** Reads such a field; a malformed one equals no total. */
export const readTotals = (said: string): Totals =>
  said.split(' ').flatMap((one) => {
    const [, currency, amount] = TOTAL.exec(one) ?? [];
    return currency && amount ? [{ amount: Number(amount), currency }] : [];
  });

/** Digits of the largest quantity that a list can hold. */
const QUANTITY_CHARS_MAX = 9;

/**
 * The list with a quantity field in each line; 0 removes the line. The roles repeat those of the elements, which
 * browsers drop when the style sheet displays rows as cards.
 */
export const lineFields = (view: ReviewView, writer: Writer): Html => {
  const page = linesShown(view);
  const { lines: all, list_revision } = view.review.state;
  return html`${placeOf(page, all.length, writer)}
<table role="table" class="lines" id="quantities">
<caption>${writer.say('review_change')} ${writer.say('lines_caption_form')}
${list_revision > 1 && writer.say('review_version', { version: writer.count(list_revision) })}</caption>
${heads(writer)}
<tbody role="rowgroup">${page.lines.map((line) => formRow(line, view, writer))}</tbody>
${totalRow(view.priced.totals, writer, writer.say('indicative_total'), totalNow(view, writer))}
</table>
${otherPages(
  page,
  (number, text) =>
    html`<button type="submit" formaction="/h/${view.token}/quantities" name="go" value="${number}"
 class="second">${text}</button>`,
  writer,
)}
<div class="bar"><p id="unsaved" role="status"></p>
<button type="submit" formaction="/h/${view.token}/quantities" class="second">${writer.say('update_quantities')}</button>
<a class="button" href="#send">${writer.say('ask_for_quotation')}</a></div>`;
};

/** The list without fields, once it is closed. */
export const lineTable = (
  view: ReviewView,
  writer: Writer,
  hrefOf: (page: number) => string = (page) => addressOf(view.token, page),
): Html => {
  const { totals, rfq, lines } = view.review.state;
  const page = linesShown(view);
  const remarks = (line: Line) => (rfq ? remarkList(line, remarksWhenSent(line, writer)) : '');
  return html`${placeOf(page, lines.length, writer)}
<table role="table" class="lines">
<caption>${writer.say('lines_caption')}</caption>
${heads(writer)}
<tbody role="rowgroup">${page.lines.map(
    (line) => html`<tr role="row">${nameCell(line, remarks(line))}
<td role="cell" data-label="${writer.say('quantity')}" class="num">${writer.count(line.quantity)}</td>
${priceCells(line, writer)}</tr>`,
  )}</tbody>
${totalRow(totals, writer)}
</table>
${otherPages(page, (number, text) => html`<a href="${hrefOf(number)}">${text}</a>`, writer)}`;
};

/** Says which part of a long list this page shows. */
const placeOf = ({ lines, number, count }: LinesShown, all: number, writer: Writer): Html | '' =>
  count === 1
    ? ''
    : html`<p class="quiet" id="list-page">${writer.say('lines_place', {
        page: writer.count(number),
        pages: writer.count(count),
        shown: writer.count(lines.length),
        all: writer.count(all),
      })}</p>`;

const otherPages = (
  { number, count }: LinesShown,
  wayTo: (number: number, text: string) => Html,
  writer: Writer,
): Html | '' => {
  const way = (page: number) => wayTo(page, writer.say('page_number', { page: `${page}` }));
  return count === 1
    ? ''
    : html`<nav class="pages" aria-label="${writer.say('lines_pages')}">
${number > 1 && way(number - 1)}
${number < count && way(number + 1)}</nav>`;
};

export const heads = ({ say }: Writer): Html => html`<thead role="rowgroup"><tr role="row">
<th role="columnheader" scope="col">${say('product')}</th>
<th role="columnheader" scope="col" class="num">${say('quantity')}</th>
<th role="columnheader" scope="col" class="num">${say('unit_price')}</th>
<th role="columnheader" scope="col" class="num">${say('total')}</th></tr></thead>`;

export const totalRow = (
  totals: Totals,
  writer: Writer,
  label = writer.say('indicative_total'),
  more: Html | '' = '',
): Html =>
  html`<tfoot role="rowgroup"><tr role="row"><th role="rowheader" scope="row" colspan="3">
${label}</th>
<td role="cell" class="num">${totalsIn(totals, writer)}${more}</td></tr></tfoot>`;

export const nameCell = (line: Line, remarks: Html | '' = '', name: Html | string = ''): Html =>
  html`<th role="rowheader" scope="row"><span class="name">${name || line.title}</span>
<span class="sku">${line.sku}</span>
${line.note && html`<span class="note">${line.note}</span>`}${remarks}</th>`;

export const priceCells = (line: Line, writer: Writer, better: Html | '' = ''): Html => {
  const { unit_price, quantity, currency } = line;
  const sum = unit_price * quantity;
  return html`<td role="cell" data-label="${writer.say('unit_price')}" class="num">
<span class="unit">${writer.money(unit_price, currency)}</span>${better}</td>
<td role="cell" data-label="${writer.say('total')}" class="num">
<data class="sum" value="${sum}">${writer.money(sum, currency)}</data></td>`;
};

const formRow = (line: Line, view: ReviewView, writer: Writer): Html => {
  const product = view.review.products.get(line.product_id);
  const remarks = remarksOn(line, view, writer);
  const priced = view.priced.lines.get(line.line_id) ?? { ...line, quantity: 0 };
  return html`<tr role="row" data-product="${line.product_id}"
 data-price="${priceForScript(line.currency, [{ min_quantity: 1, unit_price: line.unit_price }])}"
 data-tiers="${product ? priceForScript(product.currency, product.price_tiers) : ''}">
${nameCell(line, html`${remarkList(line, remarks)}${remedies(line, view, writer)}`, linkedName(line, view))}
<td role="cell" data-label="${writer.say('quantity')}" class="num">
${quantityField(line, view, { hasRemarks: remarks.length > 0, writer })}${stepHint(product, writer)}</td>
${priceCells(priced, writer, betterPrice(line, view, writer))}</tr>`;
};

/** The name with the picture of a product that is offered, as a link to its page; another tab keeps what was typed. */
const linkedName = (line: Line, { review: { products }, imageOrigins }: ReviewView): Html | '' => {
  const product = products.get(line.product_id);
  if (!product) return '';
  const image = pictureOf(product.image_url, { imageOrigins });
  return html`${image && html`<img src="${image}" alt="" loading="lazy" referrerpolicy="no-referrer">`}
<a href="/p/${line.product_id}" target="_blank" rel="noopener">${line.title}</a>`;
};

const nameOf = (line: Line): string => `quantity.${line.line_id}`;

const quantityField = (
  line: Line,
  view: ReviewView,
  { hasRemarks, writer }: { hasRemarks: boolean; writer: Writer },
): Html => {
  const name = nameOf(line);
  const fault = view.faults.get(name);
  const isAdded = view.added === line.line_id;
  const described = [
    fault && `${name}-fault`,
    hasRemarks && `${name}-remarks`,
    isAdded && 'notice',
  ];
  return html`${fault && html`<p class="fault" id="${name}-fault">${fault}</p>`}
<input class="quantity" id="${name}" name="${name}" data-was="${line.quantity}"
 value="${view.typed.get(name) ?? line.quantity}"
 inputmode="numeric" autocomplete="off" maxlength="${QUANTITY_CHARS_MAX}"${isAdded ? html` autofocus` : ''}
 aria-label="${writer.say('quantity_of', { title: line.title })}"
${describedBy(described.filter(Boolean).join(' '))}${invalid(fault)}>`;
};

export const remarkList = (line: Line, remarks: readonly string[]): Html | '' =>
  remarks.length === 0
    ? ''
    : html`<ul class="remarks" id="${nameOf(line)}-remarks">${remarks.map(
        (one) => html`<li>${one}</li>`,
      )}</ul>`;

/** Warnings about a line for the buyer, from the current state of its product. */
export const remarksOn = (line: Line, view: ReviewView, writer: Writer): string[] => {
  const now = view.review.changed.get(line.line_id);
  const product = view.review.products.get(line.product_id);
  if (now && 'withdrawn' in now) return [noLongerOffered(now.withdrawn.reason, writer)];
  const priced = view.priced.lines.get(line.line_id) ?? line;
  const remarks = warningsOn(line, view).map((warning) => inWords(warning, product, writer));
  if (now && (now.unit_price !== line.unit_price || now.currency !== line.currency))
    remarks.unshift(
      writer.say('remark_price_changed', {
        now: writer.money(now.unit_price, now.currency),
        was: writer.money(line.unit_price, line.currency),
        sum_now: writer.money(now.unit_price * priced.quantity, now.currency),
        sum_was: writer.money(line.unit_price * priced.quantity, line.currency),
      }),
    );
  return remarks;
};

/** The warnings about a line with the entered quantity, from the current state of its product. */
const warningsOn = (line: Line, { review, priced: { lines } }: ReviewView): Warning[] => {
  const now = review.changed.get(line.line_id);
  const priced = lines.get(line.line_id) ?? line;
  if (now && 'withdrawn' in now) return ['withdrawn'];
  return known(priced === line && now ? now.warnings : (priced.warnings ?? []));
};

/** Differences between a line and its product, for staff. */
const remarksWhenSent = (line: Line, writer: Writer): string[] => {
  const { warnings = [], price_when_sent: price } = line;
  const remarks = known(warnings).map((warning) => `${writer.say(`warning_${warning}`)}.`);
  if (!price) return remarks;
  const { amount, currency } = price;
  return [
    writer.say('remark_price_when_sent', { price: writer.money(amount, currency) }),
    ...remarks,
  ];
};

const known = (warnings: readonly string[]): Warning[] =>
  warnings.filter((warning): warning is Warning => warning in WARNINGS);

const noLongerOffered = (reason: string | undefined, { say }: Writer): string =>
  reason === undefined ? say('remark_withdrawn') : say('remark_withdrawn_because', { reason });

const inWords = (warning: Warning, product: CatalogProduct | undefined, writer: Writer): string => {
  const text = writer.say(`warning_${warning}`);
  if (!product) return `${text}.`;
  const { moq, increment, stock } = product;
  const limit = {
    below_moq: moq,
    off_increment: increment,
    stock_below_quantity: stock.level === 'out_of_stock' ? 0 : stock.available_quantity,
    free: null,
    withdrawn: null,
  }[warning];
  return `${text}${limit === null ? '' : ` (${writer.count(limit)})`}.`;
};

const stepHint = (product: CatalogProduct | undefined, writer: Writer): Html | '' => {
  if (!product || (product.moq <= 1 && product.increment <= 1)) return '';
  const least = product.moq > 1 ? writer.say('at_least', { least: writer.count(product.moq) }) : '';
  const step =
    product.increment > 1 ? writer.say('in_steps', { step: writer.count(product.increment) }) : '';
  return html`<span class="hint">${[least, step].filter(Boolean).join(', ')}</span>`;
};

/** The field of a button that saves the list with this quantity of one line, as `LINE:QUANTITY`. */
const USE = 'use';

/** A button that saves the list, with this quantity of the line. */
const useButton = (
  line: Line,
  { token }: ReviewView,
  { quantity, text, title }: { quantity: number; text: string; title: string },
): Html =>
  html`<button type="submit" formaction="/h/${token}/quantities" name="${USE}" value="${line.line_id}:${quantity}"
 class="second remedy" aria-label="${text}: ${title}">${text}</button>`;

const USED = /^(\d{1,9}):(\d{1,9})$/;

/** The fields of a form, with the quantity that such a button asks for in place of the typed one. */
export const withUsed = (fields: ReadonlyMap<string, string>): ReadonlyMap<string, string> => {
  const [, id, quantity] = USED.exec(fields.get(USE) ?? '') ?? [];
  return id === undefined || quantity === undefined
    ? fields
    : new Map([...fields, [`quantity.${id}`, quantity]]);
};

/** What the quantity of a line can be instead; undefined for a product that is no longer offered. */
const ruleFor = (line: Line, { review, priced: { lines } }: ReviewView) => {
  const product = review.products.get(line.product_id);
  const { quantity } = lines.get(line.line_id) ?? line;
  const inList = quantitiesIn(lines.values()).get(line.product_id) ?? quantity;
  return product && { product, quantity, ...quantityRule(product, quantity, inList) };
};

/** The nearest quantities without a warning, each as a button. A line that cannot be had can be removed. */
const remedies = (line: Line, view: ReviewView, writer: Writer): Html | '' => {
  const warnings = warningsOn(line, view);
  const isMended = warnings.every((warning) => warning === 'free');
  if (isMended) return '';
  const { below, above } = ruleFor(line, view) ?? {};
  const quantities = [below, above].filter((quantity) => quantity !== undefined);
  const { title } = line;
  return html`<p class="remedies">${
    quantities.length > 0
      ? quantities.map((quantity) => {
          const text = writer.say('use_quantity', { quantity: writer.count(quantity) });
          return html`${useButton(line, view, { quantity, text, title })} `;
        })
      : view.review.state.lines.length > 1 &&
        useButton(line, view, { quantity: 0, text: writer.say('take_off'), title })
  }</p>`;
};

/** A button with the quantity from which on the unit price is lower. */
const betterPrice = (line: Line, view: ReviewView, writer: Writer): Html | '' => {
  const { product, quantity, next_tier: next } = ruleFor(line, view) ?? {};
  if (next === undefined || product?.currency !== line.currency || quantity === undefined)
    return '';
  const price = product.price_tiers.findLast(
    ({ min_quantity }) => min_quantity <= next,
  )?.unit_price;
  const paid = view.priced.lines.get(line.line_id)?.unit_price ?? line.unit_price;
  if (price === undefined || price >= paid) return '';
  const text = writer.say('more_for_less', {
    more: writer.count(next - quantity),
    price: writer.money(price, product.currency),
  });
  return useButton(line, view, { quantity: next, text, title: line.title });
};

/** Number of lines whose product has another price, or warnings: the lines to look at. */
export const linesToLookAt = (view: ReviewView, writer: Writer): readonly Line[] =>
  view.review.state.lines.filter((line) => remarksOn(line, view, writer).length > 0);

/** The total at the present prices, where it is another one. */
const totalNow = (
  { review: { totalsNow }, priced: { totals } }: ReviewView,
  writer: Writer,
): Html | '' =>
  totalsField(totalsNow) === totalsField(totals)
    ? ''
    : html`<span class="hint" id="total-now">${rich(writer, 'total_now', {
        total: html`${totalsNow.map(
          ({ amount, currency }, index) =>
            html`${index > 0 ? ' + ' : ''}${writer.money(amount, currency)}`,
        )}`,
      })}</span>`;

/** Price tiers for the page's script, as `GBP 20:42 100:39`: minimum quantity and unit price. */
const priceForScript = (currency: string, tiers: CatalogProduct['price_tiers']): string =>
  [currency, ...tiers.map((tier) => `${tier.min_quantity}:${tier.unit_price}`)].join(' ');
