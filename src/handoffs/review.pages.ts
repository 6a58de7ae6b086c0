/** The pages of a review link: the list, its forms, and what they show after the RFQ. */
import type { FastifyReply, FastifyRequest, FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import { BOUNDARIES } from '#contracts/boundaries.ts';
import { COUNTRIES } from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import { ATTRIBUTION_PARAMETER } from '#contracts/links/attribution-token.ts';
import type { ProblemCode, InputFault } from '#contracts/problems.ts';
import { totalsOf } from '#src/catalog/products.ts';
import { wordsIn, WORDS_CHARS_MAX, type PictureOptions } from '#src/links/landing.pages.ts';
import {
  LIST_PARAMETER,
  linesIn,
  listValue,
  tokensIn,
  productResult,
} from '#src/links/product.pages.ts';
import { firstOf, type SentValue } from '#src/web/http.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import type { App } from '#src/registries/app.ts';
import { type Writer, writerOf } from '#src/shared/money.ts';
import { isRefusal, type Outcome, type Refusal } from '#src/shared/outcome.ts';
import { present } from '#src/shared/present.ts';
import { sendErrorPage, sendRefusal, withRetryAfter } from '#src/web/error-pages.ts';
import {
  type Admissions,
  admitHolders,
  type HolderAdmission,
  type ByToken,
  insideOf,
} from '#src/web/holder-admission.ts';
import {
  type Faults,
  describedBy,
  type Html,
  invalid,
  field,
  plural,
  notice,
  type Page,
  facts,
  faultSummary,
  NO_FAULTS,
  sendPage,
} from '#src/web/layout.ts';
import {
  addressOf,
  pageWith,
  readTotals,
  type ReviewView,
  type Line,
  linesShown,
  decimalsField,
  totalsField,
  totalsIn,
  lineTable,
  isTest,
  LINES_PER_PAGE,
  lineFields,
  remarksOn,
  type ReviewNotice,
} from './review-lines.pages.ts';
import type { Review } from './review.ts';
import { RFQ_CONSENT } from './submit-rfq.ts';

const LIST_REFUSALS: Partial<Record<ProblemCode, [number, { title: string; detail: string }]>> = {
  validation_failed: [
    422,
    {
      title: 'The list cannot be read',
      detail: 'Nothing was stored. Go back, load the page again and press “Review” once more.',
    },
  ],
  state_conflict: [
    409,
    {
      title: 'Too many lists',
      detail: `You have made ${LIMITS.LISTS_PER_VISIT_MAX} lists after one click. Use one of them, or follow the promoter’s link again.`,
    },
  ],
  rate_limited: [
    429,
    {
      title: 'Too much at once',
      detail: 'Your network made many lists within a minute. Please try again in a moment.',
    },
  ],
};

/** Makes the list of a landing page's form, and redirects to its review page. */
const createListRoute =
  ({ holders }: App) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const body = (request.body ?? {}) as Record<string, SentValue>;
    const lines = linesIn(body[LIST_PARAMETER]);
    const once = firstOf(body['once']) ?? '';
    const attribution = tokensIn(body[ATTRIBUTION_PARAMETER]);
    const made = await holders.performAs('createList', {
      caller: { kind: 'holder', token: once },
      surface: 'portal',
      requestId: request.id,
      input: { lines, attribution, once, address: request.ip },
    });
    if (made.ok) return reply.redirect(addressOf(made.value.token, 1), 303);
    // The page of the list says which products are missing.
    if (made.code === 'product_unavailable')
      return reply.redirect(`/list?${LIST_PARAMETER}=${listValue(lines)}`, 303);
    const refused = LIST_REFUSALS[made.code];
    return refused
      ? sendErrorPage(withRetryAfter(reply, made), ...refused)
      : sendRefusal(reply, made);
  };

type EnteredFields = ReadonlyMap<string, string>;

const BESIDE = 'name email company phone country message consent reason q found'.split(' ');
/** The fields of a contact that can be empty. */
const OPTIONAL = ['company', 'phone', 'country', 'message'];
/** The prefix of quantity fields; the line's id follows. */
const QUANTITY = 'quantity.';

/** Fields of a body by name; the first value of a repeated name. Browsers send a line break as CR LF. */
export const fieldsOf = (body: unknown): EnteredFields =>
  new Map(
    Object.entries((body ?? {}) as Record<string, unknown>).map(([name, value]) => [
      name,
      String(Array.isArray(value) ? value[0] : value).replaceAll('\r\n', '\n'),
    ]),
  );

const textOf = (fields: EnteredFields, name: string): string => fields.get(name)?.trim() ?? '';

