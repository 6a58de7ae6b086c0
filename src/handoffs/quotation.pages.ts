/** The page behind the link in the letter with a quotation. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { html } from 'hono/html';
import { referenceOf } from '#src/ports/reference.ts';
import type { App } from '#src/registries/app.ts';
import { type Writer, writerOf } from '#src/shared/money.ts';
import { quotationPath } from '#src/shared/signing.ts';
import { sendRefusal } from '#src/web/error-pages.ts';
import { type HolderAdmission, insideOf, servePage } from '#src/web/holder-admission.ts';
import {
  type Faults,
  facts,
  faultSummary,
  field,
  type Html,
  NO_FAULTS,
  notice,
  type Page,
  pager,
  rich,
  sendPage,
} from '#src/web/layout.ts';
import type { BuyerQuotation } from './answer-quotation.ts';
import {
  heads,
  type Line,
  LINES_PER_PAGE,
  nameCell,
  isTest,
  priceCells,
  totalRow,
  totalsIn,
} from './review-lines.pages.ts';
import { progress } from './progress.pages.ts';
import { fieldsOf, outcomeText, pageIn, reasonField } from './review.pages.ts';
import type { GoodsState } from '#contracts/moves.ts';

type View = {
  token: string;
  /** The requested page of the lines, from 1. */
  page: number;
  /** Without what can be pressed, and with all lines. */
  isForPrint: boolean;
  /** What was entered in a refused form, by field. */
  typed: ReadonlyMap<string, string>;
  faults: Faults;
  /** Why the last act changed nothing. */
  refused?: keyof typeof WHY;
  /** Whether a question was sent just now. */
  isAsked: boolean;
};

type Part = (
  shown: BuyerQuotation,
  writer: Writer,
  isForPrint: boolean,
) => { heading: string; lede: Html | string };

/** A heading that names the quotation, and the text below it. */
const numbered =
  (phase: 'agreed' | 'declined' | 'expired' | 'taken_back'): Part =>
  ({ quotation, isValid }, { say, count, moment }) => {
    const text = say(`quotation_${phase}_text`, { until: moment(quotation.valid_until) });
    const more = phase === 'declined' && isValid ? ` ${say('quotation_declined_valid')}` : '';
    return {
      heading: say(`quotation_${phase}`, { number: count(quotation.number) }),
      lede: text + more,
    };
  };

const PARTS: Record<BuyerQuotation['phase'], Part> = {
  open: ({ quotation }, { say, count, moment }, isForPrint) => ({
    heading: say('quotation_open', { number: count(quotation.number) }),
    lede: say(isForPrint ? 'quotation_print_text' : 'quotation_open_text', {
      until: moment(quotation.valid_until),
    }),
  }),
  agreed: numbered('agreed'),
  declined: numbered('declined'),
  expired: numbered('expired'),
  taken_back: numbered('taken_back'),
  replaced: (_shown, { say }) => ({
    heading: say('quotation_replaced'),
    lede: say('quotation_replaced_text'),
  }),
  ended: ({ review: { state } }, writer) =>
    state.rfq?.state === 'won'
      ? {
          heading: writer.say('quotation_won'),
          lede: html`${outcomeText(state, writer)} ${writer.say('quotation_goods')}`,
        }
      : { heading: writer.say('request_ended'), lede: outcomeText(state, writer) },
};

const quotationPage = (shown: BuyerQuotation, view: View): Page => {
  const { review, phase } = shown;
  const { state } = review;
  const writer = writerOf(state);
  const { heading, lede } = PARTS[phase](shown, writer, view.isForPrint);
  return {
    title: heading,
    locale: writer.locale,
    nav: { list: quotationPath(view.token) },
    main: html`${isTest(review) && notice('warn', html`<p>${writer.say('request_test')}</p>`)}
<article class="review">
<header class="head"><h1>${heading}</h1>
${view.refused !== undefined && late(view.refused, writer)}
${faultSummary(writer.say('quotation_faults'), view.faults)}
${view.isAsked && notice('good', html`<p role="status">${writer.say('question_sent')}</p>`)}
${phase !== 'replaced' && progress({ state, isPrivate: true }, writer)}
<p class="lede">${lede}</p></header>
${phase !== 'replaced' && offered(shown, view, writer)}
${!view.isForPrint && forms(shown, view, writer)}
</article>`,
  };
};

