/** RFQs and handoffs as staff read and list them. */
import { type PeopleDeps, proposerOf, withPeople } from '#src/access/independence.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { type DeskHandler, mayActFor, NO_OWNER } from '#src/calls/desk-handler.ts';
import { claimOfOther } from '#src/leads/claim-contact.ts';
import { stateAt } from '#src/leads/lead.decider.ts';
import { readTiedLeads, withLeadOutcome, handoffWithOutcome } from '#src/leads/observe-rfq.ts';
import { renderSummary } from '#src/plans/plans.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import { referenceOf } from '#src/ports/reference.ts';
import {
  ALL_RFQS,
  type ConfirmedRow,
  HAS_QUESTION,
  listBy,
  NEEDS_APPROVAL,
  OPEN_RFQS,
  type RfqRow,
} from '#src/ports/rows.ts';
import { readInbox } from '#src/reading/inbox.ts';
import { pageOf } from '#src/reading/lists.ts';
import { ERASED, openTexts, shownText, WITHDRAWN, NO_TEXTS } from '#src/sealing/sealed-texts.ts';
import { suppressionInLog } from '#src/sealing/suppression.ts';
import type { Call, DeskCall } from '#src/shared/call.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { iso, renderAsOf } from '#src/shared/time.ts';
import { foldOf, streamOf } from '#src/writing/streams.ts';
import { type HandoffState, handoff } from './handoff.decider.ts';
import { evidenceOf } from './evidence.ts';
import { renderGoods } from './fulfillment.ts';
import { renderMove, renderQuotation, rfqOwner } from './move-rfq.ts';
import { type Question, questionsIn, textsOfQuotation } from './quotations.ts';
import {
  contactOf,
  readableHandoff,
  renderLine,
  readableHandoffs,
  renderHandoff,
} from './render-handoff.ts';
import { isRfqOutcome, type RfqProgress, rfqStateAt } from './rfq.decider.ts';

const NO_RFQ = refuse('resource_not_found', 'There is no RFQ of this handoff.');

/** The newest quotation with its lines and texts. */
const renderOffer = async ({ vault }: Pick<Deps, 'vault'>, rfq: Sent['rfq']) => {
  const { quotation } = rfq;
  const named = renderQuotation(rfq);
  if (!quotation || !named) return undefined;
  const { terms, reasons = {} } = await textsOfQuotation(vault, quotation);
  const reasonOf = (id: string) => present({ reason: reasons[id] });
  return {
    ...named,
    lines: quotation.lines.map(({ line_id, replaces, unit_price: amount, currency, ...line }) => ({
      line_id,
      product_id: line.product_id,
      sku: line.sku,
      title: line.title,
      quantity: line.quantity,
      unit_price: { amount, currency },
      ...(replaces && { replaces: { sku: replaces.sku, title: replaces.title } }),
      ...reasonOf(line_id),
    })),
    left_out: quotation.left_out.map(({ line_id }) => ({ line_id, ...reasonOf(line_id) })),
    charges: quotation.charges,
    ...present({ terms }),
  };
};

const renderQuestion = ({ number, quotation, asked_at, question, answer }: Question) => ({
  number,
  quotation,
  asked_at: iso(asked_at),
  question,
  ...present({ answer }),
});

/** Reads an RFQ for the staff who answer it. No other operation opens the contact of a buyer. */
export const readRfq: DeskHandler<'readRfq', PeopleDeps> = async (deps, input, call) => {
  const { handoff_id } = input;
  const owner_id = await rfqOwner(deps, call, input);
  if (owner_id === undefined) return NO_RFQ;
  const stored = await deps.log.readStream(streamOf(owner_id, 'handoff', handoff_id));
  const state = foldOf(handoff, stored);
  if (!state?.rfq) return NO_RFQ;
  const { rfq } = state;
  const contact = await contactOf(deps, rfq);
  const { lines } = await readableHandoff(deps, state);
  return done({
    handoff_id,
    reference: referenceOf(handoff_id),
    owner_id,
    agent_id: state.agent_id,
    ...present({ agent_name: deps.credentials.agent(state.agent_id)?.name }),
    title: state.title,
    named_buyer: present({ company: state.buyer.company, country: state.buyer.country }),
    submitted_at: iso(rfq.submitted_at),
    contact: await shownContact(deps, owner_id, contact),
    list_revision: state.list_revision,
    line_items: lines.map(renderLine),
    indicative_totals: state.totals,
    ...(await progressOf(deps, { ...call, ownerId: owner_id }, { state, rfq, stored, contact })),
    evidence: await evidenceOf(deps, {
      ownerId: owner_id,
      handoffId: handoff_id,
      rfq,
      at: call.at,
    }),
    same_mailbox: await sameMailbox(deps, call, { handoff_id, rfq }),
    history: await historyOf(deps, stored),
  });
};

