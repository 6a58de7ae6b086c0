/** Moves of a lead by staff, corrections of its outcome, and the approval of a second person. */
import type { EventData, EventOf, LeadEventType } from '#contracts/registries/events.ts';
import { accept, type Decision, reject } from '#src/shared/decider.ts';
import { isSameValue } from '#src/shared/equality.ts';
import {
  isMove,
  type LeadMove,
  type LeadState,
  type LeadStatus,
  MOVE_EVENTS,
  type StaffMove,
} from './lead-state.decider.ts';
import type { LeadReference } from './lead-outcome.decider.ts';
import { decideMove, decideProposal, isAbove, type Money } from '#src/shared/proposal.ts';

type Event = EventOf<LeadEventType>;
type MoveDecision = Decision<Event, LeadMoveRejection>;

export type LeadMoveRejection = 'move_not_allowed' | 'proposal_unknown';

/** `approvalAbove`: limits per currency, above which another person must approve; undefined if none must. */
type Asked = {
  value?: Money | undefined;
  sealedReason?: string | undefined;
  approvalAbove?: readonly Money[] | undefined;
};

export type LeadMoveCommand =
  | ({ type: 'MoveLead'; at: number; to: StaffMove } & Asked)
  | ({ type: 'CorrectLead'; at: number; to: 'won' | 'lost' | 'qualified' } & Asked)
  | { type: 'ApproveLeadMove'; at: number; proposal: number }
  | { type: 'RefuseLeadMove'; at: number; proposal: number; sealedReason: string };

type MoveOf<Type> = Extract<LeadMoveCommand, { type: Type }>;

/** A lead with its state now, and what each of its events contains. */
type Subject = { lead: LeadState; now: LeadStatus; reference: LeadReference };

export const decideLeadMove = (subject: Subject, command: LeadMoveCommand): MoveDecision => {
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
  { to, value, sealedReason, approvalAbove }: MoveOf<'MoveLead'>,
): MoveDecision => {
  const data = { ...reference, sealed_reason: sealedReason };
  const type = MOVE_EVENTS[to];
  const proposed = { to: 'won' as const, value, sealed_reason: sealedReason };
  return decideMove<LeadMove, Event, LeadMoveRejection>(lead, {
    isRepeated: now === to,
    rejection: rejectMove(lead, now, to),
    needsApproval:
      to === 'won' && approvalAbove !== undefined && isAbove(value && [value], approvalAbove),
    isSame: (other) => isSameMove(other, proposed),
    eventOf: () => (type === 'LeadWon' ? { type, data: { ...data, value } } : { type, data }),
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
  { to: state, value, sealedReason, approvalAbove }: MoveOf<'CorrectLead'>,
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
    needsApproval:
      approvalAbove !== undefined &&
      isAbove(
        [from.value, value].filter((each) => each !== undefined),
        approvalAbove,
      ),
    isSame: (other) => isSameMove(other, proposed),
    eventOf: () => ({
      type: 'LeadOutcomeCorrected',
      data: { ...reference, sealed_reason, from, to, outcome_at },
    }),
    proposalOf: () => proposalOf(reference, proposed),
  });
};

type Outcome = EventData<'LeadOutcomeCorrected'>['from'];

/** The outcome of a lead, which a correction can change; undefined if it has none. */
export const outcomeOf = ({ state, value }: LeadState): Outcome | undefined =>
  state === 'won' || state === 'lost' ? { state, ...(value && { value }) } : undefined;
