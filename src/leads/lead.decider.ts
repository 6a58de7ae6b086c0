import type { EventData, EventOf, Happened, LeadEventType } from '#contracts/registries/events.ts';
import {
  accept,
  type Decider,
  type Decision,
  firstVersion,
  nextVersion,
  reject,
} from '#src/shared/decider.ts';
import {
  amendedMembers,
  amendmentOf,
  isSourceFixed,
  isUnchanged,
  type LeadContent,
  type LeadKeys,
  type LeadSource,
  OPTIONAL_MEMBERS,
} from './lead-amendment.decider.ts';
import {
  decideLeadMove,
  type LeadMoveCommand,
  type LeadMoveRejection,
} from './lead-move.decider.ts';
import { followRfq, type LeadReference, type RfqOutcomeForLead } from './lead-outcome.decider.ts';
import { foldProposal } from '#src/shared/proposal.ts';
import type { LeadMove, LeadState, LeadStatus } from './lead-state.decider.ts';
import { AUTOMATIC_REASONS, eraseLead } from './lead-texts.decider.ts';

type Event = EventOf<LeadEventType>;

export type LeadCommand =
  | { type: 'SubmitLead'; lead: EventData<'LeadSubmitted'>; clash: 'none' | 'known' | 'own' }
  | ({ type: 'AmendLead'; at: number; content: LeadContent; from: LeadSource } & LeadKeys)
  | { type: 'WithdrawLead'; at: number; sealedReason?: string }
  | LeadMoveCommand
  /** `at`: when the buyer sent the RFQ. */
  | { type: 'ObserveRfq'; at: number; outcome: RfqOutcomeForLead }
  | { type: 'EraseSubject'; subject: string; reason: string };

export type LeadRejection =
  | 'lead_exists'
  | 'lead_unknown'
  | 'lead_closed'
  | 'source_fixed'
  | LeadMoveRejection;

const WITHDRAWABLE: readonly LeadStatus[] = ['submitted', 'accepted', 'contacted', 'qualified'];
const AMENDABLE: readonly LeadStatus[] = ['submitted', 'accepted'];
/** States in which staff work on the lead, so that an RFQ of its handoff counts. */
const RFQ_OBSERVABLE: readonly LeadStatus[] = ['accepted', 'contacted', 'qualified'];

/** The state at `at`, in epoch milliseconds: a lead that nobody contacted before its claim expires has lapsed. */
export const stateAt = (state: LeadState, at: number): LeadStatus =>
  AMENDABLE.includes(state.state) && at >= state.claim_expires_at ? 'lapsed' : state.state;

export const lead: Decider<LeadState, LeadCommand, Event, LeadRejection> = {
  evolve(state, event) {
    if (event.type === 'LeadSubmitted') {
      return { ...event.data, state: 'submitted', erased: false, ...firstVersion(event.at) };
    }
    if (!state) throw new Error(`${event.type} on a lead that was never submitted`);
    if (event.type === 'LeadMoveProposed') {
      const {
        lead_id: _of,
        agent_id: _by,
        dims: _dims,
        link_id: _link,
        handoff_id: _list,
        ...move
      } = event.data;
      return { ...state, ...foldProposal<LeadMove>(state, move) };
    }
    const after = { ...state, proposed: undefined };
    // Agents see neither a proposal nor its end, so neither makes a version of the lead.
    if (event.type !== 'LeadMoveRefused')
      Object.assign(after, changesOf(state, event), nextVersion(state, event.at));
    return deleteUndefined(after);
  },

  decide(state, command) {
    if (command.type === 'SubmitLead') return submit(state, command);
    if (!state) return reject('lead_unknown', 'no such lead');
    switch (command.type) {
      case 'AmendLead':
        return amend(state, command);
      case 'WithdrawLead':
        return withdraw(state, command);
      case 'ObserveRfq':
        return observe(state, command);
      case 'EraseSubject': {
        const { type: _erase, ...data } = command;
        return state.erased ? accept() : accept({ type: 'SubjectErased', data });
      }
      default: {
        const now = stateAt(state, command.at);
        return decideLeadMove({ lead: state, now, reference: referenceTo(state) }, command);
      }
    }
  },
};

type Of<Type> = Extract<LeadCommand, { type: Type }>;
type LeadDecision = Decision<Event, LeadRejection>;

const submit = (
  state: LeadState | undefined,
  { lead: data, clash }: Of<'SubmitLead'>,
): LeadDecision => {
  if (state) return reject('lead_exists', `lead ${state.lead_id} exists`);
  const submitted: Event = { type: 'LeadSubmitted', data };
  if (clash === 'none') return accept(submitted);
  const { lead_id, agent_id, dims } = data;
  // The agent learns that another lead has the contact, and nothing about that lead.
  const judged = { lead_id, agent_id, dims, reason: AUTOMATIC_REASONS[clash] };
  return accept<Event>(submitted, {
    type: clash === 'known' ? 'LeadRejected' : 'LeadMarkedDuplicate',
    data: judged,
  });
};