const late = (why: keyof typeof WHY, writer: Writer): Html =>
  html`<div class="notice warn" role="alert" tabindex="-1" autofocus><p>${rich(
    writer,
    'quotation_unchanged',
    { why: writer.say(WHY[why]) },
  )}</p></div>`;

/** Everything that the hash of the quotation covers. */
const offered = (shown: BuyerQuotation, view: View, writer: Writer): Html => {
  const { quotation, texts, review } = shown;
  const { say } = writer;
  const path = quotationPath(view.token);
  return html`${facts([
    [say('reference'), referenceOf(review.handoffId)],
    [say('quotation'), writer.count(quotation.number)],
    [say('total'), totalsIn(quotation.values, writer)],
    [say('quotation_until'), writer.moment(quotation.valid_until)],
  ])}
<section aria-labelledby="lines-heading"><h2 id="lines-heading">${say('quotation_lines')}</h2>
${linesOf(shown, view, writer)}
${
  !view.isForPrint &&
  html`<p class="screen"><a href="${path}?print=1">${say('quotation_print')}</a></p>`
}</section>
${shown.goods && shipments(shown.goods, writer)}
${
  texts.terms !== undefined &&
  html`<section aria-labelledby="terms-heading"><h2 id="terms-heading">${say('quotation_terms')}</h2>
<p class="message" dir="auto">${texts.terms}</p></section>`
}`;
};

type Row = { line: Line; offer: BuyerQuotation['quotation']['lines'][number] | undefined };

const linesOf = (
  { review, quotation, texts, goods }: BuyerQuotation,
  view: View,
  writer: Writer,
): Html => {
  const { lines } = review.state;
  const offers = new Map(quotation.lines.map((one) => [one.line_id, one]));
  const rows = lines.map((line): Row => ({ line, offer: offers.get(line.line_id) }));
  const count = Math.max(1, Math.ceil(rows.length / LINES_PER_PAGE));
  const number = Math.min(view.page, count);
  const shown = view.isForPrint
    ? rows
    : rows.slice((number - 1) * LINES_PER_PAGE, number * LINES_PER_PAGE);
  const reasons = texts.reasons ?? {};
  return html`<table role="table" class="lines">
<caption>${writer.say('quotation_caption')}</caption>
${heads(writer)}
<tbody role="rowgroup">${shown.map(({ line, offer }) =>
    offer
      ? offeredRow(
          {
            line,
            offer,
            remarks: [reasons[line.line_id], goods && goodsRemark(goods, line.line_id, writer)],
          },
          writer,
        )
      : leftOutRow(line, reasons[line.line_id], writer),
  )}${quotation.charges.map((charge) => chargeRow(charge, writer))}</tbody>
${totalRow(quotation.values, writer, writer.say('total'))}
</table>
${!view.isForPrint && pager(number, count, (page) => `${quotationPath(view.token)}?page=${page}`, writer)}`;
};

const remark = (parts: readonly (string | undefined)[]): Html | '' => {
  const said = parts.filter((part) => part !== undefined);
  return said.length === 0
    ? ''
    : html`<ul class="remarks">${said.map((part) => html`<li>${part}</li>`)}</ul>`;
};

const hint = (text: string): Html => html`<span class="hint">${text}</span>`;