const quantitiesOf = (fields: EnteredFields): EnteredFields =>
  new Map(
    [...fields].flatMap(([name, value]) =>
      name.startsWith(QUANTITY) ? [[name.slice(QUANTITY.length), value] as const] : [],
    ),
  );

const besideQuantities = (fields: EnteredFields): EnteredFields =>
  new Map([...fields].filter(([name]) => !name.startsWith(QUANTITY)));

/** Whether the buyer entered values that the page would lose on a redirect. */
const isWorthKeeping = (fields: EnteredFields, { state: { buyer } }: Review): boolean =>
  BESIDE.some((name) => textOf(fields, name) !== (isFilled(name) ? (buyer[name] ?? '') : ''));

/** Fields that the page fills from the list. */
const isFilled = (name: string): name is 'company' | 'country' =>
  name === 'company' || name === 'country';

/** The list revision of a form; 0, which no list has, when it is missing or malformed. */
export const revisionOf = (fields: EnteredFields): number => {
  const digits = fields.get('list_revision') ?? '';
  return /^\d{1,9}$/.test(digits) ? Number(digits) : 0;
};

const PAGE = /^[1-9]\d{0,3}$/;

/** Reads a page number; anything else is the first page. */
export const pageIn = (text: unknown): number =>
  typeof text === 'string' && PAGE.test(text) ? Number(text) : 1;

/** The page that a form asks for, or the one that it is on. */
const pageAskedFor = (fields: EnteredFields): number =>
  pageIn(fields.get('go') ?? fields.get('page'));

/** The words of the search whose results the form shows. */
const wordsOf = (fields: EnteredFields): string => wordsIn(fields.get('found'));

/** Whether the form has words that were not searched for. */
const isSearch = (fields: EnteredFields): boolean => wordsIn(fields.get('q')) !== '';

const searchedFields = (fields: EnteredFields): EnteredFields =>
  new Map([...fields, ['found', fields.get('q') ?? ''], ['q', '']]);

/** The id of the line that a form has put on a list; undefined if it puts none there. */
const addedLine = (fields: EnteredFields, { state }: Review): string | undefined =>
  state.lines.find(
    ({ line_id, product_id }) =>
      line_id === fields.get('restore') || product_id === fields.get('add'),
  )?.line_id;

/** The page of the first quantity that is refused; otherwise the page that the form was on. */
const pageOfFault = (faults: Faults, { page, review }: ReviewView): number => {
  const name = [...faults.keys()].find((one) => one.startsWith(QUANTITY));
  return name === undefined ? page : pageWith(review.state.lines, name.slice(QUANTITY.length));
};

const revisionInput = (fields: EnteredFields): Record<string, unknown> => ({
  ...quantitiesInput(fields),
  ...present({ restore: fields.get('restore'), add: fields.get('add') }),
});

const quantitiesInput = (fields: EnteredFields): Record<string, unknown> => ({
  list_revision: revisionOf(fields),
  quantities: quantitiesOf(fields),
});

const declineInput = (fields: EnteredFields): Record<string, unknown> => ({
  reason: textOf(fields, 'reason').replaceAll(/\s+/g, ' '),
});

const rfqInput = (fields: EnteredFields): Record<string, unknown> => {
  const totals = fields.get('totals');
  return {
    ...quantitiesInput(fields),
    ...(totals !== undefined && { shown: readTotals(totals) }),
    consent: fields.get('consent') === 'yes',
    contact: {
      name: textOf(fields, 'name'),
      email: textOf(fields, 'email'),
      ...Object.fromEntries(
        OPTIONAL.flatMap((name) => {
          const entered = textOf(fields, name);
          return entered === '' ? [] : [[name, entered]];
        }),
      ),
    },
  };
};

// The texts of the pages are English, and so are the names of the countries.
const names = new Intl.DisplayNames('en-GB', { type: 'region' });

export const countryName = (code: string): string => names.of(code) ?? code;

const OPTIONS = [...COUNTRIES]
  .map((code) => [code, countryName(code)] as const)
  .sort(([, one], [, other]) => one.localeCompare(other, 'en-GB'));

/** A field with the countries by name; an empty choice is none. */
const countryField = (value: string | undefined, faults: Faults): Html => {
  const fault = faults.get('country');
  return html`<div class="field${fault ? ' wrong' : ''}">
<label for="country">Delivery country <span class="quiet">(optional)</span></label>
${fault && html`<p class="fault" id="country-fault">${fault}</p>`}
<select id="country" name="country" autocomplete="country"${describedBy(fault ? 'country-fault' : '')}${invalid(fault)}>
<option value=""></option>
${OPTIONS.map(
  ([code, name]) =>
    html`<option value="${code}"${code === value ? html` selected` : ''}>${name}</option>\n`,
)}</select></div>`;
};

