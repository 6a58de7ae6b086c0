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
import { firstOf, localeAsked, type SentValue } from '#src/web/http.ts';
import type { CatalogProduct } from '#src/ports/catalog.ts';
import { referenceOf } from '#src/ports/reference.ts';
import type { App } from '#src/registries/app.ts';
import { cached } from '#src/shared/work.ts';
import { LANGUAGES, languageOf } from '#src/shared/messages.ts';
import { HOUSE_LOCALE, type Writer, writerFor, writerOf } from '#src/shared/money.ts';
import { isRefusal, type Outcome, type Refusal } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
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
  notice,
  type Page,
  facts,
  faultSummary,
  NO_FAULTS,
  rich,
  sendPage,
} from '#src/web/layout.ts';
import {
  addressOf,
  pageWith,
  readTotals,
  type ReviewView,
  linesShown,
  decimalsField,
  totalsField,
  totalsIn,
  lineTable,
  isTest,
  LINES_PER_PAGE,
  lineFields,
  linesToLookAt,
  withUsed,
  type ReviewNotice,
} from './review-lines.pages.ts';
import type { Review } from './review.ts';
import { progress } from './progress.pages.ts';
import { isRfqOutcome } from './rfq.decider.ts';

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
      input: {
        lines,
        attribution,
        once,
        address: request.ip,
        locale: localeAsked(request.headers),
      },
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

const LANGUAGES_MAX = 10;

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

/** The countries by name, in each language; made once, because sorting them costs more than the page. */
const countriesIn = cached(LANGUAGES_MAX, (locale: string) => {
  const writer = writerFor(locale);
  return [...COUNTRIES]
    .map((code) => [code, writer.country(code)] as const)
    .sort(([, one], [, other]) => one.localeCompare(other, locale));
});

/** A field with the countries by name; an empty choice is none. */
const countryField = (value: string | undefined, faults: Faults, writer: Writer): Html => {
  const fault = faults.get('country');
  return html`<div class="field${fault ? ' wrong' : ''}">
<label for="country">${writer.say('field_country')} <span class="quiet">${writer.say('field_optional')}</span></label>
${fault && html`<p class="fault" id="country-fault">${fault}</p>`}
<select id="country" name="country" autocomplete="country"${describedBy(fault ? 'country-fault' : '')}${invalid(fault)}>
<option value=""></option>
${countriesIn(languageOf(writer.locale) === 'de' ? 'de-DE' : HOUSE_LOCALE).map(
  ([code, name]) =>
    html`<option value="${code}"${code === value ? html` selected` : ''}>${name}</option>\n`,
)}</select></div>`;
};

/**
 * One form around all fields, so that every button submits all of them. Enter in a field presses the first button of
 * the form: a hidden one, which reports only that Enter was pressed.
 */
