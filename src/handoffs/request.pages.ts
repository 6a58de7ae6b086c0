/** The pages behind the link that confirms an RFQ. */
import type { BuyerContact } from '#contracts/handoffs/operations.ts';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { html } from 'hono/html';
import { LIMITS } from '#contracts/limits.ts';
import type { PictureOptions } from '#src/links/landing.pages.ts';
import type { App } from '#src/registries/app.ts';
import { type Writer, writerOf } from '#src/shared/money.ts';
import { requestPath } from '#src/shared/signing.ts';
import { sendRefusal } from '#src/web/error-pages.ts';
import { type HolderAdmission, insideOf, servePage } from '#src/web/holder-admission.ts';
import { facts, type Html, NO_FAULTS, notice, type Page, sendPage } from '#src/web/layout.ts';
import type { BuyerRequest } from './confirm-rfq.ts';
import { lineTable, isTest, type ReviewView, totalsIn } from './review-lines.pages.ts';
import { countryName, fieldsOf, pageIn, revisionOf } from './review.pages.ts';

type View = {
  token: string;
  /** The requested page of the list, from 1. */
  page: number;
  imageOrigins: readonly string[];
  /** The button that was pressed too late. */
  refused?: string;
};

/** The page behind the link in the mail: the only one that confirms or withdraws a request, and shows its contact. */
const requestPage = (request: BuyerRequest, view: View): Page => {
  const { review, phase } = request;
  const { state } = review;
  const writer = writerOf(state);
  const { heading, body } = PARTS[phase](request, view, writer);
  return {
    title: heading,
    locale: writer.locale,
    main: html`${isTest(review) && notice('warn', html`<p>This is a test request.</p>`)}
<article class="review">
<header class="head"><h1>${heading}</h1>${view.refused !== undefined && late()}</header>
${body}
${request.contact && content(request, view, writer)}
</article>`,
  };
};

type Part = (request: BuyerRequest, view: View, writer: Writer) => { heading: string; body: Html };

const late = (): Html =>
  html`<div class="notice warn" role="alert" tabindex="-1" autofocus><p><strong>Nothing was changed.</strong>
The request is no longer as the page showed it. Below is how it is now.</p></div>`;

const NOTHING_ORDERED = 'No stock is reserved, no price is accepted and nothing is paid.';

const outcomeOf = (rfq: BuyerRequest['review']['state']['rfq'], writer: Writer): Html => {
  if (rfq?.state === 'won')
    return html`Staff recorded the deal with you: ${totalsIn(rfq.values ?? [], writer)}.`;
  return rfq?.state === 'lost'
    ? html`Staff closed it without a deal. Nothing is ordered by it.`
    : html`It was withdrawn. Nothing is ordered by it.`;
};

const PARTS: Record<BuyerRequest['phase'], Part> = {
  waiting: ({ review: { state, awaitedUntil = 0 } }, { token }, writer) => ({
    heading: 'Confirm your request',
    body: html`<p class="lede">Somebody entered your e-mail address and asked for a quotation for the list below. If
that was you, confirm it: then staff see the request and answer you. ${NOTHING_ORDERED}</p>
<form method="post" action="${requestPath(token)}/confirm" class="card">
<input type="hidden" name="list_revision" value="${state.list_revision}">
<p>You can confirm it until ${writer.moment(awaitedUntil)}.</p>
<button type="submit">Confirm the request</button></form>
<details class="card"><summary>This was not me</summary>
<p>The request ends, and your address is erased from it. For ${LIMITS.MAILBOX_BLOCK_DAYS} days this service sends no
message of this kind to your address.</p>
<form method="post" action="${requestPath(token)}/not-me">
<button type="submit" class="second">I did not ask for this</button></form></details>`,
  }),
  sent: ({ review: { state } }, { token }, writer) => ({
    heading: 'Your request is with staff',
    body: html`<div class="notice good"><p><strong>Nothing is ordered.</strong> You asked for a quotation on
${writer.moment(state.rfq?.submitted_at ?? 0)}. Staff answer the contact below
by mail, with a quotation: its letter has the link to it. An order needs your agreement and theirs.</p></div>
<details class="card"><summary>Withdraw the request</summary>
<p>Staff and the person who prepared the list learn that you withdrew it.</p>
<form method="post" action="${requestPath(token)}/withdraw">
<button type="submit" class="second">Withdraw</button></form></details>`,
  }),
  ended: ({ review: { state } }, _view, writer) => ({
    heading: 'Your request has ended',
    body: html`<p class="lede">${outcomeOf(state.rfq, writer)}</p>`,
  }),
  over: () => ({
    heading: 'This request is over',
    body: html`<p class="lede">It was not confirmed in time, or was ended before. Its contact is erased, and staff never
received it. If you still want a quotation, open the list again and send it.</p>`,
  }),
  replaced: () => ({
    heading: 'This link was replaced',
    body: html`<p class="lede">The list was sent again, and a newer message has the link that works. If you corrected the
address, it went there.</p>`,
  }),
};