/** Lists of the same mailbox that are shown. */
const SAME_MAILBOX_MAX = 20;

/** The other lists that the mailbox of an RFQ confirmed, of owners for whom the caller may act. */
const sameMailbox = async (
  { readModels }: Pick<Deps, 'readModels'>,
  call: DeskCall,
  { handoff_id, rfq }: { handoff_id: string; rfq: RfqProgress },
) => {
  const query = { scope: rfq.seen.mailbox, limit: SAME_MAILBOX_MAX };
  const rows = await readModels.list<ConfirmedRow>('confirmed-lists', query);
  return rows.flatMap(({ row }) =>
    row.handoff_id !== handoff_id && mayActFor(call, row.owner)
      ? [{ handoff_id: row.handoff_id, owner_id: row.owner, confirmed_at: iso(row.at) }]
      : [],
  );
};

/** Events that the history of a record shows. */
const HISTORY_MAX = 100;

/** The newest events of a record with the people who caused them. */
const historyOf = async (deps: PeopleDeps, stored: readonly StoredEvent[]) => {
  const events = stored
    .slice(-HISTORY_MAX)
    .map(({ type, meta: { at, actor } }) => ({ type, at: iso(at), actor }));
  return (await withPeople(deps, events)).map(({ type, at, actor, actor_name }) => ({
    type,
    at,
    by: actor,
    ...present({ by_name: actor_name }),
  }));
};

type OpenedContact = Awaited<ReturnType<typeof contactOf>>;

/** The contact, or why it is not shown. */
const shownContact = async (deps: Deps, ownerId: string, contact: OpenedContact) => {
  if (typeof contact !== 'object') return contact ?? ERASED;
  const since = await suppressionInLog(deps)(ownerId, contact.email);
  return since === undefined ? contact : WITHDRAWN;
};

type Sent = {
  state: HandoffState;
  rfq: NonNullable<HandoffState['rfq']>;
  stored: readonly StoredEvent[];
  contact: OpenedContact;
};

/** What staff did with the RFQ, and whom it concerns besides. */
const progressOf = async (
  deps: PeopleDeps,
  call: DeskCall & Call,
  { state: { handoff_id, goods }, rfq, stored, contact }: Sent,
) => {
  const tied = await readTiedLeads(deps, call.ownerId, handoff_id);
  const shown = withLeadOutcome(rfq, tied);
  const opened = await openTexts(deps.vault, [
    rfq.sealed_reason ?? '',
    rfq.proposed?.sealed_reason ?? '',
  ]);
  const textOf = (sealed: string | undefined): string | undefined =>
    sealed === undefined ? undefined : shownText(opened(sealed));
  const holder =
    typeof contact === 'object' ? await claimOfOther(deps, call, contact.email) : undefined;
  return {
    state: rfqStateAt(shown, call.at),
    ...present({
      confirmed_by: rfq.confirmed_by,
      confirmation_ends_at: rfq.confirmation && iso(rfq.confirmation.until),
      reason: textOf(rfq.sealed_reason) ?? rfq.reason,
      quotation: await renderOffer(deps, rfq),
      won_value: shown.values,
      goods: goods && (await renderGoods(deps, goods)),
      won_with: rfq.won_with && { number: rfq.won_with.number, agreed: rfq.won_with.agreed },
      alone: rfq.alone,
      proposed: rfq.proposed && {
        number: rfq.proposed.number,
        ...renderMove(rfq.proposed),
        ...present({ reason: textOf(rfq.proposed.sealed_reason) }),
        ...(await proposerOf(deps, stored, ['RfqMoveProposed'])),
      },
      // A token of one promoter does not learn of another.
      claimed_by:
        holder && mayActFor(call, holder.owner_id)
          ? { owner_id: holder.owner_id, lead_id: holder.lead_id }
          : undefined,
    }),
    questions: (await questionsIn(deps.vault, stored)).map(renderQuestion),
    leads: tied.map((lead) => ({
      lead_id: lead.lead_id,
      agent_id: lead.agent_id,
      state: stateAt(lead, call.at),
    })),
  };
};

const NO_CURRENCY = refuse('parameter_invalid', 'An amount can be compared in one currency only.', {
  errors: [{ pointer: '/currency', code: 'required', detail: 'is required with min_amount' }],
});

/** The list that contains the RFQs in a state. No event makes a quotation expire. */
const listOf = (state: string): string =>
  state === 'open' ? OPEN_RFQS : listBy({ state: state === 'expired' ? 'quoted' : state });