/**
 * One form around all fields, so that every button submits all of them. Enter in a field presses the first button of
 * the form: a hidden one, which reports only that Enter was pressed.
 */
const reviewForm = (view: ReviewView, fields: Html): Html => {
  const { review, token, priced } = view;
  const { lines, number, count } = linesShown(view);
  const shown = new Set(lines.map(({ line_id }) => line_id));
  const elsewhere = [...priced.lines.values()].filter(({ line_id }) => !shown.has(line_id));
  return html`<form method="post" action="/h/${token}/enter" id="review" novalidate
 data-other-lines="${elsewhere.length}" data-other-totals="${totalsField(totalsOf(elsewhere))}"
 data-decimals="${decimalsField([...lines, ...review.products.values()])}">
<button type="submit" class="unseen" tabindex="-1" aria-hidden="true">Go on</button>
${count > 1 && html`<input type="hidden" name="page" value="${number}">`}
<input type="hidden" name="list_revision" value="${review.state.list_revision}">
${review.state.lines.map(({ line_id }) => {
  const typed = shown.has(line_id) ? undefined : view.typed.get(QUANTITY + line_id);
  return typed && html`<input type="hidden" name="${QUANTITY}${line_id}" value="${typed}">`;
})}
<input type="hidden" name="totals" autocomplete="off" value="${totalsField(priced.totals)}">
${fields}
</form>`;
};

/** The contact that staff answer to. */
const contactFields = ({ typed, faults, review: { state } }: ReviewView): Html => {
  const { buyer } = state;
  return html`${field({
    name: 'name',
    label: 'Your name',
    value: typed.get('name'),
    autocomplete: 'name',
    maxlength: 200,
    required: true,
    faults,
  })}
${field({
  name: 'email',
  label: 'E-mail',
  type: 'email',
  value: typed.get('email'),
  autocomplete: 'email',
  maxlength: 254,
  required: true,
  hint: 'We send you a link to confirm the request. Staff also send the quotation here.',
  faults,
})}
<div class="pair">${field({
    name: 'company',
    label: 'Company',
    value: typed.get('company') ?? buyer.company,
    autocomplete: 'organization',
    maxlength: 200,
    faults,
  })}
${field({
  name: 'phone',
  label: 'Phone',
  type: 'tel',
  value: typed.get('phone'),
  autocomplete: 'tel',
  maxlength: 40,
  faults,
})}</div>
${countryField(typed.get('country') ?? buyer.country, faults)}
${field({
  name: 'message',
  label: 'Message to staff',
  value: typed.get('message'),
  autocomplete: 'off',
  maxlength: 2_000,
  rows: 4,
  faults,
})}`;
};

/** The form of the request for a quotation: the only one that sends anything to staff. */
const sendFields = (view: ReviewView, writer: Writer): Html => {
  const { review, token, typed, faults, priced } = view;
  const fault = faults.get('consent');
  const isTicked = typed.get('consent') === 'yes' && view.notice !== 'outrun';
  return html`<div class="card">
<p>You ask for a quotation for <strong><span id="line-count">${writer.count(priced.lines.size)}
${plural(priced.lines.size, 'line', 'lines')}</span>, ${totalsIn(priced.totals, writer)}</strong>.
Quantities that you change above are sent as you typed them, once you have seen what they come to.
First you confirm the request with a link that we mail to you; then staff answer you with a quotation by mail. Nothing is
ordered, reserved or paid.</p>
${contactFields(view)}
<div class="tick${fault ? ' wrong' : ''}">
${fault && html`<p class="fault" id="consent-fault">${fault}</p>`}
<input type="checkbox" id="consent" name="consent" value="yes" required
${isTicked ? html` checked` : ''}${describedBy(fault ? 'consent-fault' : '')}${invalid(fault)}>
<label for="consent">${RFQ_CONSENT}</label></div>
<p class="hint">Staff see your contact once you have confirmed it. The software and the promoter who prepared this list do
not.</p>
<button type="submit" formaction="/h/${token}/send">${
    review.awaitedUntil === undefined ? 'Ask for a quotation' : 'Send again'
  }</button>
</div>`;
};

const declineFields = ({ token, typed, faults }: ReviewView): Html => {
  const isOpen = (typed.get('reason') ?? '') !== '';
  return html`<details class="card"${isOpen ? html` open` : ''}><summary>Decline this list</summary>
<p>The list is closed, and the person who prepared it learns that you declined, with your reason if you
give one.</p>
${field({
  name: 'reason',
  label: 'Reason',
  value: typed.get('reason'),
  autocomplete: 'off',
  maxlength: 500,
  // A textarea: Enter makes a new line in it and presses no button.
  rows: 2,
  faults,
})}
<button type="submit" formaction="/h/${token}/decline" class="second">Decline</button>
</details>`;
};

