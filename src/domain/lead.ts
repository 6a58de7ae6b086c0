import type { EventData, EventOf, LeadEventType } from '#contracts/events/index.ts';
import { accept, type Decider, later, reject } from './decider.ts';
import type { LeadContent, LeadSource } from './lead-amendment.ts';
import { amended, amendment, isSettled, OPTIONAL } from './lead-amendment.ts';
import type { LeadState, LeadStatus, StaffMove } from './lead-state.ts';
import { erased, OWN_REASONS } from './lead-words.ts';

type Event = EventOf<LeadEventType>;

export type LeadCommand =
  | { type: 'SubmitLead'; lead: EventData<'LeadSubmitted'>; clash: 'none' | 'known' | 'own' }
  | { type: 'AmendLead'; at: number; content: LeadContent; from: LeadSource }
  | { type: 'WithdrawLead'; at: number; sealedReason?: string }
  | {
      type: 'MoveLead';
      at: number;
      to: StaffMove;
      sealedReason?: string;
      value?: { amount: number; currency: string };
    }
  | { type: 'ObserveRfq'; at: number }
  | { type: 'EraseSubject'; subject: string; reason: string };

export type LeadRejection =
  | 'lead_exists'
  | 'lead_unknown'
  | 'lead_closed'
  | 'source_fixed'
  | 'move_not_allowed';

/** Which moves lead where: facts of the business, who makes them stands in the commands. */
const MOVES: Record<StaffMove, readonly LeadStatus[]> = {
  accepted: ['submitted'],
  rejected: ['submitted'],
  duplicate: ['submitted'],
  contacted: ['accepted'],
  qualified: ['contacted'],
  unqualified: ['contacted'],
  won: ['rfq_submitted'],
  lost: ['rfq_submitted'],
};

const WITHDRAWABLE: readonly LeadStatus[] = ['submitted', 'accepted', 'contacted', 'qualified'];
const AMENDABLE: readonly LeadStatus[] = ['submitted', 'accepted'];

/** The state as of `at`: a claim that nobody took up in time has lapsed. */
export const stateAt = (state: LeadState, at: number): LeadStatus =>
  AMENDABLE.includes(state.state) && at >= state.claim_expires_at ? 'lapsed' : state.state;

const isAmendable = (state: LeadState, at: number): boolean =>
  !state.erased && AMENDABLE.includes(stateAt(state, at));

export const lead: Decider<LeadState, LeadCommand, Event, LeadRejection> = {
  evolve(state, event) {
    if (event.type === 'LeadSubmitted') {
      return {
        ...event.data,
        state: 'submitted',
        erased: false,
        created_at: event.at,
        updated_at: event.at,
        version: 0,
      };
    }
    if (!state) throw new Error(`${event.type} on a lead that was never submitted`);
    return withoutGone({
      ...state,
      ...changed(state, event),
      updated_at: later(state.updated_at, event.at),
      version: state.version + 1,
    });
  },

  decide(state, command) {
    if (command.type === 'SubmitLead') {
      if (state) return reject('lead_exists', `lead ${state.lead_id} exists`);
      const submitted: Event = { type: 'LeadSubmitted', data: command.lead };
      const { lead_id, agent_id, dims } = command.lead;
      const named = { lead_id, agent_id, dims };
      // The promoter learns that the contact is taken, and nothing of whose it is.
      if (command.clash === 'known')
        return accept<Event>(submitted, {
          type: 'LeadRejected',
          data: { ...named, reason: OWN_REASONS.known },
        });
      if (command.clash === 'own')
        return accept<Event>(submitted, {
          type: 'LeadMarkedDuplicate',
          data: { ...named, reason: OWN_REASONS.own },
        });
      return accept(submitted);
    }
    if (!state) return reject('lead_unknown', 'no such lead');
    if (command.type === 'EraseSubject') {
      const { subject, reason } = command;
      return state.erased ? accept() : accept({ type: 'SubjectErased', data: { subject, reason } });
    }
    const now = stateAt(state, command.at);
    const { lead_id, agent_id, dims, link_id, handoff_id } = state;
    const named = {
      lead_id,
      agent_id,
      dims,
      ...(link_id && { link_id }),
      ...(handoff_id && { handoff_id }),
    };
    switch (command.type) {
      case 'AmendLead': {
        const { content, from } = command;
        if (!isAmendable(state, command.at))
          return reject(
            'lead_closed',
            `the lead is ${now}; it can be amended while submitted or accepted. What is new needs ` +
              'an external_id of its own',
          );
        return isSettled(state, from)
          ? reject('source_fixed', `came through its ${state.source.kind}, and stays so`)
          : accept({ type: 'LeadAmended', data: amendment(state, content, from) });
      }
      case 'WithdrawLead': {
        if (now === 'withdrawn') return accept();
        const { sealedReason: sealed_reason } = command;
        return WITHDRAWABLE.includes(now)
          ? accept({
              type: 'LeadWithdrawn',
              data: { ...named, ...(sealed_reason && { sealed_reason }) },
            })
          : reject('lead_closed', `the lead is ${now} and cannot be withdrawn`);
      }
      case 'MoveLead': {
        if (now === command.to) return accept();
        if (!MOVES[command.to].includes(now))
          return reject('move_not_allowed', `a lead that is ${now} cannot become ${command.to}`);
        const { sealedReason: sealed_reason, to, value } = command;
        return accept(moveEvent(to, { ...named, ...(sealed_reason && { sealed_reason }) }, value));
      }
      case 'ObserveRfq':
        return ['accepted', 'contacted', 'qualified'].includes(now)
          ? accept({ type: 'LeadRfqObserved', data: named })
          : accept();
    }
  },
};

const moveEvent = (
  to: StaffMove,
  data: EventData<'LeadAccepted'>,
  value: { amount: number; currency: string } | undefined,
): Event => {
  switch (to) {
    case 'accepted':
      return { type: 'LeadAccepted', data };
    case 'rejected':
      return { type: 'LeadRejected', data };
    case 'duplicate':
      return { type: 'LeadMarkedDuplicate', data };
    case 'contacted':
      return { type: 'LeadContacted', data };
    case 'qualified':
      return { type: 'LeadQualified', data };
    case 'unqualified':
      return { type: 'LeadUnqualified', data };
    case 'won':
      return { type: 'LeadWon', data: { ...data, ...(value && { value }) } };
    case 'lost':
      return { type: 'LeadLost', data };
  }
};

/** The state that each event of a lead leaves behind; the others leave it as it is. */
const STATE_AFTER: Partial<Record<LeadEventType, LeadState['state']>> = {
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

type Why = Pick<EventData<'LeadAccepted'>, 'reason' | 'sealed_reason'>;

/** What an event changes of a lead that exists; undefined is what it takes away. */
const changed = (state: LeadState, event: Event): Partial<LeadState> => {
  if (event.type === 'LeadSubmitted') throw new Error('a lead was submitted twice');
  if (event.type === 'LeadAmended') return amended(event.data);
  if (event.type === 'SubjectErased') return erased(state);
  const { reason, sealed_reason }: Why = state.erased ? {} : event.data;
  return {
    state: STATE_AFTER[event.type] ?? state.state,
    state_reason: reason,
    sealed_reason,
    ...(event.type === 'LeadWon' && event.data.value && { value: event.data.value }),
  };
};

/** Deleted, not undefined: a row has its members in one order, whether it has been in a store or not. */
const withoutGone = (state: LeadState): LeadState => {
  for (const member of [...OPTIONAL, 'state_reason', 'sealed_reason'] as const)
    if (member in state && state[member] === undefined) delete state[member];
  return state;
};