export const listRfqs: DeskHandler<'listRfqs'> = async (deps, input, call) => {
  const { currency, min_amount: least = 0, state } = input;
  if (currency === undefined && input.min_amount !== undefined) return NO_CURRENCY;
  const stateOf = ({ rfq, won_by }: RfqRow<RfqProgress>) =>
    won_by ? 'won' : rfqStateAt(rfq, call.at);
  const { rows, ...next } = await readInbox<RfqRow<RfqProgress>>(deps.readModels, call, {
    name: 'rfqs',
    scope: ALL_RFQS,
    input,
    ...(input.needs_approval && { ranges: [{ list: NEEDS_APPROVAL }] }),
    ...(input.has_question && { ranges: [{ list: HAS_QUESTION }] }),
    ...(state !== undefined && { ranges: [{ list: listOf(state) }] }),
    ...(input.goods !== undefined && { ranges: [{ list: listBy({ goods: input.goods }) }] }),
    agentOf: ({ agent_id }) => agent_id,
    beganAt: ({ submitted_at }) => submitted_at,
    isMatch: (row) =>
      (input.needs_approval === undefined ||
        input.needs_approval === (row.rfq.proposed !== undefined)) &&
      (input.has_question === undefined ||
        input.has_question === (row.rfq.open_questions !== undefined)) &&
      (state === undefined ||
        (state === 'open' ? !isRfqOutcome(stateOf(row)) : stateOf(row) === state)) &&
      (input.goods === undefined || input.goods === row.goods) &&
      (currency === undefined ||
        row.totals.some((total) => total.currency === currency && total.amount >= least)),
  });
  // Each row reads one page of the index of mailboxes.
  const evidence = await Promise.all(
    rows.map(({ owner: ownerId, handoff_id: handoffId, rfq }) =>
      evidenceOf(deps, { ownerId, handoffId, rfq, at: call.at }),
    ),
  );
  const lists = await Promise.all(
    rows.map(({ owner, handoff_id: id }) =>
      deps.readModels.get<HandoffState>('handoffs', owner, id),
    ),
  );
  const data = rows.map((row, index) => ({
    handoff_id: row.handoff_id,
    owner_id: row.owner,
    agent_id: row.agent_id,
    ...present({ title: lists[index]?.title, company: lists[index]?.buyer.company }),
    submitted_at: iso(row.submitted_at),
    indicative_totals: row.totals,
    state: stateOf(row),
    evidence: evidence[index] ?? [],
    ...present({
      quotation: renderQuotation(row.rfq),
      open_questions: row.rfq.open_questions?.length,
      won_value: row.won_by?.values ?? row.rfq.values,
      goods: row.goods,
      needs_approval: row.rfq.proposed && (true as const),
    }),
    ...renderSummary(call, row.plan),
  }));
  return done({ data, ...next, as_of: renderAsOf(deps.following.asOf()) });
};

const WITHOUT_BUYER = { opened: NO_TEXTS, reviewToken: () => '' };

/** A handoff without personal data, because nobody needs it to see a status. */
const renderDeskHandoff = (state: HandoffState, view: { ownerId: string; at: number }) => {
  const handoff = renderHandoff(state, view, WITHOUT_BUYER);
  const { review_url: _omitted, line_items, buyer, ...shown } = handoff;
  const { email: _personal, ...company } = buyer;
  return {
    ...shown,
    buyer: company,
    lines: line_items.length,
    ...present({ made_by_buyer: state.made_by_buyer }),
  };
};

/** One handoff as the list shows it. */
export const showDeskHandoff = async (
  deps: Deps,
  { sealed_line_notes: _unread, ...state }: HandoffState,
  view: { ownerId: string; at: number },
) => {
  const listed = await handoffWithOutcome(deps, view.ownerId, state);
  const [readable] = await readableHandoffs(deps, [listed]);
  return renderDeskHandoff(readable ?? listed, view);
};

export const listHandoffs: DeskHandler<'listHandoffs'> = async (deps, input, call) => {
  if (!mayActFor(call, input.owner_id)) return NO_OWNER;
  const { rows, next_before } = await pageOf<HandoffState>(deps.readModels, 'handoffs', {
    ...input,
    scope: input.owner_id,
  });
  // The list shows only the number of lines: their sealed notes are not opened.
  const listed = await Promise.all(
    rows.map(({ sealed_line_notes: _unread, ...row }) =>
      handoffWithOutcome(deps, input.owner_id, row),
    ),
  );
  const view = { ownerId: input.owner_id, at: call.at };
  const data = (await readableHandoffs(deps, listed)).map((row) => renderDeskHandoff(row, view));
  return done({ data, next_before, as_of: renderAsOf(deps.following.asOf()) });
};