/** For a list that the service mailed. The holder of any other link got it from a person. */
const disownFields = ({ token, review: { state } }: ReviewView): Html | '' =>
  state.deliver
    ? html`<details class="card"><summary>This was not me</summary>
<p>The list is closed. For ${LIMITS.MAILBOX_BLOCK_DAYS} days this service sends no message of this kind to your address.</p>
<button type="submit" formaction="/h/${token}/not-me" class="second">I did not ask for this</button></details>`
    : '';

const MESSAGES: Record<string, string> = {
  name: 'Enter your name, on one line of at most 200 characters.',
  email: 'Enter an e-mail address, like name@company.example.',
  company: 'The company must be one line of at most 200 characters.',
  country: 'Choose a country, or none.',
  message: 'The message must be plain text of at most 2,000 characters.',
  phone: 'The phone number must be one line of at most 40 characters.',
  consent: 'Tick the box to send the request.',
  reason: 'The reason must be plain text of at most 500 characters.',
};

/** Texts of input faults by form field. */
const faultsOf = (errors: readonly InputFault[], lines: readonly Line[]): Faults => {
  const titles = new Map(lines.map(({ line_id, title }) => [`quantity.${line_id}`, title]));
  return new Map(
    errors.map(({ pointer, detail }) => {
      const name = pointer.slice(1);
      const title = titles.get(name);
      const said = title === undefined ? `${detail}.` : `${title}: the quantity ${detail}.`;
      return [name, MESSAGES[name] ?? said[0]?.toUpperCase() + said.slice(1)];
    }),
  );
};

/** Closing reason of a list that was open when its personal data was erased. */
const ERASED = 'erased';

type Ending = { heading: string; body: Html; showsList: boolean };

/** The page of a closed list. It does not show the contact that was sent: the list's author also knows the link. */
const closedPage = (view: ReviewView): Page => {
  const { review } = view;
  const { state } = review;
  const writer = writerOf(state);
  const { heading, body, showsList } = endingOf(view, writer);
  return {
    title: `${heading}: ${state.title}`,
    locale: writer.locale,
    main: html`${isTest(review) && notice('warn', html`<p>This was a test list.</p>`)}
<article class="review">
<header class="head"><p class="eyebrow" lang="${state.locale}" dir="auto">${state.title}</p>
<h1>${heading}</h1>${view.notice === 'outrun' && late(review)}${body}
<p class="quiet">${
      state.made_by_buyer
        ? html`You made this list.`
        : html`The list was prepared by ${review.preparedBy}, a software agent acting for
${review.promoter}, who may be rewarded for what comes of it.`
    }</p></header>
${
  showsList &&
  html`<section aria-labelledby="list-heading"><h2 id="list-heading">The list</h2>
${lineTable(view, writer)}</section>`
}
</article>`,
  };
};

const endingOf = ({ review }: ReviewView, writer: Writer): Ending => {
  const { state } = review;
  const because = state.status_reason
    ? html`<p>The reason given: <q dir="auto">${state.status_reason}</q></p>`
    : '';
  switch (state.status) {
    case 'rfq_submitted':
      return {
        heading: 'Your request was sent',
        body: receipt(review, writer),
        showsList: true,
      };
    case 'declined':
      return {
        heading: 'You declined this list',
        body: html`<p class="lede">Nothing was sent, and nothing is ordered. The person who prepared the
list learns that you declined.</p>${because}`,
        showsList: false,
      };
    case 'withdrawn':
      if (state.erased && state.status_reason === ERASED)
        return {
          heading: 'This list was closed',
          body: html`<p class="lede">Personal data in it was erased, and the list was closed with it.
Nothing was sent, and nothing is ordered. Ask the person who sent you the link for a new list.</p>`,
          showsList: false,
        };
      return {
        heading: 'This list was withdrawn',
        body: html`<p class="lede">The promoter took it back before you sent it. Nothing was sent,
and nothing is ordered.</p>${because}`,
        showsList: false,
      };
    case 'invalidated':
      return {
        heading: 'This list is no longer valid',
        body: html`<p class="lede">Staff closed it. Nothing was sent, and nothing is
ordered.</p>${because}`,
        showsList: false,
      };
    case 'awaiting_buyer':
    case 'in_review':
      return {
        heading: 'This list has expired',
        body: html`<p class="lede">It was open until ${writer.moment(state.expires_at)}. Nothing was
sent, and nothing is ordered. Ask the person who sent you the link for a new list.</p>`,
        showsList: true,
      };
  }
};

