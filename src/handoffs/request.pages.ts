/** The pages behind the link that confirms an RFQ. */
import type { BuyerContact } from '#contracts/handoffs/operations.ts';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { html } from 'hono/html';
import { LIMITS } from '#contracts/limits.ts';
import type { PictureOptions } from '#src/links/landing.pages.ts';
import { referenceOf } from '#src/ports/reference.ts';
import type { App } from '#src/registries/app.ts';
import { type Writer, writerOf } from '#src/shared/money.ts';
import { requestPath } from '#src/shared/signing.ts';
import { sendRefusal } from '#src/web/error-pages.ts';
import { type HolderAdmission, insideOf, servePage } from '#src/web/holder-admission.ts';
import { facts, type Html, NO_FAULTS, notice, type Page, rich, sendPage } from '#src/web/layout.ts';
import type { BuyerRequest } from './confirm-rfq.ts';
import { progress } from './progress.pages.ts';
import { lineTable, isTest, type ReviewView, totalsIn } from './review-lines.pages.ts';
import { fieldsOf, outcomeText, pageIn, revisionOf } from './review.pages.ts';

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
    nav: { list: requestPath(view.token) },
    main: html`${isTest(review) && notice('warn', html`<p>${writer.say('request_test')}</p>`)}
<article class="review">
<header class="head"><h1>${heading}</h1>
${view.refused !== undefined && late(writer)}
${HAS_STEPS.has(phase) && progress({ state, isPrivate: true }, writer)}</header>
${body}
${request.contact && content(request, view, writer)}
</article>`,
  };
};

/** The phases in which the request of this link is alive, or has an outcome. */
const HAS_STEPS: ReadonlySet<BuyerRequest['phase']> = new Set(['waiting', 'sent', 'ended']);

type Part = (request: BuyerRequest, view: View, writer: Writer) => { heading: string; body: Html };

const late = (writer: Writer): Html =>
  html`<div class="notice warn" role="alert" tabindex="-1" autofocus><p>${rich(writer, 'request_late')}</p></div>`;

const lede = (text: string | Html): Html => html`<p class="lede">${text}</p>`;

const PARTS: Record<BuyerRequest['phase'], Part> = {
  waiting: ({ review: { state, awaitedUntil = 0 } }, { token }, { say, moment }) => ({
    heading: say('request_waiting'),
    body: html`${lede(say('request_waiting_text'))}
<form method="post" action="${requestPath(token)}/confirm" class="card">
<input type="hidden" name="list_revision" value="${state.list_revision}">
<p>${say('request_until', { until: moment(awaitedUntil) })}</p>
<button type="submit">${say('request_confirm')}</button></form>
<details class="card"><summary>${say('disown')}</summary>
<p>${say('request_disown_text', { count: LIMITS.MAILBOX_BLOCK_DAYS })}</p>
<form method="post" action="${requestPath(token)}/not-me">
<button type="submit" class="second">${say('disown_button')}</button></form></details>`,
  }),
  sent: ({ review: { state } }, { token }, writer) => ({
    heading: writer.say('request_sent'),
    body: html`<div class="notice good"><p>${rich(writer, 'request_sent_text', {
      at: writer.moment(state.rfq?.submitted_at ?? 0),
    })}</p></div>
<details class="card"><summary>${writer.say('request_withdraw')}</summary>
<p>${writer.say('request_withdraw_text')}</p>
<form method="post" action="${requestPath(token)}/withdraw">
<button type="submit" class="second">${writer.say('request_withdraw_button')}</button></form></details>`,
  }),
  ended: ({ review: { state } }, _view, writer) => ({
    heading: writer.say(state.rfq?.state === 'won' ? 'closed_won' : 'request_ended'),
    body: lede(outcomeText(state, writer)),
  }),
  over: (_request, _view, { say }) => ({
    heading: say('request_over'),
    body: lede(say('request_over_text')),
  }),
  replaced: (_request, _view, { say }) => ({
    heading: say('request_replaced'),
    body: lede(say('request_replaced_text')),
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
  return html`<section aria-labelledby="list-heading"><h2 id="list-heading">${writer.say('review_list')}</h2>
${facts([
  [writer.say('reference'), referenceOf(state.handoff_id)],
  [writer.say('lines'), writer.count(state.lines.length)],
  [writer.say('indicative_total'), totalsIn(state.totals, writer)],
])}
${lineTable(list, writer, (number) => `${requestPath(token)}?page=${number}`)}</section>
<section aria-labelledby="contact-heading"><h2 id="contact-heading">${writer.say('request_contact')}</h2>
${typeof contact === 'object' ? contactFacts(contact, writer) : html`<p>${contact}</p>`}
<p class="quiet">${writer.say('request_contact_text')}</p></section>`;
};

const contactFacts = (contact: BuyerContact, { say, country }: Writer): Html => html`${facts([
  [say('contact_name'), contact.name],
  [say('field_email'), contact.email],
  ...given(say('field_company'), contact.company),
  ...given(say('field_phone'), contact.phone),
  ...given(say('field_country'), contact.country && country(contact.country)),
])}
${contact.message && html`<h3>${say('request_message')}</h3><p class="message" dir="auto">${contact.message}</p>`}`;

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
