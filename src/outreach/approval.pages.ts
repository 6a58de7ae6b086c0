/** The pages on which people decide on the outreach that agents propose. */
import type { FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import { beginningOf } from '#contracts/texts.ts';
import type { Outbound } from '#contracts/outreach/records.ts';
import type { DeskOperations } from '#contracts/registries/desk.ts';
import type { App } from '#src/registries/app.ts';
import { HOUSE_LOCALE, momentText, writerFor } from '#src/shared/money.ts';
import { done, type Outcome } from '#src/shared/outcome.ts';
import { type PageAct, serveActs } from '#src/web/acts.ts';
import { facts, type Html, notice, type Page, type You } from '#src/web/layout.ts';
import {
  type ActForm,
  actForm,
  type FormState,
  hrefWith,
  nextPage,
  outcomeNotice,
} from '#src/web/parts.ts';
import { acceptPeople, type SignedIn, type Typed } from '#src/web/person-admission.ts';
import { all, reader } from '#src/owners/owner-frame.pages.ts';
import { markOf } from '#src/owners/owner-links.pages.ts';
import { KIND_NAMES, OUTREACH_WORDS } from '#src/owners/owner-words.pages.ts';
import { deciderFor } from './outbound.decider.ts';

type Shown = ReturnType<DeskOperations['showApproval']['output']['parse']>;

const DECISIONS = {
  approve: 'approved it',
  reject: 'refused it',
  request_changes: 'asked for changes',
} as const;

const listPage = (you: You, requests: readonly Outbound[], older: string | undefined): Page => ({
  title: 'Outreach to approve',
  you,
  main: html`<article class="review"><header class="head"><h1>Outreach to approve</h1></header>
${
  requests.length === 0
    ? html`<p class="lede">Nothing waits for you. Agents propose posts, messages and notifications; what they propose appears here.</p>`
    : html`<ul class="plain">${requests.map(
        ({ id, kind, owner_id, content, schedule, status }) => html`<li class="card">
<h2><a href="/approvals/${id}">${KIND_NAMES[kind]} of ${owner_id}</a></h2>
<p>${content.subject ?? beginningOf(content.text, 120)}</p>
<p class="quiet">${
          status === 'outcome_unknown'
            ? 'Nobody knows whether it was sent: say what became of it.'
            : `Expires on ${momentText(schedule.not_after)}.`
        }</p></li>`,
      )}</ul>`
}${nextPage(older, 'Older ones')}</article>`,
});

/** Who may approve, in a sentence: the role, and that two people are two. `editor`: who wrote the present text. */
const whoMay = ({ approval, owner_id, kind }: Outbound, editor: string | undefined): string => {
  const isOwners = deciderFor(approval.mode) === 'owner';
  const orStaff = kind === 'handoff_delivery' ? ' or a person of staff' : '';
  const who = isOwners ? `An owner of ${owner_id}${orStaff}` : 'A person of staff';
  const several = approval.required > 1 ? ` ${approval.required} people must approve.` : '';
  const key = isOwners ? '' : ' The person who issued the key of the agent cannot.';
  const other = editor === undefined ? '' : ` ${editor} wrote this text, and cannot approve it.`;
  return (
    `${who} decides.${several}${key}${other} Two people are not two if one of them issued the token of the other, or invited the other ` +
    'within the last 24 hours.'
  );
};

const targetText = ({ target: { list_sha256: _ofList, ...target } }: Outbound): string =>
  Object.values(target)
    .filter((value) => value !== undefined)
    .join(', ');

const decided = ({ approval }: Outbound): Html | '' =>
  approval.decisions.length === 0
    ? ''
    : html`<section><h2>Decisions</h2><ul>${approval.decisions.map(
        ({ name, by, decision, at, note, revision }) =>
          html`<li>${name ?? by} ${DECISIONS[decision]} on ${momentText(at)}, revision ${revision}${
            note === undefined ? '' : `: ${note}`
          }</li>`,
      )}</ul></section>`;

/** Who gets the letter, and the list behind its link. */
const deliveryFacts = ({ delivery, request: { target } }: Shown): Html | '' => {
  if (!delivery) return '';
  const { recipient, title, note_to_buyer, lines, indicative_totals, how_asked } = delivery;
  const writer = writerFor(HOUSE_LOCALE);
  return html`<section><h2>Who gets it, and which list</h2>${facts([
    ['To the mailbox', recipient],
    ['List', title],
    ['Lines', writer.count(lines)],
    [
      'Indicative total',
      indicative_totals.map(({ amount, currency }) => writer.money(amount, currency)).join(' + '),
    ],
    ['SHA-256 of the list', `${target.list_sha256?.slice(0, 16)}…`],
    ...(note_to_buyer === undefined ? [] : [['Note of the agent', note_to_buyer] as const]),
    ...how_asked.map((how) => ['How the buyer asked', how] as const),
  ])}<p class="quiet">Title and note are on the page behind the link, not in the letter. The link is made when the letter is
sent: nobody sees it before the buyer does.</p></section>`;
};

const WORDS = { maxlength: 500, rows: 2 } as const;
const REASON = { name: 'reason', label: 'Reason', hint: 'The agent reads it.', required: true };

const approveForm = ({ kind }: Outbound): ActForm => ({
  name: 'approve',
  title: 'Approve',
  fields: [
    ...(kind === 'handoff_delivery'
      ? [
          {
            name: 'how_asked',
            label: 'How did the buyer ask for it?',
            hint: 'Stored encrypted with your decision; agents never see it.',
            required: true,
            ...WORDS,
          },
        ]
      : []),
    { name: 'note', label: 'Note', hint: 'Stored with your decision.', ...WORDS },
  ],
  button: 'Approve exactly this',
  isOpen: true,
});

/** The edit of a text, which is for people of the promoter: their words are sent. */
const editForm = ({ kind, content: { subject, text }, owner_id }: Outbound): ActForm => ({
  name: 'revise',
  title: 'Edit the text',
  text: `You then propose the new text, and another person approves it. If nobody else decides for ${owner_id}, ask for changes instead.`,
  fields: [
    ...(kind === 'message'
      ? [{ name: 'subject', label: 'Subject', value: subject, maxlength: 200 }]
      : []),
    { name: 'text', label: 'Text', value: text, rows: 8, maxlength: 8_000, required: true },
  ],
  button: 'Propose this text',
});

const observeForm: ActForm = {
  name: 'observe',
  title: 'Say what became of it',
  text: 'Look with the receiver first. Nothing else ends an unknown outcome, and nothing is sent again.',
  fields: [
    {
      name: 'outcome',
      label: 'Outcome',
      options: [
        ['confirmed', 'It was sent'],
        ['failed', 'It was not sent'],
      ],
    },
    {
      name: 'evidence',
      label: 'What you saw, and where',
      hint: 'The agent reads it.',
      required: true,
      ...WORDS,
    },
  ],
  button: 'Record the outcome',
  isOpen: true,
};

const refuseForms = ({ kind }: Outbound): ActForm[] => [
  ...(kind === 'handoff_delivery'
    ? []
    : [
        {
          name: 'request-changes',
          title: 'Ask for changes',
          text: 'It goes back to the agent, whose new text needs a new decision.',
          fields: [{ ...REASON, ...WORDS }],
          button: 'Ask for changes',
        },
      ]),
  {
    name: 'refuse',
    title: 'Refuse it for good',
    fields: [{ ...REASON, ...WORDS }],
    button: 'Refuse for good',
    isDangerous: true,
  },
];

/** What a person may do with a request in its state. */
const formsFor = ({ roles }: You, request: Outbound): ActForm[] => {
  const { status, kind } = request;
  const isOwner = roles.includes('owner');
  if (!isOwner && !roles.includes('staff')) return [];
  if (status === 'outcome_unknown') return [observeForm];
  const edit = isOwner && kind !== 'handoff_delivery' ? [editForm(request)] : [];
  if (status === 'pending_approval')
    return [approveForm(request), ...edit, ...refuseForms(request)];
  const cancel: ActForm = {
    name: 'cancel',
    title: 'Cancel it before it is sent',
    fields: [{ ...REASON, ...WORDS }],
    button: 'Cancel it',
    isDangerous: true,
  };
  return status === 'approved' || status === 'changes_requested' ? [...edit, cancel] : [];
};

const approvalPage = (
  you: You,
  { agent, ...shown }: Shown & { agent: string },
  state: FormState,
): Page => {
  const { request, exact, proposed, recipient_fault } = shown;
  const { id, kind, owner_id, schedule, status, revision } = request;
  const act = { path: `/approvals/${id}`, state };
  const hidden = { content_sha256: exact.sha256 };
  return {
    title: `${KIND_NAMES[kind]} of ${owner_id}`,
    you,
    main: html`<article class="review"><header class="head"><p class="eyebrow"><a href="/approvals">Outreach to approve</a></p>
<h1>${KIND_NAMES[kind]} of ${owner_id}</h1></header>
${outcomeNotice(state)}
${facts([
  ['State', OUTREACH_WORDS[status]],
  ['To', targetText(request)],
  ['Proposed by', agent],
  ...(proposed.by_name === undefined
    ? []
    : [['Edited by', `${proposed.by_name}, revision ${revision}`] as const]),
  ['Expires', momentText(schedule.not_after)],
])}
${recipient_fault !== undefined && notice('warn', html`<p>${recipient_fault}.</p>`)}
<section><h2>What would be sent</h2><pre class="exact" dir="auto" tabindex="0">${exact.shown}</pre>
<p>${
      exact.hidden.length === 0
        ? 'It has no invisible characters.'
        : html`<strong>${exact.hidden.length} invisible characters</strong>, written as ⟨U+…⟩ above.`
    } SHA-256 <span class="sku">${exact.sha256.slice(0, 16)}…</span>, ${exact.bytes_count} bytes.</p></section>
${deliveryFacts(shown)}
${decided(request)}
<p>${whoMay(request, proposed.by_name)}</p>
${formsFor(you, request).map((form) => actForm(you, act, { ...form, hidden }))}</article>`,
  };
};

const reasoned = ({ content_sha256 = '', reason = '' }: Typed, { id }: Typed) => ({
  outbound_id: id,
  content_sha256,
  reason,
});

const ACTS: Readonly<Record<string, PageAct>> = {
  approve: {
    operation: 'approveOutbound',
    input: ({ content_sha256 = '', note = '', how_asked = '' }, { id }) => ({
      outbound_id: id,
      content_sha256,
      ...(note !== '' && { note }),
      ...(how_asked !== '' && { how_asked }),
    }),
    done: 'Your approval is recorded.',
  },
  revise: {
    operation: 'reviseOutbound',
    input: ({ content_sha256 = '', subject = '', text = '' }, { id }) => ({
      outbound_id: id,
      content_sha256,
      text,
      ...(subject !== '' && { subject }),
    }),
    done: 'The new text is proposed. Another person approves it.',
  },
  'request-changes': {
    operation: 'requestOutboundChanges',
    input: reasoned,
    done: 'It is with the agent again.',
  },
  refuse: { operation: 'refuseOutbound', input: reasoned, done: 'It is refused.' },
  cancel: {
    operation: 'cancelOutbound',
    input: ({ reason = '' }, { id }) => ({ outbound_id: id, reason }),
    done: 'It is canceled.',
  },
  observe: {
    operation: 'observeOutbound',
    input: ({ outcome, evidence = '' }, { id }) => ({ outbound_id: id, outcome, evidence }),
    done: 'The outcome is recorded.',
  },
};

/** What waits for a decision, after the requests of which somebody has to say whether they were sent. */
const showWaiting = async (
  app: App,
  person: SignedIn,
  { before }: Typed,
): Promise<Outcome<Page>> => {
  const read = reader(app, person);
  const answers = await all({
    unknown: read('listApprovals', { status: 'outcome_unknown' }),
    waiting: read('listApprovals', { status: 'pending_approval', ...markOf(before) }),
  });
  if (!answers.ok) return answers;
  const { unknown, waiting } = answers.value;
  const requests = [...(before === undefined ? unknown.data : []), ...waiting.data];
  const older =
    waiting.next_before === null
      ? undefined
      : hrefWith('/approvals', { before: String(waiting.next_before) });
  return done(listPage(person.you, requests, older));
};

/** Reads a request as its page shows it. */
const showRequest = async (
  app: App,
  person: SignedIn,
  id: string,
  state: FormState,
): Promise<Outcome<Page>> => {
  const read = reader(app, person);
  const shown = await read('showApproval', { outbound_id: id });
  if (!shown.ok) return shown;
  const { agent_id } = shown.value.request;
  const agent = await read('readAgent', { agent_id });
  const name = agent.ok ? agent.value.name : agent_id;
  return done(approvalPage(person.you, { ...shown.value, agent: name }, state));
};

/** Serves `/approvals`. */
export const approvalRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  await acceptPeople(scope, app);
  serveActs(scope, app, {
    path: '/approvals',
    acts: {},
    show: ({ person, query }) => showWaiting(app, person, query),
  });
  serveActs(scope, app, {
    path: '/approvals/:id',
    acts: ACTS,
    show: ({ person, params: { id = '' } }, state) => showRequest(app, person, id, state),
  });
};