const reviewForm = (view: ReviewView, fields: Html, writer: Writer): Html => {
  const { review, token, priced } = view;
  const { lines, number, count } = linesShown(view);
  const shown = new Set(lines.map(({ line_id }) => line_id));
  const elsewhere = [...priced.lines.values()].filter(({ line_id }) => !shown.has(line_id));
  const texts = LANGUAGES[languageOf(writer.locale)];
  return html`<form method="post" action="/h/${token}/enter" id="review" novalidate
 data-other-lines="${elsewhere.length}" data-other-totals="${totalsField(totalsOf(elsewhere))}"
 data-decimals="${decimalsField([...lines, ...review.products.values()])}"
 data-lines="${JSON.stringify(texts.line_count)}" data-unsaved="${JSON.stringify(texts.review_unsaved)}">
<button type="submit" class="unseen" tabindex="-1" aria-hidden="true">${writer.say('review_go_on')}</button>
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
const contactFields = ({ typed, faults, review: { state } }: ReviewView, writer: Writer): Html => {
  const { buyer } = state;
  const { say } = writer;
  return html`${field({
    name: 'name',
    label: say('field_name'),
    value: typed.get('name'),
    autocomplete: 'name',
    maxlength: 200,
    required: true,
    faults,
    writer,
  })}
${field({
  name: 'email',
  label: say('field_email'),
  type: 'email',
  value: typed.get('email'),
  autocomplete: 'email',
  maxlength: 254,
  required: true,
  hint: say('field_email_hint'),
  faults,
  writer,
})}
<div class="pair">${field({
    name: 'company',
    label: say('field_company'),
    value: typed.get('company') ?? buyer.company,
    autocomplete: 'organization',
    maxlength: 200,
    faults,
    writer,
  })}
${field({
  name: 'phone',
  label: say('field_phone'),
  type: 'tel',
  value: typed.get('phone'),
  autocomplete: 'tel',
  maxlength: 40,
  faults,
  writer,
})}</div>
${countryField(typed.get('country') ?? buyer.country, faults, writer)}
${field({
  name: 'message',
  label: say('field_message'),
  value: typed.get('message'),
  autocomplete: 'off',
  maxlength: 2_000,
  rows: 4,
  faults,
  writer,
})}`;
};

/** The form of the request for a quotation: the only one that sends anything to staff. */
const sendFields = (view: ReviewView, writer: Writer): Html => {
  const { review, token, typed, faults, priced } = view;
  const fault = faults.get('consent');
  const isTicked = typed.get('consent') === 'yes' && view.notice !== 'outrun';
  const count = priced.lines.size;
  return html`<div class="card">
<p>${rich(writer, 'send_intro', {
    lines: html`<span id="line-count">${writer.say('line_count', { count })}</span>`,
    total: totalsIn(priced.totals, writer),
  })}</p>
${contactFields(view, writer)}
<div class="tick${fault ? ' wrong' : ''}">
${fault && html`<p class="fault" id="consent-fault">${fault}</p>`}
<input type="checkbox" id="consent" name="consent" value="yes" required
${isTicked ? html` checked` : ''}${describedBy(fault ? 'consent-fault' : '')}${invalid(fault)}>
<label for="consent">${writer.say('consent')}</label></div>
<p class="hint">${writer.say('send_hint')}</p>
<button type="submit" formaction="/h/${token}/send">${writer.say(
    review.awaitedUntil === undefined ? 'ask_for_quotation' : 'send_again',
  )}</button>
</div>`;
};

const declineFields = ({ token, typed, faults }: ReviewView, writer: Writer): Html => {
  const isOpen = (typed.get('reason') ?? '') !== '';
  return html`<details class="card"${isOpen ? html` open` : ''}><summary>${writer.say('decline_list')}</summary>
<p>${writer.say('decline_list_text')}</p>
${reasonField({ typed, faults, writer })}
<button type="submit" formaction="/h/${token}/decline" class="second">${writer.say('decline')}</button>
</details>`;
};

/** The field of a reason to decline. A textarea: Enter makes a new line in it and presses no button. */
export const reasonField = ({
  typed,
  faults,
  writer,
}: Pick<ReviewView, 'typed' | 'faults'> & { writer: Writer }): Html =>
  field({
    name: 'reason',
    label: writer.say('field_reason'),
    value: typed.get('reason'),
    autocomplete: 'off',
    maxlength: 500,
    rows: 2,
    faults,
    writer,
  });

/** For a list that the service mailed. The holder of any other link got it from a person. */
const disownFields = ({ token, review: { state } }: ReviewView, { say }: Writer): Html | '' =>
  state.deliver
    ? html`<details class="card"><summary>${say('disown')}</summary>
<p>${say('disown_list_text', { count: LIMITS.MAILBOX_BLOCK_DAYS })}</p>
<button type="submit" formaction="/h/${token}/not-me" class="second">${say('disown_button')}</button></details>`
    : '';

/** The faults of quantities, which name their line. */
const QUANTITY_FAULTS = ['not_a_quantity', 'too_large', 'withdrawn', 'on_list'] as const;
/** The faults of the list and of what is added to it. */
const LIST_FAULTS = ['empty', 'too_large', 'not_published', 'too_many'] as const;
const FIELD_FAULTS = [
  'name',
  'email',
  'company',
  'phone',
  'country',
  'message',
  'consent',
  'reason',
] as const;

/** Texts of input faults by form field. */
const faultsOf = (
  errors: readonly InputFault[],
  { lines, made_by_buyer: isOwn }: Review['state'],
  writer: Writer,
): Faults => {
  const most = writer.count(isOwn ? LIMITS.LIST_LINES_MAX : LIMITS.HANDOFF_LINES_MAX);
  const byField = new Map(lines.map((line) => [`quantity.${line.line_id}`, line]));
  return new Map(
    errors.map(({ pointer, code }) => {
      const name = pointer.slice(1);
      const line = byField.get(name);
      const ofField = FIELD_FAULTS.find((one) => one === name);
      if (ofField) return [name, writer.say(`fault_${ofField}`)];
      const ofQuantity = QUANTITY_FAULTS.find((one) => one === code);
      if (line && ofQuantity) {
        const values = { title: line.title, max: writer.count(line.quantity) };
        return [name, writer.say(`fault_quantity_${ofQuantity}`, values)];
      }
      const ofList = LIST_FAULTS.find((one) => one === code);
      return [name, writer.say(ofList ? `fault_list_${ofList}` : 'fault_form', { most })];
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
    title: writer.say('closed_title', { heading, title: state.title }),
    locale: writer.locale,
    nav: { list: addressOf(view.token, 1) },
    main: html`${isTest(review) && notice('warn', html`<p>${writer.say('review_was_test')}</p>`)}
<article class="review">
<header class="head"><p class="eyebrow" lang="${state.locale}" dir="auto">${state.title}</p>
<h1>${heading}</h1>${view.notice === 'outrun' && late(review, writer)}${body}
<p class="quiet">${
      state.made_by_buyer
        ? writer.say('review_own')
        : writer.say('review_was_prepared', {
            agent: review.preparedBy,
            promoter: review.promoter,
          })
    }</p>
<p><a href="/s">${writer.say('closed_next')}</a></p></header>
${
  showsList &&
  html`<section aria-labelledby="list-heading"><h2 id="list-heading">${writer.say('review_list')}</h2>
${lineTable(view, writer)}</section>`
}
</article>`,
  };
};

const endingOf = ({ review }: ReviewView, writer: Writer): Ending => {
  const { state } = review;
  const { say } = writer;
  const because = state.status_reason
    ? html`<p>${say('closed_reason')} <q dir="auto">${state.status_reason}</q></p>`
    : '';
  const closed = (
    name: 'declined' | 'erased' | 'withdrawn' | 'invalidated',
    more: Html | '' = because,
  ): Ending => ({
    heading: say(`closed_${name}`),
    body: html`<p class="lede">${say(`closed_${name}_text`)}</p>${more}`,
    showsList: false,
  });
  switch (state.status) {
    case 'rfq_submitted':
      return {
        heading: say(state.rfq?.state === 'won' ? 'closed_won' : 'closed_sent'),
        body: html`${progress({ state, isPrivate: false }, writer)}${receipt(review, writer)}`,
        showsList: true,
      };
    case 'declined':
      return closed('declined');
    case 'withdrawn':
      return state.erased && state.status_reason === ERASED
        ? closed('erased', '')
        : closed('withdrawn');
    case 'invalidated':
      return closed('invalidated');
    case 'awaiting_buyer':
    case 'in_review':
      return {
        heading: say('closed_expired'),
        body: html`<p class="lede">${say('closed_expired_text', { until: writer.moment(state.expires_at) })}</p>`,
        showsList: true,
      };
  }
};

const late = (review: Review, writer: Writer): Html => {
  const wasSent = review.state.status === 'rfq_submitted';
  return html`<div class="notice warn" role="alert" tabindex="-1" autofocus>
<p>${rich(writer, wasSent ? 'closed_late_sent' : 'closed_late')} ${
    wasSent && !isTest(review) ? writer.say('closed_late_other') : ''
  }</p></div>`;
};

const answerText = (review: Review, { say }: Writer): string => {
  if (isTest(review)) return say('closed_test_answer');
  return say(review.state.erased ? 'closed_erased_answer' : 'closed_answer');
};

const receipt = (review: Review, writer: Writer): Html => {
  const { state } = review;
  const { say } = writer;
  const at = state.rfq?.submitted_at ?? state.updated_at;
  const isOver = state.rfq !== undefined && isRfqOutcome(state.rfq.state);
  return html`<div class="notice good"><p${isOver && html` class="outcome"`}>${
    isOver ? outcomeText(state, writer) : rich(writer, 'closed_receipt', { at: writer.moment(at) })
  }</p></div>
${facts([
  [say('lines'), writer.count(state.lines.length)],
  [say('indicative_total'), totalsIn(state.totals, writer)],
  [say('closed_sent_at'), writer.moment(at)],
])}
<p>${isOver ? '' : answerText(review, writer)} ${say('closed_contact')}</p>`;
};

/** The end of a request: its outcome, and the price of a deal. */
export const outcomeText = ({ rfq }: Pick<Review['state'], 'rfq'>, writer: Writer): Html => {
  if (rfq?.state === 'won')
    return rich(writer, 'outcome_won', { total: totalsIn(rfq.values ?? [], writer) });
  return rich(writer, rfq?.state === 'lost' ? 'outcome_lost' : 'outcome_withdrawn');
};

const searchFields = (view: ReviewView, writer: Writer): Html =>
  html`<div class="search">${field({
    name: 'q',
    label: writer.say('review_search'),
    value: view.typed.get('q'),
    autocomplete: 'off',
    maxlength: WORDS_CHARS_MAX,
    faults: view.faults,
    writer,
  })}
<button type="submit" formaction="/h/${view.token}/search" class="second">${writer.say('search')}</button></div>
${results(view, writer)}`;

/** The lines that the buyer removed, each with a button. */
const removedLines = ({ review, token }: ReviewView, writer: Writer): Html | '' => {
  const { removed = [] } = review.state;
  if (removed.length === 0) return '';
  const { say } = writer;
  const shown = removed.slice(-LINES_PER_PAGE).toReversed();
  const more = removed.length - shown.length;
  return html`<h3>${say('review_removed')}</h3>
<ul class="results">${shown.map(
    ({ line_id, product_id, title, sku, quantity }) => html`<li><strong>${title}</strong>
<span class="quiet"><span class="sku">${sku}</span> · ${say('review_removed_quantity', { quantity: writer.count(quantity) })}</span>
${
  review.products.has(product_id)
    ? addButton(
        { token, title },
        { name: 'restore', value: line_id, label: say('review_put_back') },
      )
    : html`<span class="quiet">${say('review_not_offered')}</span>`
}</li>`,
  )}</ul>
${more > 0 && html`<p class="quiet">${say('review_removed_more', { more: writer.count(more) })}</p>`}`;
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
  const { words, products, total: count } = search;
  const { say } = writer;
  return html`<input type="hidden" name="found" value="${words}">
<h3 id="found" tabindex="-1" autofocus>${
    count === 0 ? say('review_nothing_matches', { words }) : say('review_matches', { count, words })
  }</h3>
<ul class="results">${products.map((product) =>
    productResult(product, {
      writer,
      source: { kept: [], imageOrigins: view.imageOrigins },
      act: actOn(product, view, writer),
    }),
  )}</ul>
${
  count > products.length &&
  html`<p class="quiet">${say('review_first_matches', { shown: writer.count(products.length) })}</p>`
}`;
};

/** Adds a product that is not on the list; leads to the line of one that is. */
const actOn = ({ product_id, title }: CatalogProduct, view: ReviewView, { say }: Writer): Html => {
  const line = view.review.state.lines.find((one) => one.product_id === product_id);
  if (!line)
    return addButton(
      { token: view.token, title },
      { name: 'add', value: product_id, label: say('review_add_one') },
    );
  return linesShown(view).lines.includes(line)
    ? html`<a href="#quantity.${line.line_id}">${say('review_on_list')}</a>`
    : html`<span class="quiet">${say('review_on_list')}</span>`;
};

const reviewPage = (view: ReviewView): Page =>
  view.review.open ? openPage(view) : closedPage(view);

const openPage = (view: ReviewView): Page => {
  const { review, token, faults } = view;
  const { state } = review;
  const writer = writerOf(state);
  const { say } = writer;
  const isUnopened = state.status === 'awaiting_buyer';
  return {
    title: faults.size > 0 ? say('review_check', { title: state.title }) : state.title,
    locale: writer.locale,
    script: 'review.js',
    nav: { list: addressOf(token, 1) },
    main: html`${faultSummary(say('review_faults'), faults)}
${view.notice && view.notice !== 'saved' && noticeBox(view.notice, writer)}
${review.awaitedUntil !== undefined && awaited(review.awaitedUntil, writer)}
${isTest(review) && notice('warn', html`<p>${say('review_test')}</p>`)}
<article class="review"${isUnopened ? html` data-open="/h/${token}/open"` : ''}>
${heading(view, writer)}
${reviewForm(
  view,
  html`<section aria-labelledby="list-heading"><h2 id="list-heading">${say('review_list')}</h2>
${lineFields(view, writer)}
${view.notice === 'saved' && noticeBox(view.notice, writer)}
${removedLines(view, writer)}</section>
${state.note_to_buyer && note(state.note_to_buyer, writer)}
<section class="screen" aria-labelledby="more"><h2 id="more">${say('review_add')}</h2>
${searchFields(view, writer)}</section>
<section class="screen" aria-labelledby="send"><h2 id="send" tabindex="-1">${say('ask_for_quotation')}</h2>
<p class="promise">${rich(writer, 'review_promise')}</p>
${sendFields(view, writer)}</section>
<section class="screen" aria-labelledby="no"><h2 id="no">${say('review_no')}</h2>${declineFields(view, writer)}
${disownFields(view, writer)}</section>`,
  writer,
)}
${boundaries(writer)}
<p class="quiet">${say('reference')} ${referenceOf(state.handoff_id)}</p>
</article>`,
  };
};

const heading = (view: ReviewView, writer: Writer): Html => {
  const { review, priced } = view;
  const { state, promoter, preparedBy: agent } = review;
  const { say } = writer;
  const warned = linesToLookAt(view, writer);
  const [first] = warned;
  const { company } = state.buyer;
  return html`<header class="head">${
    state.made_by_buyer
      ? html`<h1>${say('review_own_title')}</h1><p class="lede">${
          review.isCredited ? rich(writer, 'review_own_credited', { promoter }) : say('review_own')
        }</p>`
      : html`<p class="eyebrow">${company ? say('review_for', { company }) : say('review_for_you')}</p>
<h1 lang="${state.locale}" dir="auto">${state.title}</h1>
<p class="lede">${rich(writer, 'review_prepared', { agent, promoter })}</p>`
  }
${progress({ state, isPrivate: false }, writer)}
${facts([
  [
    say('indicative_total'),
    html`${totalsIn(priced.totals, writer)} <small>${say('line_count', { count: priced.lines.size })}</small>`,
  ],
  [
    say('review_look_at'),
    first
      ? html`<a href="#quantity.${first.line_id}">${say('line_count', { count: warned.length })}</a>`
      : say('review_nothing'),
  ],
  [say('review_open_until'), writer.moment(state.expires_at)],
])}</header>`;
};

const note = (text: string, { locale, say }: Writer): Html =>
  html`<figure class="letter"><figcaption>${say('review_note')}</figcaption>
<blockquote lang="${locale}" dir="auto">${text}</blockquote></figure>`;

/** Says that the request waits for its mailbox, which the page does not name: others may know this link. */
const awaited = (until: number, writer: Writer): Html =>
  html`<div class="notice good" role="status"><h2>${writer.say('awaited')}</h2>
<p>${writer.say('awaited_text', { until: writer.moment(until) })}</p>
<p>${writer.say('awaited_more', {
    minutes: writer.count(LIMITS.CONFIRMATION_WAIT_MINUTES),
    mails: writer.count(LIMITS.CONFIRMATION_MAILS_PER_DAY),
  })}</p></div>`;

/** The notices that say that something was done; the others say why nothing was. */
const GOOD: ReadonlySet<ReviewNotice> = new Set(['saved', 'added']);

const noticeBox = (name: ReviewNotice, { say }: Writer): Html => {
  const isGood = GOOD.has(name);
  return html`<div class="notice ${isGood ? 'good' : 'warn'}" id="notice" role="${isGood ? 'status' : 'alert'}"
 tabindex="-1"${name === 'added' ? '' : html` autofocus`}><h2>${say(`notice_${name}`)}</h2><p>${say(`notice_${name}_text`)}</p></div>`;
};

const boundaries = ({ say }: Writer): Html =>
  html`<section aria-labelledby="bounds" class="bounds">
<h2 id="bounds">${say('bounds')}</h2>
<p>${say('bounds_text')}</p>
<ul>${BOUNDARIES.map(({ id }) => html`<li>${say(`bound_${id}`)}</li>`)}</ul></section>`;

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
      const pressed = { admission, fields: withUsed(fieldsOf(request.body)) };
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
    return reply.redirect(addressAfter(act, { token, fields, review: outcome.value }), 303);
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
const addressAfter = (
  act: ActName,
  { token, fields, review }: { token: string; fields: EnteredFields; review: Review },
): string => {
  const address = addressOf(token, pageAskedFor(fields));
  if (act !== 'quantities') return address;
  // A button to another page saves what was changed, and says nothing if that is nothing.
  const isSaved = review.state.list_revision !== revisionOf(fields);
  if (fields.get('go') !== undefined && !isSaved) return address;
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
    const faults = faultsOf(refusal?.errors ?? [], state, writerOf(state));
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
