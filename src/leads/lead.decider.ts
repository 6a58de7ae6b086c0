/** A lead: submission, amendments, moves of staff, and the outcome of its RFQ. */
import { LEAD_MOVES } from '#contracts/moves.ts';
import type { EventData, LeadEventType, EventOf, Happened } from '#contracts/registries/events.ts';
import {
  isSameValue,
  type RecordVersion,
  accept,
  type Decision,
  reject,
  type Decider,
  firstVersion,
  nextVersion,
  asStored,
} from '#src/shared/decider.ts';
import {
  type ApprovalRules,
  type Proposing,
  decideMove,
  decideProposal,
  isAbove,
  type Money,
  foldProposal,
} from '#src/shared/proposal.ts';

type Submitted = EventData<'LeadSubmitted'>;
type Amended = EventData<'LeadAmended'>;

/** Where a lead came from, with the dimensions to attribute it to. */
export type LeadSource = Pick<Submitted, 'source' | 'link_id' | 'handoff_id' | 'dims' | 'warnings'>;
/** The content of a lead; an amendment replaces all of it. */
export type LeadContent = Omit<Amended, 'lead_id' | 'left_out' | keyof LeadKeys | keyof LeadSource>;

/** Keyed hashes by which a lead is found. */
type LeadKeys = Pick<Amended, 'mailbox_keys' | 'hint_keys'>;

type OptionalMember = Exclude<keyof LeadContent, 'company'>;
// A record, because the compiler then reports a member that is missing here.
const IS_OPTIONAL: Record<OptionalMember, true> = {
  contact: true,
  consent: true,
  interest: true,
  metadata: true,
};

/** Members that a lead may omit, and that an amendment can remove. */
const OPTIONAL_MEMBERS = Object.keys(IS_OPTIONAL) as OptionalMember[];

/** An agent without a reference gives no information about the origin of the lead. */
const isUnspecified = ({ source }: LeadSource): boolean =>
  source.kind === 'agent' && source.ref === undefined;

/** Whether `from` contradicts the source of the lead, which is fixed once it is not the agent itself. */
const isSourceFixed = (state: LeadSource, from: LeadSource): boolean =>
  state.source.kind !== 'agent' &&
  !isUnspecified(from) &&
  (state.source.kind !== from.source.kind || state.source.ref !== from.source.ref);

/** Makes the data of the event that replaces the content, and the source if it is not fixed. */
const amendmentOf = (state: Submitted, content: LeadContent, from: LeadSource): Amended => {
  const left_out = OPTIONAL_MEMBERS.filter(
    (member) => state[member] !== undefined && content[member] === undefined,
  );
  return {
    lead_id: state.lead_id,
    ...content,
    ...(left_out.length > 0 && { left_out }),
    ...(state.source.kind === 'agent' && !isUnspecified(from) && from),
  };
};

/** The members that an amendment sets; undefined removes a member. */
const amendedMembers = ({
  left_out = [],
  source,
  dims,
  ...content
}: Amended): Partial<Submitted> => ({
  ...content,
  ...(source && dims && { source, dims }),
  ...Object.fromEntries(left_out.map((member) => [member, undefined])),
});

/** Whether the lead has all values of the amendment already. Sealed texts are compared as ciphertexts. */
const isUnchanged = (state: Submitted, data: Amended): boolean =>
  Object.entries(amendedMembers(data)).every(([member, value]) =>
    isSameValue(state[member as keyof Submitted], value),
  );

/** The event of each move by staff. */
export const MOVE_EVENTS = {
  accepted: 'LeadAccepted',
  rejected: 'LeadRejected',
  duplicate: 'LeadMarkedDuplicate',
  contacted: 'LeadContacted',
  qualified: 'LeadQualified',
  unqualified: 'LeadUnqualified',
  won: 'LeadWon',
  lost: 'LeadLost',
} as const satisfies Record<(typeof LEAD_MOVES)[keyof typeof LEAD_MOVES][number], LeadEventType>;

export type StaffMove = keyof typeof MOVE_EVENTS;

export type LeadStatus = 'submitted' | StaffMove | 'rfq_submitted' | 'withdrawn' | 'lapsed';

/** A win or a correction that another person must approve. */
type LeadMove = Pick<
  EventData<'LeadMoveProposed'>,
  'to' | 'value' | 'is_correction' | 'sealed_reason'
>;

export type LeadState = EventData<'LeadSubmitted'> &
  RecordVersion &
  Proposing<LeadMove> & {
    state: Exclude<LeadStatus, 'lapsed'>;
    state_reason?: string | undefined;
    /** Empty after an erasure, like every sealed text. */
    sealed_reason?: string | undefined;
    value?: { amount: number; currency: string } | undefined;
    /** When it got its outcome, in epoch milliseconds. */
    outcome_at?: number | undefined;
    /** It took the outcome of the RFQ of its handoff. */
    from_rfq?: true | undefined;
    /** Another lead counts for the same RFQ. */
    uncounted?: true | undefined;
    /** One person made it so where two must. */
    alone?: true | undefined;
    erased: boolean;
  };