const late = (review: Review): Html => {
  const wasSent = review.state.status === 'rfq_submitted';
  return html`<div class="notice warn" role="alert" tabindex="-1" autofocus>
<p><strong>Your last step was not taken.</strong> ${
    wasSent
      ? 'The request was sent before, with the quantities below.'
      : 'The list was closed before.'
  }${
    wasSent && !isTest(review) ? ' If you want other quantities, say so when staff answer you.' : ''
  }</p></div>`;
};

const answerText = (review: Review): string => {
  if (isTest(review)) return 'It was a test: nobody was asked, and nobody will answer.';
  return review.state.erased
    ? 'The contact was erased, so no answer can reach you.'
    : 'Staff will answer the contact you gave by mail, with a quotation that only its letter leads to. An order needs your agreement and theirs.';
};

const receipt = (review: Review, writer: Writer): Html => {
  const { state } = review;
  const at = state.rfq?.submitted_at ?? state.updated_at;
  return html`<div class="notice good"><p><strong>Nothing is ordered.</strong> You asked for a
quotation for the list below, on ${writer.moment(at)}. No stock is reserved, and no price is
accepted.</p></div>
<dl class="facts"><div><dt>Lines</dt><dd>${writer.count(state.lines.length)}</dd></div>
<div><dt>Indicative total</dt><dd>${totalsIn(state.totals, writer)}</dd></div>
<div><dt>Sent</dt><dd>${writer.moment(at)}</dd></div></dl>
<p>${answerText(review)} Your contact is not shown here, because others may know this link.</p>`;
};

