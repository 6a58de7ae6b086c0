/** The pages on which people decide on the outreach that agents propose. */
import type { FastifyInstance } from 'fastify';
import { html } from 'hono/html';
import type { Outbound } from '#contracts/outreach/records.ts';
import type { DeskOperations } from '#contracts/registries/desk.ts';
import type { App } from '#src/registries/app.ts';
import { HOUSE_LOCALE, momentText, writerFor } from '#src/shared/money.ts';
import { done, type Refusal } from '#src/shared/outcome.ts';
import {
  facts,
  type Faults,
  faultSummary,
  field,
  type Html,
  NO_FAULTS,
  notice,
  type Page,
  sendPage,
  type You,
} from '#src/web/layout.ts';
import {
  acceptPeople,
  answerRefusal,
  formFields,
  formOf,
  newKey,
  type SignedIn,
  signedIn,
  type Typed,
} from '#src/web/person-admission.ts';
import { KIND_NAMES, OUTREACH_WORDS } from '#src/owners/owner-words.pages.ts';
import { deciderFor } from './outbound.decider.ts';

type Shown = ReturnType<DeskOperations['showApproval']['output']['parse']>;

const DECISIONS = {
  approve: 'approved it',
  reject: 'refused it',
  request_changes: 'asked for changes',
} as const;

const listPage = (you: You, requests: readonly Outbound[]): Page => ({
  title: 'Outreach to approve',
  you,
  main: html`<article class="review"><header class="head"><h1>Outreach to approve</h1></header>
${
  requests.length === 0
    ? html`<p class="lede">Nothing waits for you. Agents propose posts, messages and notifications; what they propose appears here.</p>`
    : html`<ul class="plain">${requests.map(
        ({ id, kind, owner_id, content, schedule }) => html`<li class="card">
<h2><a href="/approvals/${id}">${KIND_NAMES[kind]} of ${owner_id}</a></h2>
<p>${content.subject ?? content.text.slice(0, 120)}</p>
<p class="quiet">Expires on ${momentText(schedule.not_after)}.</p></li>`,
      )}</ul>`
}</article>`,
});