/** Whether only an erasure or a correction can follow. The claim of a lead expires by the clock, without an event. */
export const isFinal = (state: LeadState['state']): boolean => !(state in LEAD_MOVES);

/** Whether staff can move a lead from one state to the other. */
const isMove = (from: LeadStatus, to: StaffMove): boolean =>
  from in LEAD_MOVES &&
  (LEAD_MOVES[from as keyof typeof LEAD_MOVES] as readonly string[]).includes(to);

type Event = EventOf<LeadEventType>;
type MoveDecision = Decision<Event, LeadMoveRejection>;

type LeadMoveRejection = 'move_not_allowed' | 'proposal_unknown';

type Asked = {
  value?: Money | undefined;
  sealedReason?: string | undefined;
  /** Absent when another person approves the move. */
  approval?: ApprovalRules;
};

export type LeadMoveCommand =
  | ({ type: 'MoveLead'; at: number; to: StaffMove } & Asked)
  | ({ type: 'CorrectLead'; at: number; to: 'won' | 'lost' | 'qualified' } & Asked)
  | { type: 'ApproveLeadMove'; at: number; proposal: number }
  | { type: 'RefuseLeadMove'; at: number; proposal: number; sealedReason: string };

type MoveOf<Type> = Extract<LeadMoveCommand, { type: Type }>;

/** A lead with its state now, and what each of its events contains. */
type Subject = { lead: LeadState; now: LeadStatus; reference: LeadReference };

const decideLeadMove = (subject: Subject, command: LeadMoveCommand): MoveDecision => {
  if (command.type === 'MoveLead') return move(subject, command);
  if (command.type === 'CorrectLead') return correct(subject, command);
  return decideProposal<LeadMove, Event, LeadMoveRejection>(
    subject.lead,
    command.proposal,
    ({ to, value, is_correction, sealed_reason: sealedReason }) => {
      if (command.type === 'RefuseLeadMove') {
        const data = { ...subject.reference, sealed_reason: command.sealedReason };
        return accept({ type: 'LeadMoveRefused', data });
      }
      const asked = { at: command.at, value, sealedReason };
      return is_correction
        ? correct(subject, { type: 'CorrectLead', to, ...asked })
        : move(subject, { type: 'MoveLead', to: 'won', ...asked });
    },
  );
};

const isSameMove = (one: LeadMove, other: LeadMove): boolean =>
  one.to === other.to &&
  one.is_correction === other.is_correction &&
  isSameValue(one.value, other.value);

const proposalOf = (reference: LeadReference, proposed: LeadMove): Event => ({
  type: 'LeadMoveProposed',
  data: { ...reference, ...proposed },
});

const move = (
  { lead, now, reference }: Subject,
  { to, value, sealedReason, approval }: MoveOf<'MoveLead'>,
): MoveDecision => {
  const data = { ...reference, sealed_reason: sealedReason };
  const type = MOVE_EVENTS[to];
  const proposed = { to: 'won' as const, value, sealed_reason: sealedReason };
  return decideMove<LeadMove, Event, LeadMoveRejection>(lead, {
    isRepeated: now === to,
    rejection: rejectMove(lead, now, to),
    // No buyer confirms a win without an RFQ.
    needsApproval: to === 'won' && approval !== undefined,
    approval,
    isSame: (other) => isSameMove(other, proposed),
    eventOf: (alone) =>
      type === 'LeadWon' ? { type, data: { ...data, value, alone } } : { type, data },
    proposalOf: () => proposalOf(reference, proposed),
  });
};

const rejectMove = (
  { handoff_id }: LeadState,
  now: LeadStatus,
  to: StaffMove,
): MoveDecision | undefined => {
  if (now === 'rfq_submitted')
    return reject(
      'move_not_allowed',
      `the lead follows the RFQ of ${handoff_id}: move the RFQ, and the lead takes its outcome`,
    );
  return isMove(now, to)
    ? undefined
    : reject('move_not_allowed', `a lead that is ${now} cannot become ${to}`);
};

const correct = (
  { lead, reference }: Subject,
  { to: state, value, sealedReason, approval }: MoveOf<'CorrectLead'>,
): MoveDecision => {
  if (lead.from_rfq)
    return reject(
      'move_not_allowed',
      `the lead follows the RFQ of ${lead.handoff_id}: correct that`,
    );
  const from = outcomeOf(lead);
  if (!from)
    return reject('move_not_allowed', `the lead is ${lead.state} and has no outcome to correct`);
  const to = { state, ...(value && { value }) };
  const { outcome_at = 0 } = lead;
  const sealed_reason = sealedReason;
  const proposed = { to: state, value, is_correction: true as const, sealed_reason };
  return decideMove<LeadMove, Event, LeadMoveRejection>(lead, {
    isRepeated: isSameValue(from, to),
    rejection: undefined,
    needsApproval: approval !== undefined && needsTwo(from, to, approval),
    approval,
    isSame: (other) => isSameMove(other, proposed),
    eventOf: (alone) => ({
      type: 'LeadOutcomeCorrected',
      data: { ...reference, sealed_reason, from, to, outcome_at, alone },
    }),
    proposalOf: () => proposalOf(reference, proposed),
  });
};