const searchFields = (view: ReviewView, writer: Writer): Html =>
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
const removedLines = ({ review, token }: ReviewView, writer: Writer): Html | '' => {
  const { removed = [] } = review.state;
  if (removed.length === 0) return '';
  const shown = removed.slice(-LINES_PER_PAGE).toReversed();
  const more = removed.length - shown.length;
  return html`<h3>Taken off the list</h3>
<ul class="results">${shown.map(
    ({ line_id, product_id, title, sku, quantity }) => html`<li><strong>${title}</strong>
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

const reviewPage = (view: ReviewView): Page =>
  view.review.open ? openPage(view) : closedPage(view);

const openPage = (view: ReviewView): Page => {
  const { review, token, faults } = view;
  const { state } = review;
  const writer = writerOf(state);
  const isUnopened = state.status === 'awaiting_buyer';
  return {
    title: faults.size > 0 ? `Please check: ${state.title}` : state.title,
    locale: writer.locale,
    script: 'review.js',
    main: html`${faultSummary('Please check what you typed; nothing was sent or changed', faults)}
${view.notice && view.notice !== 'saved' && noticeBox(view.notice)}
${review.awaitedUntil !== undefined && awaited(review.awaitedUntil, writer)}
${isTest(review) && testNotice()}
<article class="review"${isUnopened ? html` data-open="/h/${token}/open"` : ''}>
${heading(view, writer)}
${state.note_to_buyer && note(state.note_to_buyer, state.locale)}
${promise()}
${changes(view)}
${reviewForm(
  view,
  html`<section aria-labelledby="list-heading"><h2 id="list-heading">The list</h2>
<p class="quiet">Change what you like; “Update quantities” shows what it comes to. 0 takes a product
off.
${
  state.list_revision > 1 &&
  html`This is version ${state.list_revision} of the list, with the
changes made here.`
}</p>
${lineFields(view, writer)}
${view.notice === 'saved' && noticeBox(view.notice)}
${removedLines(view, writer)}</section>
<section aria-labelledby="more"><h2 id="more">Add a product</h2>
${searchFields(view, writer)}</section>
<section aria-labelledby="send"><h2 id="send">Ask for a quotation</h2>
${sendFields(view, writer)}</section>
<section aria-labelledby="no"><h2 id="no">Not for you?</h2>${declineFields(view)}
${disownFields(view)}</section>`,
)}
${boundaries()}
</article>`,
  };
};

const heading = (view: ReviewView, writer: Writer): Html => {
  const { review, priced } = view;
  const { state } = review;
  const owner = review.promoter;
  const warned = state.lines.filter((line) => remarksOn(line, view, writer).length > 0).length;
  const { company } = state.buyer;
  return html`<header class="head">${
    state.made_by_buyer
      ? html`<h1>Your list</h1><p class="lede">You made this list${
          review.isCredited &&
          html` after you followed a link of the promoter <strong>${owner}</strong>, who may be rewarded for
what comes of it`
        }.</p>`
      : html`<p class="eyebrow">A list for ${company ?? 'you'} to review</p>
<h1 lang="${state.locale}" dir="auto">${state.title}</h1>
<p class="lede">Prepared by <strong>${review.preparedBy}</strong>, a software agent acting for the
promoter <strong>${owner}</strong>, who may be rewarded for what comes of it.</p>`
  }
${facts([
  ['Lines', writer.count(priced.lines.size)],
  ['Indicative total', totalsIn(priced.totals, writer)],
  [
    'To look at',
    warned === 0 ? 'Nothing' : `${writer.count(warned)} ${plural(warned, 'line', 'lines')}`,
  ],
  ['Open until', writer.moment(state.expires_at)],
  ['Reference', state.handoff_id],
])}</header>`;
};

const note = (text: string, locale: string): Html =>
  html`<figure class="letter"><figcaption>A note to you</figcaption>
<blockquote lang="${locale}" dir="auto">${text}</blockquote></figure>`;

const promise = (): Html =>
  html`<div class="promise"><p><strong>Nothing is ordered until staff and you agree.</strong>
Sending asks for a quotation only: no stock is reserved, no price is accepted and nothing is
paid.</p></div>`;

const changes = ({ review }: ReviewView): Html | '' => {
  const count = review.changed.size;
  return count === 0
    ? ''
    : notice(
        'warn',
        html`<p><strong>${count} ${plural(count, 'line has', 'lines have')} changed</strong>
since this list was prepared. Each line below says what is new.</p>`,
      );
};

const testNotice = (): Html =>
  notice('warn', html`<p>This is a test list. Nobody receives it when you send it.</p>`);

/** Says that the request waits for its mailbox, which the page does not name: others may know this link. */
const awaited = (until: number, writer: Writer): Html =>
  html`<div class="notice good" role="status"><h2>Look into your mailbox</h2>
<p>Your request waits for you: we mail you a link that confirms it, and it is not with staff before. You can confirm it until
${writer.moment(until)}.</p>
<p>No message within a few minutes? Look for it under spam, or correct the address below and send the list again: the link
sent before stops working. A mailbox gets one such message in ${LIMITS.CONFIRMATION_WAIT_MINUTES} minutes, and
${LIMITS.CONFIRMATION_MAILS_PER_DAY} a day.</p></div>`;

const NOTICES: Record<ReviewNotice, { tone: string; heading: string; body: string }> = {
  outrun: {
    tone: 'warn',
    heading: 'The list has changed',
    body:
      'It was changed after you opened this page, so nothing was sent or changed now. Below is the ' +
      'current list: please check it, and then continue.',
  },
  other_total: {
    tone: 'warn',
    heading: 'Please look at the total',
    body:
      'With your quantities and the current prices the total differs from the one that you were ' +
      'shown, so nothing was sent yet. Below is the list as it would be sent: if it is right, ' +
      'press “Ask for a quotation” again.',
  },
  spent: {
    tone: 'warn',
    heading: 'No more changes can be saved',
    body:
      'This list has reached its limit of changes, so nothing was sent or changed now. Below is ' +
      'the list with your quantities: send it like this with “Ask for a quotation”, decline ' +
      'it, or ask the person who sent you the link for a new one.',
  },
  too_often: {
    tone: 'warn',
    heading: 'Please wait a moment',
    body:
      'This link was used too often within a minute, so nothing was sent or changed now. Your ' +
      'entries are below: please press the button again in a minute.',
  },
  network_full: {
    tone: 'warn',
    heading: 'Too many requests from your network',
    body:
      'As many requests as possible were sent from your network today, so this one was not sent. Your ' +
      'entries are below: please send it tomorrow, or from another network.',
  },
  saved: {
    tone: 'good',
    heading: 'Your quantities are saved',
    body: 'Nothing was sent yet. Above is the list as it is now, with its total; what else you typed is below.',
  },
  added: {
    tone: 'good',
    heading: 'The product is on the list',
    body: 'Its quantity and its price are below, with what you typed. Nothing was sent yet.',
  },
};

const noticeBox = (notice: ReviewNotice): Html => {
  const { tone, heading, body } = NOTICES[notice];
  return html`<div class="notice ${tone}" id="notice" role="${tone === 'good' ? 'status' : 'alert'}"
 tabindex="-1"${notice === 'added' ? '' : html` autofocus`}><h2>${heading}</h2><p>${body}</p></div>`;
};

const boundaries = (): Html =>
  html`<section aria-labelledby="bounds" class="bounds">
<h2 id="bounds">What software cannot do here</h2>
<p>Only you can send this list, and software can do none of this:</p>
<ul>${BOUNDARIES.map(({ statement }) => html`<li>${statement}</li>`)}</ul></section>`;

type ActName = 'quantities' | 'send' | 'decline' | 'not-me';
type Pressable = ActName | 'search';
type Act = (admission: HolderAdmission, fields: EnteredFields) => Promise<Outcome<Review>>;

/** Operation that a refusal is audited as, by the last segment of the path. */
const BUTTONS = {
  open: 'openHandoff',
  quantities: 'reviseList',
  search: 'reviewHandoff',
  decline: 'declineHandoff',
  'not-me': 'disownList',
  send: 'submitRfq',
  enter: 'portal:enter',
} as const;

/** The pages behind a review link. The holder of the link is the buyer; GET changes nothing. */
export const reviewRoutes = async (
  scope: FastifyInstance,
  app: App,
  pictures: PictureOptions,
): Promise<void> => {
  const { holders } = app;
  const admissions = await admitHolders(scope, app, {
    linkTo: 'list',
    buttons: BUTTONS,
    otherwise: 'reviewHandoff',
  });

  scope.post('/', createListRoute(app));

  scope.get<ByToken>('/:token', async (request, reply) => {
    const quantities = new Map();
    const shown = await holders.perform(admissions.of(request), 'reviewHandoff', {
      input: { quantities },
    });
    if (!shown.ok) return sendRefusal(reply, shown);
    const query = request.query as { page?: unknown; saved?: unknown };
    const view = viewOf(request.params.token, shown.value, { pictures });
    const notice = query.saved === undefined ? undefined : ('saved' as const);
    return sendPage(
      reply,
      200,
      reviewPage({ ...view, page: pageIn(query.page), ...present({ notice }) }),
    );
  });

  scope.post('/:token/open', openRoute(app, admissions));

  for (const name of ['quantities', 'search', 'send', 'decline', 'not-me', 'enter'] as const) {
    // Reloading the page of a refused form shows the list.
    scope.get<ByToken>(`/:token/${name}`, async ({ params }, reply) =>
      reply.redirect(`/h/${encodeURIComponent(params.token)}`, 303),
    );
    scope.post<ByToken>(`/:token/${name}`, async (request, reply) => {
      const admission = admissions.of(request);
      const overLimit = holders.charge(admission, 'holder');
      if (overLimit) admissions.conclude(request, overLimit);
      const pressed = { admission, fields: fieldsOf(request.body) };
      const act = overLimit ?? (await actOf(app, name, pressed));
      return perform(app, reply, { ...pressed, act, pictures });
    });
  }
};

/** Records that the page is looked at; its script asks for it. */
const openRoute =
  ({ holders }: App, admissions: Admissions) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const refused = admissions.refuseNow(request, reply);
    if (refused) return refused;
    const admission = admissions.of(request);
    const { sentBy: client } = admission.arrival;
    const outcome = await holders.perform(admission, 'openHandoff', { input: { client } });
    // The list may have been closed meanwhile; the page need not say so here.
    if (!outcome.ok && outcome.code !== 'state_conflict') return sendRefusal(reply, outcome);
    return reply.code(204).send();
  };

