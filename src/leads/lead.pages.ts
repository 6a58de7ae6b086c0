/** A lead as staff read it, with the moves that its state allows. */
import { html } from 'hono/html';
import { LEAD_MOVES } from '#contracts/moves.ts';
import type { DeskOperations } from '#contracts/registries/desk.ts';
import { ownerLink } from '#src/records/desk-frame.pages.ts';
import { referenceOf } from '#src/ports/reference.ts';
import { moneyIn } from '#src/shared/cells.ts';
import { HOUSE_LOCALE, writerFor } from '#src/shared/money.ts';
import { type Refusal, refuseField } from '#src/shared/outcome.ts';
import type { PageAct } from '#src/web/acts.ts';
import { facts, type Html } from '#src/web/layout.ts';
import { type ActForm, timeOf } from '#src/web/parts.ts';
import type { Typed } from '#src/web/person-admission.ts';

export type ShownLead = ReturnType<DeskOperations['readLead']['output']['parse']>;

const stateText = (state: string): string => state.replaceAll('_', ' ');

const contactOf = ({ contact }: ShownLead): Html | '' => {
  if (contact === undefined) return html`<p>The lead names no person.</p>`;
  if (typeof contact === 'string') return html`<p>The contact is not shown: ${contact}.</p>`;
  const { name, email, phone, role } = contact;
  return facts([
    ['Name', html`<bdi>${name}</bdi>`],
    ...(role === undefined ? [] : [['Position', role] as const]),
    ['E-mail', html`<a href="mailto:${email}">${email}</a>`],
    ...(phone === undefined ? [] : [['Telephone', phone] as const]),
  ]);
};

const interestOf = ({ interest }: ShownLead): Html | '' => {
  if (!interest) return '';
  const { categories = [], quantity_hint, note } = interest;
  return html`<section><h2>Interest</h2>${facts([
    ...(categories.length > 0 ? [['Categories', categories.join(', ')] as const] : []),
    ...(quantity_hint === undefined ? [] : [['Pieces', String(quantity_hint)] as const]),
  ])}${
    note !== undefined &&
    html`<figure class="letter"><figcaption>Note of the agent</figcaption><blockquote dir="auto">${note}</blockquote></figure>`
  }</section>`;
};

/** Why a lead is in its list: what it waits for. */
const waitsFor = ({ state, source, claim_expires_at }: ShownLead): Html => {
  if (state === 'rfq_submitted') return html`It takes the outcome of its request.`;
  if (source.kind === 'handoff' && source.ref !== undefined && state === 'submitted')
    return html`It waits for a decision. A win of <a href="/desk/r/${source.ref}">its request</a> accepts and wins it, too.`;
  return state === 'submitted' || state === 'accepted'
    ? html`It lapses without a contact with its company by ${timeOf(claim_expires_at)}.`
    : html`It is ${stateText(state)}.`;
};

export const leadMain = (lead: ShownLead): Html => html`
${facts([
  ['State', stateText(lead.state)],
  ['Submitted', timeOf(lead.created_at)],
  ['Promoter', ownerLink(lead.owner_id)],
  ...(lead.outcome_value
    ? [
        [
          'Value',
          writerFor(HOUSE_LOCALE).money(lead.outcome_value.amount, lead.outcome_value.currency),
        ] as const,
      ]
    : []),
])}
<p>${waitsFor(lead)}</p>
<section><h2>Company</h2>${facts([
  ['Name', html`<bdi>${lead.company.name}</bdi>`],
  ['Country', lead.company.country],
  ...(lead.company.website === undefined ? [] : [['Website', lead.company.website] as const]),
])}</section>
<section><h2>Contact</h2>${contactOf(lead)}${
  lead.consent &&
  html`<p>Basis: ${stateText(lead.consent.basis)}, since ${timeOf(lead.consent.obtained_at)}.</p>`
}</section>
${interestOf(lead)}
${
  lead.alike.length > 0 &&
  html`<section><h2>Alike leads</h2><ul>${lead.alike.map(
    ({ lead_id, owner_id, state, same }) =>
      html`<li><a href="/desk/r/${lead_id}">${referenceOf(lead_id)}</a> of ${owner_id}, ${stateText(state)}: the same ${same.join(' and ')}</li>`,
  )}</ul></section>`
}`;

const moneyOrRefusal = (text: string | undefined): { value?: object } | Refusal => {
  if (text === undefined || text.trim() === '') return {};
  const value = moneyIn(text);
  return value ? { value } : refuseField('/value', 'invalid', 'must be like 129.50 GBP');
};

const moveInput = (
  { owner_id, to, reason = '', value }: Typed,
  { id }: Typed,
): object | Refusal => {
  const money = moneyOrRefusal(value);
  return 'ok' in money
    ? money
    : { lead_id: id, owner_id, to, ...(reason.trim() !== '' && { reason }), ...money };
};

export const LEAD_ACTS: Readonly<Record<string, PageAct>> = {
  'move-lead': { operation: 'moveLead', input: moveInput, done: 'The lead has its new state.' },
  'correct-lead': {
    operation: 'correctLead',
    input: moveInput,
    done: 'The outcome is corrected.',
  },
  'approve-lead': {
    operation: 'approveLeadMove',
    input: ({ owner_id, proposal }, { id }) => ({
      lead_id: id,
      owner_id,
      proposal: Number(proposal),
    }),
    done: 'Approved and done.',
  },
  'refuse-lead': {
    operation: 'refuseLeadMove',
    input: ({ owner_id, proposal, reason }, { id }) => ({
      lead_id: id,
      owner_id,
      proposal: Number(proposal),
      reason,
    }),
    done: 'The proposal is refused. The lead keeps its state.',
  },
};

const REASON = { name: 'reason', label: 'Reason' };
const VALUE = { name: 'value', label: 'Value, if it was won', hint: 'Like 129.50 GBP' };

const choices = (states: readonly string[]) => ({
  name: 'to',
  label: 'Next state',
  options: states.map((state) => [state, stateText(state)] as const),
});

export const leadForms = ({ state, proposed, owner_id }: ShownLead): ActForm[] => {
  const next: readonly string[] = LEAD_MOVES[state as keyof typeof LEAD_MOVES] ?? [];
  const forms: ActForm[] = [];
  if (proposed) {
    const { number, to, by, by_name } = proposed;
    const hidden = { proposal: String(number) };
    const text = `${by_name ?? by} proposes: ${stateText(to)}.`;
    forms.push(
      {
        name: 'approve-lead',
        title: 'Approve as the second person',
        text,
        hidden,
        button: 'Approve',
      },
      {
        name: 'refuse-lead',
        title: 'Refuse the proposal',
        text,
        hidden,
        fields: [{ ...REASON, required: true }],
        button: 'Refuse',
        isDangerous: true,
      },
    );
  }
  if (next.length > 0)
    forms.push({
      name: 'move-lead',
      title: 'Move it',
      fields: [choices(next), REASON, ...(next.includes('won') ? [VALUE] : [])],
      button: 'Move the lead',
    });
  if (state === 'won' || state === 'lost')
    forms.push({
      name: 'correct-lead',
      title: 'Correct the outcome',
      text: 'A lead that took the outcome of a request follows the corrections of the request.',
      fields: [choices(['won', 'lost', 'qualified']), VALUE, { ...REASON, required: true }],
      button: 'Correct it',
      isDangerous: true,
    });
  return forms.map((form, index) => ({
    ...form,
    hidden: { owner_id, ...form.hidden },
    isOpen: index === 0,
  }));
};
