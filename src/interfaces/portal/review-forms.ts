import { html } from 'hono/html';
import { RFQ_CONSENT } from '#src/app/buyer.ts';
import type { InputFault } from '#contracts/problems.ts';
import type { Html } from './layout.ts';
import type { Writer } from './money.ts';
import type { Faults } from './parts.ts';
import { describedBy, field, invalid, plural } from './parts.ts';
import type { Line, ReviewView } from './review-view.ts';
import { totalsIn } from './review-view.ts';

/** The request for a quotation: the only button here that tells anybody anything. */
export const sendForm = (view: ReviewView, writer: Writer): Html => {
  const { review, token, typed, faults } = view;
  const { lines, list_revision, totals, buyer } = review.state;
  const fault = faults.get('consent');
  const isTicked = typed.get('consent') === 'yes' && !view.isOutrun;
  return html`<form method="post" action="/h/${token}/send" class="card" novalidate>
<input type="hidden" name="list_revision" value="${list_revision}">
<p>You ask for a quotation for <strong>${writer.count(lines.length)}
${plural(lines.length, 'product', 'products')}, ${totalsIn(totals, writer)}</strong>. Staff answer
you with binding prices. Nothing is ordered, reserved or paid.</p>
${field({
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
  hint: 'Where staff send the quotation.',
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
<div class="tick${fault ? ' wrong' : ''}">
${fault && html`<p class="fault" id="consent-fault">${fault}</p>`}
<input type="checkbox" id="consent" name="consent" value="yes" required
${isTicked ? html` checked` : ''}${describedBy(fault ? 'consent-fault' : '')}${invalid(fault)}>
<label for="consent">${RFQ_CONSENT}</label></div>
<p class="hint">Staff see your contact. The software and the promoter who prepared this list do
not.</p>
<button type="submit">Ask for a quotation</button>
</form>`;
};

export const declineForm = ({ review, token, typed, faults }: ReviewView): Html => {
  const isOpen = faults.has('reason');
  return html`<details class="card"${isOpen ? html` open` : ''}><summary>Decline this list</summary>
<form method="post" action="/h/${token}/decline" novalidate>
<input type="hidden" name="list_revision" value="${review.state.list_revision}">
<p>The list is closed, and whoever prepared it learns that you declined, with your reason if you
give one.</p>
${field({
  name: 'reason',
  label: 'Reason',
  value: typed.get('reason'),
  autocomplete: 'off',
  maxlength: 500,
  faults,
})}
<button type="submit" class="second">Decline</button>
</form></details>`;
};

const MESSAGES: Record<string, string> = {
  name: 'Enter your name, on one line of at most 200 characters.',
  email: 'Enter an e-mail address, like name@company.example.',
  company: 'The company must be one line of at most 200 characters.',
  phone: 'The phone number must be one line of at most 40 characters.',
  consent: 'Tick the box to send the request.',
  reason: 'The reason must be one line of at most 500 characters.',
};

/** Faults of the input in the reader's words, by the field they belong to. */
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