type Pressed = { admission: HolderAdmission; fields: EnteredFields };
type Answering = Pressed & { pictures: PictureOptions };

/** Performs the act, unless it is refused already, and answers with a page or a redirect. */
const perform = async (
  app: App,
  reply: FastifyReply,
  { act, ...pressed }: Answering & { act: Pressable | Refusal },
): Promise<FastifyReply> => {
  const { admission, fields, pictures } = pressed;
  if (act === 'search')
    return showAgain(app, reply, { ...pressed, fields: searchedFields(fields) });
  if (isRefusal(act)) return showAgain(app, reply, { ...pressed, refusal: act });
  const outcome = await actsOf(app)[act](admission, fields);
  if (!outcome.ok) return showAgain(app, reply, { ...pressed, refusal: outcome });
  const { token } = admission.caller;
  const kept = besideQuantities(fields);
  const added = addedLine(fields, outcome.value);
  // A redirect would lose the other fields of saved quantities, and the focus of an added line.
  if (act !== 'quantities' || (!added && !isWorthKeeping(kept, outcome.value)))
    return reply.redirect(addressAfter(act, token, fields), 303);
  const shown = await lookAt(app.holders, admission, kept);
  if (!shown.ok) return sendRefusal(reply, shown);
  const view = viewOf(token, shown.value, { pictures, typed: kept });
  const { lines } = shown.value.state;
  const answer = added
    ? ({ page: pageWith(lines, added), notice: 'added', added } as const)
    : ({ page: pageAskedFor(fields), notice: 'saved' } as const);
  return sendPage(reply, 200, reviewPage({ ...view, ...answer }));
};

