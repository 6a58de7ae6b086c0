/** The page of a record that staff work on: what it is, what is planned, what happened, and the acts that are left. */
import type { FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import type { DeskOperations } from '#contracts/registries/desk.ts';
import { DEAL_ACTS, dealForms, dealHistory, dealMain, endOfDay } from '#src/handoffs/deal.pages.ts';
import { LEAD_ACTS, leadForms, leadMain } from '#src/leads/lead.pages.ts';
import { referenceOf } from '#src/ports/reference.ts';
import { keysOfAgent } from '#src/owners/owner-agents.pages.ts';
import { ownerLink } from './desk-frame.pages.ts';
import { personText } from './desk.pages.ts';
import type { App } from '#src/registries/app.ts';
import { done, type Outcome, refuse } from '#src/shared/outcome.ts';
import { type PageAct, serveActs } from '#src/web/acts.ts';
import { facts, type Html, type Page } from '#src/web/layout.ts';
import {
  type ActForm,
  actForm,
  type FormState,
  hrefWith,
  outcomeNotice,
  timeOf,
} from '#src/web/parts.ts';
import { acceptPeople, type SignedIn, type Typed } from '#src/web/person-admission.ts';

type Plan = ReturnType<DeskOperations['readPlan']['output']['parse']>;
type Agent = ReturnType<DeskOperations['readAgent']['output']['parse']>;

/** A record as its page shows it. */
type Shown = {
  title: string;
  /** Its reference, or its id where it has none. */
  name: string;
  main: Html;
  history?: Html;
  forms: readonly ActForm[];
  /** Whether it can have notes and texts. */
  hasTexts: boolean;
};

const agentMain = (agent: Agent): Html => html`${facts([
  ['State', agent.status],
  ['Promoter', ownerLink(agent.owner_id)],
])}
<section><h2>What it is for</h2><p dir="auto">${agent.pending?.purpose ?? agent.purpose}</p></section>
<section><h2>Scopes</h2><p>Asked for: ${agent.requested_scopes.join(', ') || 'none'}.</p>
<p>Has: ${agent.granted_scopes.join(', ') || 'none'}.</p></section>
<section><h2>Keys</h2>${keysOfAgent(agent.owner_id, agent.keys)}</section>
${agent.reason !== undefined && html`<p>Reason of the last decision: <q dir="auto">${agent.reason}</q></p>`}`;

const REASON = {
  name: 'reason',
  label: 'Reason',
  required: true,
  hint: 'Shown to people who ask why',
};

const agentForms = ({ status, pending }: Agent): ActForm[] => {
  const forms: ActForm[] = [];
  if (status === 'requested' || pending)
    forms.push(
      {
        name: 'approve-access',
        title: 'Approve what it asks for',
        fields: [REASON],
        button: 'Approve',
        isOpen: true,
      },
      {
        name: 'deny-access',
        title: 'Deny it',
        fields: [REASON],
        button: 'Deny',
        isDangerous: true,
      },
    );
  if (status === 'approved')
    forms.push({
      name: 'suspend',
      title: 'Suspend the agent',
      text: 'Its keys stop working within a second.',
      fields: [REASON],
      button: 'Suspend',
      isDangerous: true,
    });
  if (status === 'suspended')
    forms.push({
      name: 'reinstate',
      title: 'Lift the suspension',
      fields: [REASON],
      button: 'Lift it',
    });
  return forms;
};

const decision = (operation: PageAct['operation'], said: string): PageAct => ({
  operation,
  input: ({ reason }, { id }) => ({ agent_id: id, reason }),
  done: said,
});

const ACTS: Readonly<Record<string, PageAct>> = {
  ...DEAL_ACTS,
  ...LEAD_ACTS,
  'approve-access': decision('approveAccess', 'The access is approved.'),
  'deny-access': decision('denyAccess', 'The request is denied.'),
  suspend: decision('suspendAgent', 'The agent is suspended.'),
  reinstate: decision('reinstateAgent', 'The agent works again.'),
  assign: {
    operation: 'assignRecord',
    input: ({ person = '' }, { id }) => ({
      record_id: id,
      ...(person.trim() !== '' && { person: person.trim() }),
    }),
    done: 'The record is assigned.',
  },
  take: {
    operation: 'assignRecord',
    input: ({ person }, { id }) => ({ record_id: id, person }),
    done: 'The record is assigned to you.',
  },
  note: {
    operation: 'addNote',
    input: ({ note }, { id }) => ({ record_id: id, note }),
    done: 'The note is stored.',
  },
  step: {
    operation: 'planNextStep',
    input: ({ due_on = '', step = '' }, { id }) => ({
      record_id: id,
      due_at: endOfDay(due_on),
      ...(step.trim() !== '' && { step }),
    }),
    fieldOf: (pointer) => (pointer === '/due_at' ? 'due_on' : pointer.slice(1)),
    done: 'The next step is planned.',
  },
  'step-done': {
    operation: 'endNextStep',
    input: (_sent, { id }) => ({ record_id: id }),
    done: 'The step is done.',
  },
};

const planForms = (plan: Plan, { admission }: SignedIn, hasTexts: boolean): ActForm[] => [
  ...(plan.assigned_to === admission.caller.id
    ? []
    : [
        {
          name: 'take',
          title: 'Assign it to me',
          hidden: { person: admission.caller.id },
          button: 'Assign it to me',
        },
      ]),
  {
    name: 'assign',
    title: 'Assign',
    fields: [{ name: 'person', label: 'Name of a person of staff', hint: 'Empty: nobody.' }],
    button: 'Assign',
  },
  ...(hasTexts
    ? [
        {
          name: 'note',
          title: 'Note',
          fields: [{ name: 'note', label: 'Note', rows: 3, maxlength: 2_000, required: true }],
          button: 'Add the note',
        },
      ]
    : []),
  {
    name: 'step',
    title: 'Next step',
    fields: [
      { name: 'due_on', label: 'Due on', type: 'date', required: true },
      ...(hasTexts ? [{ name: 'step', label: 'What is to do' }] : []),
    ],
    button: 'Plan it',
  },
  ...(plan.next_step ? [{ name: 'step-done', title: 'The step is done', button: 'Done' }] : []),
];

const planOf = ({
  assigned_to,
  assigned_name,
  next_step,
  notes,
}: Plan): Html => html`<section><h2>Plan</h2>
<p>${assigned_to === undefined ? 'Assigned to nobody.' : `Assigned to ${assigned_name ?? personText(assigned_to)}.`}
${next_step && html`Next step by ${timeOf(next_step.due_at)}${next_step.step !== undefined && html`: <q dir="auto">${next_step.step}</q>`}.`}</p>
${notes.map(
  ({
    note,
    by,
    by_name,
    at,
  }) => html`<figure class="letter"><figcaption>${by_name ?? by}, ${timeOf(at)}</figcaption>
<blockquote dir="auto">${note}</blockquote></figure>`,
)}</section>`;

type Admission = SignedIn['admission'];

/** Reads a record by the kind that its id names. */
const readShown = async (
  { desk, now }: App,
  admission: Admission,
  { id, form }: { id: string; form: FormState },
): Promise<Outcome<Shown>> => {
  if (id.startsWith('led_')) {
    const lead = await desk.perform(admission, 'readLead', { input: { lead_id: id } });
    if (!lead.ok) return lead;
    const { company } = lead.value;
    return done({
      title: company.name,
      name: referenceOf(id),
      main: leadMain(lead.value),
      forms: leadForms(lead.value),
      hasTexts: true,
    });
  }
  if (id.startsWith('agt_')) {
    const agent = await desk.perform(admission, 'readAgent', { input: { agent_id: id } });
    if (!agent.ok) return agent;
    const { name, pending } = agent.value;
    return done({
      title: pending?.name ?? name,
      name: 'Access of an agent',
      main: agentMain(agent.value),
      forms: agentForms(agent.value),
      hasTexts: false,
    });
  }
  if (!id.startsWith('hnd_')) return NO_RECORD;
  const deal = await desk.perform(admission, 'readRfq', { input: { handoff_id: id } });
  if (!deal.ok) return deal;
  return done({
    title: deal.value.title,
    name: deal.value.reference,
    main: dealMain(deal.value),
    history: dealHistory(deal.value),
    forms: dealForms(deal.value, form, now()),
    hasTexts: true,
  });
};

const NO_RECORD = refuse(
  'resource_not_found',
  'There is no record of this address. Search for its reference or its company.',
);

const recordPage = (
  person: SignedIn,
  shown: Shown,
  { plan, form, query, id }: { plan: Plan; form: FormState; query: Typed; id: string },
): Page => {
  const { done: _done, proposed: _proposed, ...filters } = query;
  const at = { path: `/desk/r/${id}`, query: hrefWith('', filters), state: form };
  const forms = [...shown.forms, ...planForms(plan, person, shown.hasTexts)];
  return {
    title: shown.title,
    you: person.you,
    isWide: true,
    script: 'desk.js',
    main: html`<header class="head"><p class="eyebrow"><span class="screen"><a href="${hrefWith('/desk', filters)}" data-inbox>Inbox</a> · </span>
<span class="sku">${shown.name}</span><span class="screen"> · <a href="${hrefWith('/desk/next', { ...filters, of: id })}" data-next>Next record</a></span></p>
<h1><bdi>${shown.title}</bdi></h1><p class="jump"><a href="#acts">What you can do</a></p></header>
${outcomeNotice(form)}
<div class="beside"><div>${shown.main}${planOf(plan)}${shown.history}</div>
<aside id="acts" aria-label="What you can do"><h2>What you can do</h2>
${forms.map((one) => actForm(person.you, at, one))}
<p class="quiet keys">Keys: <kbd>a</kbd> acts, <kbd>n</kbd> next record, <kbd>i</kbd> inbox.</p></aside></div>`,
  };
};

/** Serves `/desk/r/ID`. */
export const recordRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  await acceptPeople(scope, app);
  serveActs(scope, app, {
    path: '/desk/r/:id',
    acts: ACTS,
    async show({ person, params, query }, form) {
      const { id = '' } = params;
      const shown = await readShown(app, person.admission, { id, form });
      if (!shown.ok) return shown;
      const input = { record_id: id };
      const plan = await app.desk.perform(person.admission, 'readPlan', { input });
      return plan.ok
        ? done(recordPage(person, shown.value, { plan: plan.value, form, query, id }))
        : plan;
    },
  });
};