/** Who may approve, in a sentence: the role, and that two people are two. */
const whoMay = ({ approval, owner_id, kind }: Outbound): string => {
  const isOwners = deciderFor(approval.mode) === 'owner';
  const orStaff = kind === 'handoff_delivery' ? ' or a person of staff' : '';
  const who = isOwners ? `An owner of ${owner_id}${orStaff}` : 'A person of staff';
  const several = approval.required > 1 ? ` ${approval.required} people must approve.` : '';
  const key = isOwners ? '' : ' The person who issued the key of the agent cannot.';
  return (
    `${who} decides.${several}${key} Two people are not two if one of them issued the token of the other, or invited the other ` +
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

type Form = { typed: Typed; faults: Faults; isBack: boolean };
const NO_FORM: Form = { typed: {}, faults: NO_FAULTS, isBack: false };

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

const forms = (you: You, { request, exact }: Shown, { typed, faults }: Form): Html => {
  const isDelivery = request.kind === 'handoff_delivery';
  const hidden = html`${formFields(you)}<input type="hidden" name="content_sha256" value="${exact.sha256}">`;
  const text = (name: string, label: string, hint: string, required: boolean) =>
    field({
      name,
      label,
      value: typed[name],
      autocomplete: 'off',
      maxlength: 500,
      rows: 2,
      hint,
      required,
      faults,
    });
  return html`<form method="post" action="/approvals/${request.id}/approve" class="card" novalidate><h2>Approve</h2>${hidden}
${isDelivery && text('how_asked', 'How did the buyer ask for it?', 'Stored encrypted with your decision; agents never see it.', true)}
${text('note', 'Note', 'Stored with your decision.', false)}<button type="submit">Approve exactly this</button></form>
<form method="post" action="/approvals/${request.id}/request-changes" class="card" novalidate><h2>${isDelivery ? 'Or refuse it' : 'Or send it back'}</h2>${hidden}
${text('reason', 'Reason', 'The agent reads it.', true)}${
  !isDelivery && html`<button type="submit" class="second">Ask for changes</button>\n`
}<button type="submit" class="second" formaction="/approvals/${request.id}/refuse">Refuse for good</button></form>`;
};

const approvalPage = (
  you: You,
  { agent, ...shown }: Shown & { agent: string },
  form: Form,
): Page => {
  const { request, exact, recipient_fault } = shown;
  const { kind, owner_id, schedule, status } = request;
  return {
    title: `${KIND_NAMES[kind]} of ${owner_id}`,
    you,
    main: html`<article class="review"><header class="head"><p class="eyebrow"><a href="/approvals">Outreach to approve</a></p>
<h1>${KIND_NAMES[kind]} of ${owner_id}</h1></header>
${form.isBack && notice('calm', html`<p>You are signed in. What you typed is below; nothing was done yet.</p>`)}
${faultSummary('Nothing was decided', form.faults)}
${facts([
  ['State', OUTREACH_WORDS[status]],
  ['To', targetText(request)],
  ['Proposed by', agent],
  ['Expires', momentText(schedule.not_after)],
])}
${recipient_fault !== undefined && notice('warn', html`<p>${recipient_fault}.</p>`)}
<section><h2>What would be sent</h2><pre class="exact" tabindex="0">${exact.shown}</pre>
<p>${
      exact.hidden.length === 0
        ? 'It has no invisible characters.'
        : html`<strong>${exact.hidden.length} invisible characters</strong>, written as ⟨U+…⟩ above.`
    } SHA-256 <span class="sku">${exact.sha256.slice(0, 16)}…</span>, ${exact.bytes_count} bytes.</p></section>
${deliveryFacts(shown)}
${decided(request)}
<p>${whoMay(request)}</p>
${status === 'pending_approval' && forms(you, shown, form)}</article>`,
  };
};

const BUTTONS = {
  approve: 'approveOutbound',
  'request-changes': 'requestOutboundChanges',
  refuse: 'refuseOutbound',
} as const;
type Button = keyof typeof BUTTONS;

const MESSAGES: Record<string, string> = {
  note: 'Write the note on one line, in at most 500 characters.',
  how_asked: 'Say how the buyer asked for it, on one line of at most 500 characters.',
  reason: 'Say why, on one line of at most 500 characters.',
};

/** What a refusal says beside the form; undefined if it is answered with another page. */
const faultsOf = ({ code, detail, errors = [] }: Refusal): Faults | undefined => {
  if (code === 'validation_failed')
    return new Map(
      errors.map(({ pointer }) => [pointer.slice(1), MESSAGES[pointer.slice(1)] ?? detail]),
    );
  const isOfRequest =
    code.startsWith('approv') || code === 'state_conflict' || code === 'outreach_halted';
  return isOfRequest ? new Map([['note', detail]]) : undefined;
};

const inputOf = (button: Button, id: string, form: Typed) => {
  const { key = newKey(), content_sha256 = '', note = '', reason = '', how_asked = '' } = form;
  const given = { ...(note !== '' && { note }), ...(how_asked !== '' && { how_asked }) };
  const text = button === 'approve' ? given : { reason };
  return { outbound_id: id, idempotency_key: key, content_sha256, ...text };
};

type ById = { Params: { id: string } };

/** Serves `/approvals`. */
export const approvalRoutes = async (scope: FastifyInstance, app: App): Promise<void> => {
  const { desk } = app;
  await acceptPeople(scope, app);
  /** Reads a request, with the name of its agent. */
  const show = async (admission: SignedIn['admission'], id: string) => {
    const shown = await desk.perform(admission, 'showApproval', { input: { outbound_id: id } });
    if (!shown.ok) return shown;
    const { agent_id } = shown.value.request;
    const agent = await desk.perform(admission, 'readAgent', { input: { agent_id } });
    return done({ ...shown.value, agent: agent.ok ? agent.value.name : agent_id });
  };

  scope.get('/approvals', async (request, reply) => {
    const person = await signedIn(request, reply, app);
    if (!person) return reply;
    const input = { status: 'pending_approval' };
    const listed = await desk.perform(person.admission, 'listApprovals', { input });
    return listed.ok
      ? sendPage(reply, 200, listPage(person.you, listed.value.data))
      : answerRefusal(request, reply, { app, refusal: listed });
  });

  scope.get<ById>('/approvals/:id', async (request, reply) => {
    const person = await signedIn(request, reply, app);
    if (!person) return reply;
    const shown = await show(person.admission, request.params.id);
    if (!shown.ok) return answerRefusal(request, reply, { app, refusal: shown });
    const { kept } = person;
    const form = kept ? { ...NO_FORM, typed: kept, isBack: true } : NO_FORM;
    return sendPage(reply, 200, approvalPage(person.you, shown.value, form));
  });

  for (const button of Object.keys(BUTTONS) as Button[]) {
    const path = `/approvals/:id/${button}`;
    scope.get<ById>(path, async ({ params }, reply) =>
      reply.redirect(`/approvals/${encodeURIComponent(params.id)}`, 303),
    );
    scope.post<ById>(path, { config: { isButton: true } }, async (request, reply) => {
      const person = await signedIn(request, reply, app);
      if (!person) return reply;
      const { id } = request.params;
      const form = formOf(request);
      const input = inputOf(button, id, form);
      const decision = await desk.perform(person.admission, BUTTONS[button], { input });
      if (decision.ok) return reply.redirect(`/approvals/${id}`, 303);
      const faults = faultsOf(decision);
      const shown = faults && (await show(person.admission, id));
      if (!faults || !shown?.ok) return answerRefusal(request, reply, { app, refusal: decision });
      const page = approvalPage(person.you, shown.value, { ...NO_FORM, typed: form, faults });
      return sendPage(reply, decision.code === 'validation_failed' ? 422 : 409, page);
    });
  }
};
