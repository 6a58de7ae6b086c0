import { html } from 'hono/html';
import type { Review } from './review.ts';
import { visibleTitle } from '#src/shared/visible.ts';
import { type Html, notice, type Page } from '#src/web/layout.ts';
import { type Writer, writerFor } from '#src/shared/money.ts';
import { lineTable } from './review-lines.pages.ts';
import { ownerOf, type ReviewView, totalsIn } from './review-view.pages.ts';

/** Closing reason of a list that was open when its personal data was erased. */
const ERASED = 'erased';

type Ending = { heading: string; body: Html; showsList: boolean };

/** The page of a closed list. It does not show the contact that was sent: the list's author also knows the link. */
export const closedPage = (view: ReviewView): Page => {
  const { review } = view;
  const { state } = review;
  const writer = writerFor(state.locale);
  const { heading, body, showsList } = endingOf(view, writer);
  return {
    title: `${heading}: ${state.title}`,
    locale: state.locale,
    main: html`${ownerOf(review).isTest && notice('warn', html`<p>This was a test list.</p>`)}
<article class="review">
<header class="head"><p class="eyebrow" lang="${state.locale}" dir="auto">${visibleTitle(state.title)}</p>
<h1>${heading}</h1>${view.notice === 'outrun' && late(review)}${body}
<p class="quiet">${
      state.made_by_buyer
        ? html`You made this list.`
        : html`The list was prepared by ${review.preparedBy}, a software agent acting for
${ownerOf(review).name}, who may be rewarded for what comes of it.`
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
    wasSent && !ownerOf(review).isTest
      ? ' If you want other quantities, say so when staff answer you.'
      : ''
  }</p></div>`;
};

const answerText = (review: Review): string => {
  if (ownerOf(review).isTest) return 'It was a test: nobody was asked, and nobody will answer.';
  return review.state.erased
    ? 'The contact was erased, so no answer can reach you.'
    : 'Staff will answer you at the contact you gave, with binding prices. An order needs your agreement and theirs.';
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