type Outcome = EventData<'LeadOutcomeCorrected'>['from'];

/** Whether a correction raises the outcome, makes a win of a loss, or concerns a value above the limit. */
const needsTwo = (
  from: Outcome,
  to: EventData<'LeadOutcomeCorrected'>['to'],
  { above }: ApprovalRules,
): boolean => {
  const [before, after] = [from, to].map(({ value }) => (value ? [value] : []));
  if (to.state === 'won' && (from.state !== 'won' || isAbove(after, before ?? []))) return true;
  return above !== undefined && (isAbove(before, above) || isAbove(after, above));
};

/** The outcome of a lead, which a correction can change; undefined if it has none. */
const outcomeOf = ({ state, value }: LeadState): Outcome | undefined =>
  state === 'won' || state === 'lost' ? { state, ...(value && { value }) } : undefined;

/** Reasons that the service itself gives; they contain no personal data. */
export const AUTOMATIC_REASONS = {
  known: 'already_known',
  own: 'duplicate_of_own_lead',
  won: 'rfq_won',
  lost: 'rfq_lost',
  withdrawn: 'rfq_withdrawn',
} as const;

/** Whether a lead was rejected because another promoter has the contact, or its person refuses contact. */
export const isKnownContact = ({ state_reason }: LeadState): boolean =>
  state_reason === AUTOMATIC_REASONS.known;

/** Removes every text about a person from the state. */
const eraseLead = (state: LeadState): Partial<LeadState> => ({
  erased: true,
  ...(state.sealed_reason && { sealed_reason: '' }),
  ...(state.contact && { contact: '' }),
  ...(state.interest?.note && { interest: { ...state.interest, note: '' } }),
});

/** What every event of a lead contains, so that it can be attributed without its stream. */
type LeadReference = Pick<LeadState, 'lead_id' | 'agent_id' | 'dims' | 'link_id' | 'handoff_id'>;

/** The outcome of an RFQ for one of its leads. `isCounted`: this lead is the one that counts as won. */
export type RfqOutcomeForLead =
  | { state: 'open' }
  | { state: 'won'; isCounted: boolean }
  | { state: 'lost'; reason: 'lost' | 'withdrawn' };

/** The events by which a lead follows the RFQ of its handoff. */
const followRfq = (
  lead: LeadState,
  outcome: RfqOutcomeForLead,
  reference: LeadReference,
): Event[] => {
  const reason = outcome.state === 'lost' ? AUTOMATIC_REASONS[outcome.reason] : undefined;
  const isUncounted = outcome.state === 'won' ? !outcome.isCounted : lead.uncounted === true;
  const uncounted = isUncounted ? (true as const) : undefined;
  const data = { ...reference, reason, from_rfq: true as const };
  if (lead.state === 'rfq_submitted') {
    if (outcome.state === 'open') return [];
    return outcome.state === 'won'
      ? [{ type: 'LeadWon', data: { ...data, uncounted } }]
      : [{ type: 'LeadLost', data }];
  }
  const from = outcomeOf(lead);
  const state = outcome.state === 'open' ? 'rfq_submitted' : outcome.state;
  if (!lead.from_rfq || !from || from.state === state) return [];
  const { outcome_at = 0 } = lead;
  return [
    {
      type: 'LeadOutcomeCorrected',
      data: { ...data, from, to: { state }, outcome_at, uncounted },
    },
  ];
};

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
    return asStored(after);
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
  // The agent learns that another lead holds the contact, and nothing about that lead.
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
  const now = stateAt(state, at);
  // Staff who win the RFQ of a buyer whom a lead names have accepted that lead.
  const isAcceptedNow = now === 'submitted' && outcome.state === 'won';
  if (!isAcceptedNow && !RFQ_OBSERVABLE.includes(now))
    return accept(...followRfq(state, outcome, reference));
  const observed: LeadState = { ...state, state: 'rfq_submitted' };
  const accepted = { ...reference, reason: AUTOMATIC_REASONS.won };
  return accept<Event>(
    ...(isAcceptedNow ? [{ type: 'LeadAccepted' as const, data: accepted }] : []),
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
    const { to, outcome_at, from_rfq, uncounted, alone } = event.data;
    const hasOutcome = to.state === 'won' || to.state === 'lost';
    return {
      ...why,
      ...to,
      value: to.value,
      outcome_at: hasOutcome ? outcome_at : undefined,
      from_rfq,
      uncounted,
      alone,
    };
  }
  const moved = { ...why, state: STATE_AFTER[event.type] };
  if (event.type !== 'LeadWon' && event.type !== 'LeadLost') return moved;
  const { from_rfq } = event.data;
  const ended = { ...moved, outcome_at: event.at, from_rfq };
  if (event.type === 'LeadLost') return ended;
  const { value = state.value, uncounted, alone } = event.data;
  return { ...ended, value, uncounted, alone };
};