/** Where an act leads: back to the saved quantities, where the buyer was, or to the page that was asked for. */
const addressAfter = (act: ActName, token: string, fields: EnteredFields): string => {
  const address = addressOf(token, pageAskedFor(fields));
  if (act !== 'quantities' || fields.get('go') !== undefined) return address;
  return `${address}${address.includes('?') ? '&' : '?'}saved=1#notice`;
};

const from = ({ arrival: { address, sentBy: client } }: HolderAdmission) => ({ address, client });

const actsOf = ({ holders }: App): Record<ActName, Act> => ({
  quantities: (admission, fields) =>
    holders.perform(admission, 'reviseList', { input: revisionInput(fields) }),
  send: (admission, fields) =>
    holders.perform(admission, 'submitRfq', {
      input: { ...rfqInput(fields), ...present(from(admission)) },
    }),
  decline: (admission, fields) =>
    holders.perform(admission, 'declineHandoff', { input: declineInput(fields) }),
  'not-me': (admission) => holders.perform(admission, 'disownList', { input: {} }),
});

/**
 * The act of a button. The browser does not say in which field Enter was pressed, so words are searched for first, and
 * changed quantities are shown priced.
 */
const actOf = async (
  { holders }: App,
  name: Pressable | 'enter',
  { admission, fields }: Pressed,
): Promise<Pressable | Refusal> => {
  if (name !== 'enter') return name;
  if (isSearch(fields)) return 'search';
  const shown = await lookAt(holders, admission, fields);
  if (!shown.ok) return shown;
  return shown.value.isChanged ? 'quantities' : 'send';
};

const lookAt = (
  holders: App['holders'],
  admission: HolderAdmission,
  fields: EnteredFields,
): Promise<Outcome<Review>> => {
  const input = { quantities: quantitiesOf(fields), words: wordsOf(fields) };
  return holders.performInside('reviewHandoff', { ...insideOf(admission), input });
};

const ON_THE_LIST: ReadonlySet<ProblemCode> = new Set([
  'validation_failed',
  'state_conflict',
  'rate_limited',
]);

/** Without a refusal, the form was a search. */
type Refused = Answering & { refusal?: Refusal };

/** Shows the page again with what was typed, and with the reason why an act was refused. */
const showAgain = async (
  { holders }: App,
  reply: FastifyReply,
  { admission, fields, pictures, refusal }: Refused,
): Promise<FastifyReply> => {
  const { code } = refusal ?? {};
  if (refusal && !ON_THE_LIST.has(refusal.code)) return sendRefusal(reply, refusal);
  const { token } = admission.caller;
  const shown = await lookAt(holders, admission, fields);
  if (!shown.ok) return sendRefusal(reply, shown);
  const { open, state } = shown.value;
  if (code === 'validation_failed' && open) {
    const faults = faultsOf(refusal?.errors ?? [], state.lines);
    const view = viewOf(token, shown.value, { pictures, typed: fields });
    return sendPage(reply, 422, reviewPage({ ...view, faults, page: pageOfFault(faults, view) }));
  }
  const status = code === 'rate_limited' ? 429 : 409;
  if (refusal) withRetryAfter(reply, refusal);
  if (open && revisionOf(fields) === state.list_revision) {
    const view = viewOf(token, shown.value, { pictures, typed: fields });
    const answered = refusal ? { ...view, notice: noticeFor(refusal) } : view;
    return sendPage(reply, refusal ? status : 200, reviewPage(answered));
  }
  // Quantities for another revision are dropped, so that the buyer sees the current list.
  const current = { ...shown.value, entered: state };
  const view = viewOf(token, current, { pictures, typed: besideQuantities(fields) });
  return sendPage(reply, status, reviewPage({ ...view, notice: 'outrun' }));
};

const noticeFor = ({ code, extra }: Refusal): ReviewNotice => {
  if (extra?.['rejected'] === 'network_full') return 'network_full';
  if (code === 'rate_limited') return 'too_often';
  return extra?.['rejected'] === 'too_many_revisions' ? 'spent' : 'other_total';
};

/** With the page that the form was on: its faults are there. */
const viewOf = (
  token: string,
  review: Review,
  { pictures, typed = new Map() }: { pictures: PictureOptions; typed?: EnteredFields },
): ReviewView => {
  const { lines, totals } = review.entered;
  return {
    page: pageIn(typed.get('page')),
    review,
    token,
    ...pictures,
    typed,
    faults: NO_FAULTS,
    priced: { lines: new Map(lines.map((line) => [line.line_id, line])), totals },
  };
};
