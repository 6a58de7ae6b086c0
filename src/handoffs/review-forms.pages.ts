import { html } from 'hono/html';
import { RFQ_CONSENT } from './submit-rfq.ts';
import { totalsOf } from '#src/catalog/price-lines.ts';
import type { InputFault } from '#contracts/problems.ts';
import { describedBy, type Faults, field, type Html, invalid, plural } from '#src/web/layout.ts';
import type { Writer } from '#src/shared/money.ts';
import { countryField } from './country-field.pages.ts';
import { QUANTITY } from './review-form-fields.pages.ts';
import {
  type Line,
  linesShown,
  type ReviewView,
  totalsField,
  totalsIn,
} from './review-view.pages.ts';

/**
 * One form around all fields, so that every button submits all of them. Enter in a field presses the first button of
 * the form: a hidden one, which reports only that Enter was pressed.
 */
export const reviewForm = (view: ReviewView, fields: Html): Html => {
  const { review, token, priced } = view;
  const { lines, number, count } = linesShown(view);
  const shown = new Set(lines.map(({ line_id }) => line_id));
  const elsewhere = [...priced.lines.values()].filter(({ line_id }) => !shown.has(line_id));
  return html`<form method="post" action="/h/${token}/enter" id="review" novalidate
 data-other-lines="${elsewhere.length}" data-other-totals="${totalsField(totalsOf(elsewhere))}">
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
export const sendFields = (view: ReviewView, writer: Writer): Html => {
  const { review, token, typed, faults, priced } = view;
  const fault = faults.get('consent');
  const isTicked = typed.get('consent') === 'yes' && view.notice !== 'outrun';
  return html`<div class="card">
<p>You ask for a quotation for <strong><span id="line-count">${writer.count(priced.lines.size)}
${plural(priced.lines.size, 'line', 'lines')}</span>, ${totalsIn(priced.totals, writer)}</strong>.
Quantities that you change above are sent as you typed them, once you have seen what they come to.
First you confirm the request with a link that we mail to you; then staff answer you with binding prices. Nothing is
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

export const declineFields = ({ token, typed, faults }: ReviewView): Html => {
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
export const faultsOf = (errors: readonly InputFault[], lines: readonly Line[]): Faults => {
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