const amend = (
  state: LeadState,
  { type: _amend, at, content, from, ...keys }: Of<'AmendLead'>,
): LeadDecision => {
  const now = stateAt(state, at);
  if (state.erased || !AMENDABLE.includes(now))
    return reject(
      'lead_closed',
      `the lead is ${now}; a lead can be amended while it is submitted or accepted. ` +
        'New information needs an external_id of its own',
    );
  if (isSourceFixed(state, from))
    return reject('source_fixed', `the source of this lead is a ${state.source.kind} and is fixed`);
  const data = amendmentOf(state, content, from);
  return isUnchanged(state, data)
    ? accept()
    : accept({ type: 'LeadAmended', data: { ...data, ...keys } });
};

const withdraw = (state: LeadState, { at, sealedReason }: Of<'WithdrawLead'>): LeadDecision => {
  const now = stateAt(state, at);
  if (now === 'withdrawn') return accept();
  if (!WITHDRAWABLE.includes(now))
    return reject('lead_closed', `the lead is ${now} and cannot be withdrawn`);
  const data = { ...referenceTo(state), sealed_reason: sealedReason };
  return accept({ type: 'LeadWithdrawn', data });
};

const observe = (state: LeadState, { at, outcome }: Of<'ObserveRfq'>): LeadDecision => {
  const reference = referenceTo(state);
  if (!RFQ_OBSERVABLE.includes(stateAt(state, at)))
    return accept(...followRfq(state, outcome, reference));
  const observed: LeadState = { ...state, state: 'rfq_submitted' };
  return accept(
    { type: 'LeadRfqObserved', data: reference },
    ...followRfq(observed, outcome, reference),
  );
};

const referenceTo = ({
  lead_id,
  agent_id,
  dims,
  link_id,
  handoff_id,
}: LeadState): LeadReference => ({
  lead_id,
  agent_id,
  dims,
  link_id,
  handoff_id,
});

type StateChange = Exclude<
  LeadEventType,
  'LeadSubmitted' | 'LeadAmended' | 'LeadOutcomeCorrected' | 'SubjectErased' | Proposed
>;
type Proposed = 'LeadMoveProposed' | 'LeadMoveRefused';

const STATE_AFTER: Record<StateChange, LeadState['state']> = {
  LeadAccepted: 'accepted',
  LeadRejected: 'rejected',
  LeadMarkedDuplicate: 'duplicate',
  LeadContacted: 'contacted',
  LeadQualified: 'qualified',
  LeadUnqualified: 'unqualified',
  LeadRfqObserved: 'rfq_submitted',
  LeadWon: 'won',
  LeadLost: 'lost',
  LeadWithdrawn: 'withdrawn',
};

type Reasons = Pick<EventData<'LeadAccepted'>, 'reason' | 'sealed_reason'>;

/** The members that an event sets; undefined removes a member. */
const changesOf = (
  state: LeadState,
  event: Happened<Exclude<LeadEventType, Proposed>>,
): Partial<LeadState> => {
  if (event.type === 'LeadSubmitted') throw new Error('a lead was submitted twice');
  if (event.type === 'LeadAmended') return amendedMembers(event.data);
  if (event.type === 'SubjectErased') return eraseLead(state);
  const { reason, sealed_reason }: Reasons = state.erased ? {} : event.data;
  const why = { state_reason: reason, sealed_reason };
  if (event.type === 'LeadOutcomeCorrected') {
    const { to, outcome_at, from_rfq, uncounted } = event.data;
    const hasOutcome = to.state === 'won' || to.state === 'lost';
    return {
      ...why,
      ...to,
      value: to.value,
      outcome_at: hasOutcome ? outcome_at : undefined,
      from_rfq,
      uncounted,
    };
  }
  const moved = { ...why, state: STATE_AFTER[event.type] };
  if (event.type !== 'LeadWon' && event.type !== 'LeadLost') return moved;
  const { from_rfq } = event.data;
  const ended = { ...moved, outcome_at: event.at, from_rfq };
  if (event.type === 'LeadLost') return ended;
  const { value = state.value, uncounted } = event.data;
  return { ...ended, value, uncounted };
};

const DELETED_MEMBERS = [
  ...OPTIONAL_MEMBERS,
  'state_reason',
  'sealed_reason',
  'value',
  'outcome_at',
  'from_rfq',
  'uncounted',
  'proposed',
] as const;

/** Deletes members that are undefined, as a store does, so that a row is the same with and without a store. */
const deleteUndefined = (state: LeadState): LeadState => {
  for (const member of DELETED_MEMBERS)
    if (member in state && state[member] === undefined) delete state[member];
  return state;
};