/** What staff receive: reference, list, contact and message. */
const content = (
  { review, contact }: BuyerRequest,
  { token, page, imageOrigins }: View,
  writer: Writer,
): Html => {
  const { state } = review;
  const list: ReviewView = {
    review,
    token,
    page,
    imageOrigins,
    typed: new Map(),
    faults: NO_FAULTS,
    priced: { lines: new Map(), totals: state.totals },
  };
  return html`<section aria-labelledby="list-heading"><h2 id="list-heading">The list</h2>
${facts([
  ['Reference', state.handoff_id],
  ['Lines', writer.count(state.lines.length)],
  ['Indicative total', totalsIn(state.totals, writer)],
])}
${lineTable(list, writer, (number) => `${requestPath(token)}?page=${number}`)}</section>
<section aria-labelledby="contact-heading"><h2 id="contact-heading">Your contact</h2>
${typeof contact === 'object' ? contactFacts(contact) : html`<p>${contact}</p>`}
<p class="quiet">Only this page shows the contact: the link of the list does not. A confirmed mailbox shows that somebody
reads it, not who that is.</p></section>`;
};

const contactFacts = (contact: BuyerContact): Html => html`${facts([
  ['Name', contact.name],
  ['E-mail', contact.email],
  ...given('Company', contact.company),
  ...given('Phone', contact.phone),
  ...given('Delivery country', contact.country && countryName(contact.country)),
])}
${contact.message && html`<h3>Your message</h3><p class="message" dir="auto">${contact.message}</p>`}`;

const given = (name: string, value: string | undefined): [string, string][] =>
  value === undefined ? [] : [[name, value]];

/** The operation of each button, by the last segment of its path. */
const BUTTONS = {
  confirm: 'confirmRequest',
  withdraw: 'withdrawRequest',
  'not-me': 'disownRequest',
} as const;

type Button = keyof typeof BUTTONS;

/** The pages behind the link that a buyer gets by mail. */
export const requestRoutes = async (
  scope: FastifyInstance,
  app: App,
  pictures: PictureOptions,
): Promise<void> => {
  await servePage(scope, app, {
    linkTo: 'request',
    buttons: BUTTONS,
    otherwise: 'readRequest',
    path: requestPath,
    read: (admission) => app.holders.perform(admission, 'readRequest', { input: {} }),
    page(token, shown, { query }) {
      const page = pageIn((query as { page?: unknown }).page);
      return requestPage(shown, { token, page, ...pictures });
    },
    press: ({ button, admission, request: { body } }, reply) =>
      press(app, reply, { admission, button, body, pictures }),
  });
};

type Pressed = {
  admission: HolderAdmission;
  button: Button;
  body: unknown;
  pictures: PictureOptions;
};

/** Performs what the button says, and shows the request as it is then. */
const press = async (
  { holders }: App,
  reply: FastifyReply,
  { admission, button, body, pictures }: Pressed,
): Promise<FastifyReply> => {
  const { token } = admission.caller;
  const outcome =
    button === 'confirm'
      ? await holders.perform(admission, 'confirmRequest', {
          input: {
            list_revision: revisionOf(fieldsOf(body)),
            client: admission.arrival.sentBy,
          },
        })
      : await holders.perform(admission, BUTTONS[button], { input: {} });
  if (outcome.ok) return reply.redirect(requestPath(encodeURIComponent(token)), 303);
  if (outcome.code !== 'state_conflict') return sendRefusal(reply, outcome);
  const shown = await holders.performInside('readRequest', { ...insideOf(admission), input: {} });
  if (!shown.ok) return sendRefusal(reply, shown);
  const page = requestPage(shown.value, { token, page: 1, refused: button, ...pictures });
  return sendPage(reply, 409, page);
};
