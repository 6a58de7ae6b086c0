import { html } from 'hono/html';
import { BOUNDARIES } from '#contracts/boundaries.ts';
import { LIMITS } from '#contracts/limits.ts';
import { visibleTitle } from '#src/shared/visible.ts';
import { closedPage } from './closed-page.pages.ts';
import { facts, faultSummary, type Html, notice, type Page, plural } from '#src/web/layout.ts';
import { type Writer, writerFor } from '#src/shared/money.ts';
import { declineFields, reviewForm, sendFields } from './review-forms.pages.ts';
import { removedLines, searchFields } from './review-additions.pages.ts';
import { lineFields, remarksOn } from './review-lines.pages.ts';
import { ownerOf, type ReviewView, type ReviewNotice, totalsIn } from './review-view.pages.ts';

export const reviewPage = (view: ReviewView): Page =>
  view.review.open ? openPage(view) : closedPage(view);

const openPage = (view: ReviewView): Page => {
  const { review, token, faults } = view;
  const { state } = review;
  const writer = writerFor(state.locale);
  const isUnopened = state.status === 'awaiting_buyer';
  return {
    title: faults.size > 0 ? `Please check: ${state.title}` : state.title,
    locale: state.locale,
    script: 'review.js',
    main: html`${faultSummary('Please check what you typed; nothing was sent or changed', faults)}
${view.notice && noticeBox(view.notice)}
${review.awaitedUntil !== undefined && awaited(review.awaitedUntil, writer)}
${ownerOf(review).isTest && testNotice()}
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
${removedLines(view, writer)}</section>
<section aria-labelledby="more"><h2 id="more">Add a product</h2>
${searchFields(view, writer)}</section>
<section aria-labelledby="send"><h2 id="send">Ask for a quotation</h2>
${sendFields(view, writer)}</section>
<section aria-labelledby="no"><h2 id="no">Not for you?</h2>${declineFields(view)}</section>`,
)}
${boundaries()}
</article>`,
  };
};

const heading = (view: ReviewView, writer: Writer): Html => {
  const { review, priced } = view;
  const { state } = review;
  const owner = ownerOf(review).name;
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
<h1 lang="${state.locale}" dir="auto">${visibleTitle(state.title)}</h1>
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
    body: 'Nothing was sent yet. Below is the list as it is now, and what you typed beside it.',
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
