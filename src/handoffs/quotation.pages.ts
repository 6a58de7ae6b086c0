/** The page behind the link in the letter with a quotation. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { html } from 'hono/html';
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
  sendPage,
} from '#src/web/layout.ts';
import type { BuyerQuotation } from './answer-quotation.ts';
import { goodsRemark, shipments } from './fulfillment.pages.ts';
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
import { fieldsOf, pageIn } from './review.pages.ts';

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
  refused?: string;
};

type Part = (
  shown: BuyerQuotation,
  writer: Writer,
  isForPrint: boolean,
) => { heading: string; lede: Html };

const NO_ORDER = 'Nothing is ordered, reserved or paid.';

const PARTS: Record<BuyerQuotation['phase'], Part> = {
  open: ({ quotation }, writer, isForPrint) => ({
    heading: `Quotation ${quotation.number}`,
    lede: html`Staff answer your request with these binding prices until
${writer.moment(quotation.valid_until)}. ${NO_ORDER}${isForPrint ? '' : ' Say below whether you want it.'}`,
  }),
  agreed: ({ quotation }) => ({
    heading: `You want quotation ${quotation.number}`,
    lede: html`Staff have your word. It is not an order: staff decide next, and confirm it to you. Nothing is paid
here.`,
  }),
  declined: ({ quotation, isValid }) => ({
    heading: `You do not want quotation ${quotation.number}`,
    lede: html`Staff have your answer, and can send you another quotation. ${NO_ORDER}
${isValid ? 'Until it expires you can still say that you want it.' : ''}`,
  }),
  expired: ({ quotation }, writer) => ({
    heading: `Quotation ${quotation.number} has expired`,
    lede: html`It was valid until ${writer.moment(quotation.valid_until)}. ${NO_ORDER} If you still want the goods, ask
staff below for a new quotation: it comes by mail.`,
  }),
  taken_back: ({ quotation }) => ({
    heading: `Quotation ${quotation.number} is void`,
    lede: html`Staff took it back and work on your request again. ${NO_ORDER} A new quotation comes by mail. You can ask
staff below.`,
  }),
  replaced: () => ({
    heading: 'This quotation was replaced',
    lede: html`It is void, and so is an answer to it. A later letter has the quotation that is valid now, with a link of
its own. ${NO_ORDER}`,
  }),
  ended: ({ review: { state } }, writer) => {
    const { rfq } = state;
    if (rfq?.state === 'won')
      return {
        heading: 'Your request was agreed',
        lede: html`Staff recorded the deal with you: ${totalsIn(rfq.values ?? [], writer)}. They tell you how payment goes
on; below is where the goods are.`,
      };
    return {
      heading: 'Your request has ended',
      lede:
        rfq?.state === 'lost'
          ? html`Staff closed it without a deal. ${NO_ORDER}`
          : html`It was withdrawn. ${NO_ORDER}`,
    };
  },
};

const quotationPage = (shown: BuyerQuotation, view: View): Page => {
  const { review, phase } = shown;
  const { state } = review;
  const writer = writerOf(state);
  const { heading, lede } = PARTS[phase](shown, writer, view.isForPrint);
  return {
    title: heading,
    locale: writer.locale,
    main: html`${isTest(review) && notice('warn', html`<p>This is a test request.</p>`)}
<article class="review">
<header class="head"><h1>${heading}</h1>
${view.refused !== undefined && late(view.refused)}
${faultSummary('Nothing was sent yet', view.faults)}
<p class="lede">${lede}</p></header>
${phase !== 'replaced' && offered(shown, view, writer)}
${!view.isForPrint && forms(shown, view, writer)}
</article>`,
  };
};

const late = (why: string): Html =>
  html`<div class="notice warn" role="alert" tabindex="-1" autofocus><p><strong>Nothing was changed.</strong>
${why}</p></div>`;

/** Everything that the hash of the quotation covers. */
const offered = (shown: BuyerQuotation, view: View, writer: Writer): Html => {
  const { quotation, texts, review } = shown;
  const path = quotationPath(view.token);
  return html`${facts([
    ['Reference', review.handoffId],
    ['Quotation', writer.count(quotation.number)],
    ['Total', totalsIn(quotation.values, writer)],
    ['Valid until', writer.moment(quotation.valid_until)],
  ])}
<section aria-labelledby="lines-heading"><h2 id="lines-heading">Line by line</h2>
${linesOf(shown, view, writer)}
${
  !view.isForPrint && html`<p><a href="${path}?print=1">Print view, with all lines</a></p>`
}</section>
${shown.goods && shipments(shown.goods, writer)}
${
  texts.terms !== undefined &&
  html`<section aria-labelledby="terms-heading"><h2 id="terms-heading">Terms</h2>
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
<caption>Prices are per unit. What differs from your list says so.</caption>
${heads()}
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
${totalRow(quotation.values, writer, 'Total')}
</table>
${!view.isForPrint && pager(number, count, (page) => `${quotationPath(view.token)}?page=${page}`)}`;
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
  const instead = replaces && `In place of ${replaces.title} (${replaces.sku}).`;
  const wasPrice = hint(`On your list ${writer.money(line.unit_price, line.currency)}`);
  return html`<tr role="row"${replaces || isOtherQuantity || isOtherPrice ? html` class="changed"` : ''}>
${nameCell(quoted, remark([instead, ...remarks]))}
<td role="cell" data-label="Quantity" class="num">${writer.count(quantity)}${
    isOtherQuantity && hint(`You asked for ${writer.count(line.quantity)}`)
  }</td>
${priceCells(quoted, writer, isOtherPrice ? wasPrice : '')}</tr>`;
};

const leftOutRow = (line: Line, reason: string | undefined, writer: Writer): Html =>
  html`<tr role="row" class="changed">${nameCell(line, remark(['Not offered.', reason]))}
<td role="cell" data-label="Quantity" class="num">0${hint(`You asked for ${writer.count(line.quantity)}`)}</td>
<td role="cell" data-label="Unit price" class="num">–</td>
<td role="cell" data-label="Total" class="num">–</td></tr>`;

const chargeRow = (
  { label, amount, currency }: BuyerQuotation['quotation']['charges'][number],
  writer: Writer,
): Html =>
  html`<tr role="row"><th role="rowheader" scope="row" colspan="3"><span class="name">${label}</span></th>
<td role="cell" data-label="Total" class="num">${writer.money(amount, currency)}</td></tr>`;

const canAgree = ({ phase, isValid }: BuyerQuotation): boolean =>
  phase === 'open' || (phase === 'declined' && isValid);
const canDecline = ({ phase }: BuyerQuotation): boolean => phase === 'open' || phase === 'agreed';
const canAsk = ({ phase }: BuyerQuotation): boolean => phase !== 'ended' && phase !== 'replaced';

const forms = (shown: BuyerQuotation, view: View, writer: Writer): Html =>
  html`${canAgree(shown) && agreeForm(shown, view, writer)}
${canDecline(shown) && declineForm(shown, view)}
${(canAsk(shown) || shown.questions.length > 0) && questions(shown, view, writer)}`;

const hashField = ({ quotation: { hash } }: BuyerQuotation): Html =>
  html`<input type="hidden" name="hash" value="${hash}">`;

const agreeForm = (shown: BuyerQuotation, { token }: View, writer: Writer): Html =>
  html`<form method="post" action="${quotationPath(token)}/agree" class="card">
${hashField(shown)}
<p>You tell staff that you want exactly this, for <strong>${totalsIn(shown.quotation.values, writer)}</strong>. It is your
word and not an order: staff decide next, and confirm it to you. Nothing is paid here.</p>
<button type="submit">I want this</button></form>`;

const declineForm = (shown: BuyerQuotation, { token, typed, faults }: View): Html =>
  html`<details class="card"${typed.has('reason') ? html` open` : ''}><summary>${
    shown.phase === 'agreed' ? 'Not this any more' : 'Not this'
  }</summary>
<form method="post" action="${quotationPath(token)}/decline" novalidate>
${hashField(shown)}
<p>Staff learn that you do not want this quotation, and your reason if you give one. They can send you another.</p>
${field({
  name: 'reason',
  label: 'Reason',
  value: typed.get('reason'),
  autocomplete: 'off',
  maxlength: 500,
  rows: 2,
  faults,
})}
<button type="submit" class="second">I do not want this</button></form></details>`;

const questions = (shown: BuyerQuotation, view: View, writer: Writer): Html => {
  const { questions: asked } = shown;
  return html`<section aria-labelledby="questions-heading"><h2 id="questions-heading">Questions</h2>
${
  asked.length > 0 &&
  html`<ol class="plain">${asked.map(
    ({ asked_at, question, answer }) => html`<li>
<p class="quiet">You asked on ${writer.moment(asked_at)}</p>
<p class="message" dir="auto">${question}</p>
${
  answer === undefined
    ? html`<p class="quiet">Staff have not answered yet.</p>`
    : html`<p class="quiet">Staff answered</p>
<p class="message" dir="auto">${answer}</p>`
}</li>`,
  )}</ol>`
}
${canAsk(shown) && questionForm(shown, view)}</section>`;
};

const questionForm = ({ questions: asked }: BuyerQuotation, { token, typed, faults }: View): Html =>
  html`<form method="post" action="${quotationPath(token)}/ask" class="card" novalidate>
<input type="hidden" name="question" value="${asked.length + 1}">
${field({
  name: 'text',
  label: 'Question to staff',
  value: typed.get('text'),
  autocomplete: 'off',
  maxlength: 2_000,
  rows: 4,
  required: true,
  hint: 'Staff answer by mail, and on this page. Neither the promoter nor software sees it.',
  faults,
})}
<button type="submit" class="second">Ask staff</button></form>`;

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
      const { page, print } = query as { page?: unknown; print?: unknown };
      const isForPrint = print === '1';
      return quotationPage(shown, { ...asRead(token), page: pageIn(page), isForPrint });
    },
    press: ({ button, admission, request: { body } }, reply) =>
      press(app, reply, { admission, button, body }),
  });
};

const asRead = (token: string): View => ({
  token,
  page: 1,
  isForPrint: false,
  typed: new Map(),
  faults: NO_FAULTS,
});

/** Why an act changed nothing, by the name of the rejection. */
const WHY: Readonly<Record<string, string>> = {
  quotation_replaced: 'The quotation was replaced meanwhile. Below is how it is now.',
  quote_over: 'The quotation has expired. Ask staff for a new one.',
  too_many_questions: 'Many of your questions wait for an answer. Staff answer them first.',
};
const CHANGED = 'The request is no longer as the page showed it. Below is how it is now.';

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
  if (outcome.ok) return reply.redirect(quotationPath(encodeURIComponent(token)), 303);
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
      ? { faults: faultsOf(outcome.errors ?? []) }
      : { refused: WHY[String(outcome.extra?.['rejected'])] ?? CHANGED }),
  });
  return sendPage(reply, isFaulty ? 422 : 409, page);
};

const LABELS: Readonly<Record<string, string>> = { text: 'The question', reason: 'The reason' };

const faultsOf = (errors: readonly { pointer: string; detail: string }[]): Faults =>
  new Map(
    errors.map(({ pointer, detail }) => {
      const name = pointer.slice(1);
      return [name, `${LABELS[name] ?? 'The form'} ${detail}.`];
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