const offeredRow = (
  {
    line,
    offer,
    remarks,
  }: Required<Pick<Row, 'line'>> & {
    offer: NonNullable<Row['offer']>;
    remarks: readonly (string | undefined)[];
  },
  writer: Writer,
): Html => {
  const { replaces, quantity, unit_price, currency } = offer;
  const isOtherQuantity = quantity !== line.quantity;
  const isOtherPrice = unit_price !== line.unit_price || currency !== line.currency;
  const { note: _ofList, ...asked } = line;
  const quoted: Line = { ...asked, ...offer };
  const instead =
    replaces && writer.say('quotation_instead', { title: replaces.title, sku: replaces.sku });
  const wasPrice = hint(
    writer.say('quotation_was_price', { price: writer.money(line.unit_price, line.currency) }),
  );
  return html`<tr role="row"${replaces || isOtherQuantity || isOtherPrice ? html` class="changed"` : ''}>
${nameCell(quoted, remark([instead, ...remarks]))}
<td role="cell" data-label="${writer.say('quantity')}" class="num">${writer.count(quantity)}${
    isOtherQuantity &&
    hint(writer.say('quotation_asked', { quantity: writer.count(line.quantity) }))
  }</td>
${priceCells(quoted, writer, isOtherPrice ? wasPrice : '')}</tr>`;
};

const leftOutRow = (line: Line, reason: string | undefined, writer: Writer): Html =>
  html`<tr role="row" class="changed">${nameCell(line, remark([writer.say('quotation_left_out'), reason]))}
<td role="cell" data-label="${writer.say('quantity')}" class="num">0${hint(writer.say('quotation_asked', { quantity: writer.count(line.quantity) }))}</td>
<td role="cell" data-label="${writer.say('unit_price')}" class="num">–</td>
<td role="cell" data-label="${writer.say('total')}" class="num">–</td></tr>`;

const chargeRow = (
  { label, amount, currency }: BuyerQuotation['quotation']['charges'][number],
  writer: Writer,
): Html =>
  html`<tr role="row"><th role="rowheader" scope="row" colspan="3"><span class="name">${label}</span></th>
<td role="cell" data-label="${writer.say('total')}" class="num">${writer.money(amount, currency)}</td></tr>`;

const canAgree = ({ phase, isValid }: BuyerQuotation): boolean =>
  phase === 'open' || (phase === 'declined' && isValid);
const canDecline = ({ phase }: BuyerQuotation): boolean => phase === 'open' || phase === 'agreed';
const canAsk = ({ phase }: BuyerQuotation): boolean => phase !== 'ended' && phase !== 'replaced';

const forms = (shown: BuyerQuotation, view: View, writer: Writer): Html =>
  html`${canAgree(shown) && agreeForm(shown, view, writer)}
${canDecline(shown) && declineForm(shown, view, writer)}
${(canAsk(shown) || shown.questions.length > 0) && questions(shown, view, writer)}`;

const hashField = ({ quotation: { hash } }: BuyerQuotation): Html =>
  html`<input type="hidden" name="hash" value="${hash}">`;

const agreeForm = (shown: BuyerQuotation, { token }: View, writer: Writer): Html =>
  html`<form method="post" action="${quotationPath(token)}/agree" class="card">
${hashField(shown)}
<p>${rich(writer, 'quotation_agree_text', { total: totalsIn(shown.quotation.values, writer) })}</p>
<button type="submit">${writer.say('quotation_agree')}</button></form>`;

const declineForm = (shown: BuyerQuotation, { token, typed, faults }: View, writer: Writer): Html =>
  html`<details class="card"${typed.has('reason') ? html` open` : ''}><summary>${writer.say(
    shown.phase === 'agreed' ? 'quotation_not_any_more' : 'quotation_not',
  )}</summary>
<form method="post" action="${quotationPath(token)}/decline" novalidate>
${hashField(shown)}
<p>${writer.say('quotation_decline_text')}</p>
${reasonField({ typed, faults, writer })}
<button type="submit" class="second">${writer.say('quotation_decline')}</button></form></details>`;

const questions = (shown: BuyerQuotation, view: View, writer: Writer): Html => {
  const { questions: asked } = shown;
  return html`<section aria-labelledby="questions-heading"${asked.length === 0 ? html` class="screen"` : ''}><h2 id="questions-heading">${writer.say('questions')}</h2>
${
  asked.length > 0 &&
  html`<ol class="plain">${asked.map(
    ({ asked_at, question, answer }) => html`<li>
<p class="quiet">${writer.say('question_asked', { at: writer.moment(asked_at) })}</p>
<p class="message" dir="auto">${question}</p>
${
  answer === undefined
    ? html`<p class="quiet">${writer.say('question_unanswered')}</p>`
    : html`<p class="quiet">${writer.say('question_answered')}</p>
<p class="message" dir="auto">${answer}</p>`
}</li>`,
  )}</ol>`
}
${canAsk(shown) && questionForm(shown, view, writer)}</section>`;
};

const questionForm = (
  { questions: asked }: BuyerQuotation,
  { token, typed, faults }: View,
  writer: Writer,
): Html =>
  html`<form method="post" action="${quotationPath(token)}/ask" class="card" novalidate>
<input type="hidden" name="question" value="${asked.length + 1}">
${field({
  name: 'text',
  label: writer.say('question_field'),
  value: typed.get('text'),
  autocomplete: 'off',
  maxlength: 2_000,
  rows: 4,
  required: true,
  hint: writer.say('question_hint'),
  faults,
  writer,
})}
<button type="submit" class="second">${writer.say('question_button')}</button></form>`;

/** The operation of each button, by the last segment of its path. */
const BUTTONS = {
  agree: 'agreeToQuotation',
  decline: 'declineQuotation',
  ask: 'askAboutQuotation',
} as const;

type Button = keyof typeof BUTTONS;

/** The page of a quotation, and what its buyer can press. */
export const quotationRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  await servePage(scope, app, {
    linkTo: 'quotation',
    buttons: BUTTONS,
    otherwise: 'readQuotation',
    path: quotationPath,
    read: (admission) => app.holders.perform(admission, 'readQuotation', { input: {} }),
    page(token, shown, { query }) {
      const { page, print, asked } = query as Record<'page' | 'print' | 'asked', unknown>;
      const isForPrint = print === '1';
      const isAsked = asked === '1';
      return quotationPage(shown, { ...asRead(token), page: pageIn(page), isForPrint, isAsked });
    },
    press: ({ button, admission, request: { body } }, reply) =>
      press(app, reply, { admission, button, body }),
  });
};

const asRead = (token: string): View => ({
  token,
  page: 1,
  isForPrint: false,
  isAsked: false,
  typed: new Map(),
  faults: NO_FAULTS,
});

/** Why an act changed nothing, by the name of the rejection. */
const WHY = {
  quotation_replaced: 'quotation_was_replaced',
  quote_over: 'quotation_is_over',
  too_many_questions: 'quotation_many_questions',
  changed: 'quotation_has_changed',
} as const;

const whyOf = (rejected: unknown): keyof typeof WHY =>
  (Object.keys(WHY) as (keyof typeof WHY)[]).find((name) => name === rejected) ?? 'changed';

type Pressed = { admission: HolderAdmission; button: Button; body: unknown };

/** Performs what the button says, and shows the quotation as it is then. A refused text is shown again. */
const press = async (
  app: App,
  reply: FastifyReply,
  { admission, button, body }: Pressed,
): Promise<FastifyReply> => {
  const { token } = admission.caller;
  const fields = fieldsOf(body);
  const outcome = await perform(app, admission, { button, fields });
  if (outcome.ok) {
    const path = quotationPath(encodeURIComponent(token));
    return reply.redirect(button === 'ask' ? `${path}?asked=1` : path, 303);
  }
  const isFaulty = outcome.code === 'validation_failed';
  if (outcome.code !== 'state_conflict' && !isFaulty) return sendRefusal(reply, outcome);
  const shown = await app.holders.performInside('readQuotation', {
    ...insideOf(admission),
    input: {},
  });
  if (!shown.ok) return sendRefusal(reply, shown);
  const typed = new Map([...fields].filter(([name]) => name === 'text' || name === 'reason'));
  const view = { ...asRead(token), typed };
  const page = quotationPage(shown.value, {
    ...view,
    ...(isFaulty
      ? { faults: faultsOf(outcome.errors ?? [], writerOf(shown.value.review.state)) }
      : { refused: whyOf(outcome.extra?.['rejected']) }),
  });
  return sendPage(reply, isFaulty ? 422 : 409, page);
};

const faultsOf = (errors: readonly { pointer: string }[], { say }: Writer): Faults =>
  new Map(
    errors.map(({ pointer }) => {
      const name = pointer.slice(1);
      const isText = name === 'text' || name === 'reason';
      return [name, say(isText ? `fault_field_${name}` : 'fault_form')];
    }),
  );

const perform = (
  { holders }: App,
  admission: HolderAdmission,
  { button, fields }: { button: Button; fields: ReadonlyMap<string, string> },
) => {
  const hash = fields.get('hash') ?? '';
  switch (button) {
    case 'agree':
      return holders.perform(admission, 'agreeToQuotation', { input: { hash } });
    case 'decline': {
      const reason = (fields.get('reason') ?? '').replaceAll(/\s+/g, ' ');
      return holders.perform(admission, 'declineQuotation', { input: { hash, reason } });
    }
    case 'ask': {
      const digits = fields.get('question') ?? '';
      const question = /^\d{1,6}$/.test(digits) ? Number(digits) : 0;
      const text = fields.get('text') ?? '';
      return holders.perform(admission, 'askAboutQuotation', { input: { question, text } });
    }
  }
};

type BuyerGoods = NonNullable<BuyerQuotation['goods']>;

/** Buyers need not know which goods that are not shipped are allocated. */
const WORDS = {
  unallocated: 'to_come',
  allocated: 'to_come',
  shipped: 'on_the_way',
  delivered: 'delivered',
  returned: 'sent_back',
  cancelled: 'cancelled',
} as const satisfies Record<GoodsState, string>;

/** Says where the goods of a line are, like `4 on the way, 6 to come`; undefined for a line that was not won. */
export const goodsRemark = (
  { lines }: BuyerGoods,
  lineId: string,
  writer: Writer,
): string | undefined => {
  const line = lines.find(({ line_id }) => line_id === lineId);
  if (!line) return undefined;
  const sums = new Map<(typeof WORDS)[GoodsState], number>();
  for (const [state, words] of Object.entries(WORDS) as [GoodsState, (typeof WORDS)[GoodsState]][])
    sums.set(words, (sums.get(words) ?? 0) + (line[state] ?? 0));
  return [...sums]
    .filter(([, quantity]) => quantity > 0)
    .map(([words, quantity]) => writer.say(`goods_${words}`, { quantity: writer.count(quantity) }))
    .join(', ');
};

/** The shipments, the first one first. */
export const shipments = ({ shipments: all, lines }: BuyerGoods, writer: Writer): Html => {
  const titles = new Map(lines.map(({ line_id, title }) => [line_id, title]));
  const dayOf = (day: string): string => writer.day(Date.parse(day));
  return html`${
    all.length > 0 &&
    html`<section aria-labelledby="shipments-heading"><h2 id="shipments-heading">${writer.say('shipments')}</h2>
<ol class="plain">${all.map(
      ({ number, shipped_on, delivered_on, carrier, reference, lines: sent }) => html`<li>
<p>${rich(writer, delivered_on === undefined ? 'shipment' : 'shipment_delivered', {
        number: writer.count(number),
        shipped: dayOf(shipped_on),
        delivered: delivered_on === undefined ? '' : dayOf(delivered_on),
      })} ${[carrier, reference].filter((text) => text !== undefined).join(', ')}</p>
<p class="quiet" dir="auto">${sent
        .map(
          ({ line_id, quantity }) =>
            `${writer.count(quantity)} × ${titles.get(line_id) ?? line_id}`,
        )
        .join('; ')}</p></li>`,
    )}</ol></section>`
  }`;
};
