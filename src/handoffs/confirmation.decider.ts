/** The confirmation of an RFQ by the holder of its mailbox, and its end without one. */
import type { EventOf, RfqEventType } from '#contracts/registries/events.ts';
import { accept, type Decision, reject } from '#src/shared/decider.ts';
import type { HandoffState } from './handoff-state.decider.ts';
import { isRfqOutcome, isUnconfirmed } from './rfq-state.decider.ts';

type RfqEvent = EventOf<RfqEventType>;

/** The reason of a withdrawal, as staff see it. */
const WITHDRAWN_BY_BUYER = 'withdrawn_by_buyer';

/** `number` is that of the sending whose link was opened; `listRevision` is the list that its page showed. */
export type ConfirmationCommand =
  | { type: 'ConfirmByStaff'; sealedReason: string }
  | { type: 'ConfirmRfq'; at: number; number: number; listRevision: number }
  | { type: 'DisownRfq'; at: number; number: number }
  | { type: 'WithdrawRfq'; at: number; number: number }
  | { type: 'ExpireConfirmation'; at: number };

export const isConfirmationCommand = (command: { type: string }): command is ConfirmationCommand =>
  command.type === 'ConfirmByStaff' ||
  command.type === 'ConfirmRfq' ||
  command.type === 'DisownRfq' ||
  command.type === 'WithdrawRfq' ||
  command.type === 'ExpireConfirmation';

export type ConfirmationRejection =
  | 'rfq_unsent'
  | 'rfq_move_not_allowed'
  | 'link_replaced'
  | 'confirmation_over'
  | 'list_changed';

type DroppedReference = Omit<
  Extract<RfqEvent, { type: 'RfqDropped' }>['data'],
  'contact_subject' | 'reason'
>;
type ConfirmationDecision = Decision<RfqEvent, ConfirmationRejection>;

export const dropRfq = (
  { rfq }: HandoffState,
  reference: DroppedReference,
  reason: Extract<RfqEvent, { type: 'RfqDropped' }>['data']['reason'],
): RfqEvent[] =>
  rfq?.confirmation
    ? [{ type: 'RfqDropped', data: { ...reference, ...subjectOf(rfq), reason } }]
    : [];

const subjectOf = ({ contact_subject = '' }: NonNullable<HandoffState['rfq']>) => ({
  contact_subject,
});

const confirmed = ({ totals, rfq }: HandoffState, reference: DroppedReference) => ({
  ...reference,
  totals,
  submitted_at: rfq?.submitted_at ?? 0,
});

/** Decides on a confirmation, on what the holder of the mailbox does otherwise, and on the end of the time for it. */
export const decideConfirmation = (
  state: HandoffState,
  command: ConfirmationCommand,
  reference: DroppedReference,
): ConfirmationDecision => {
  const { rfq } = state;
  if (command.type === 'ExpireConfirmation')
    return rfq?.confirmation && command.at >= rfq.confirmation.until
      ? accept({ type: 'RfqConfirmationExpired', data: { ...reference, ...subjectOf(rfq) } })
      : accept();
  if (command.type === 'ConfirmByStaff')
    return confirmByStaff(state, command.sealedReason, reference);
  const { at, number } = command;
  if (number !== state.rfqs_sent)
    return reject('link_replaced', 'the list was sent again, with another link');
  if (command.type === 'DisownRfq')
    return rfq?.confirmation || !rfq
      ? accept(...dropRfq(state, reference, 'disowned'))
      : reject('confirmation_over', `the RFQ is ${rfq.state}`);
  if (command.type === 'WithdrawRfq') return withdraw(state, reference);
  if (rfq && !rfq.confirmation) return accept();
  if (!isUnconfirmed(rfq, at))
    return reject('confirmation_over', 'the request was not confirmed in time, or has ended');
  return command.listRevision === state.list_revision
    ? accept({ type: 'RfqConfirmedByBuyer', data: confirmed(state, reference) })
    : reject('list_changed', `the list is now at revision ${state.list_revision}`);
};

const confirmByStaff = (
  state: HandoffState,
  sealed_reason: string,
  reference: DroppedReference,
): ConfirmationDecision => {
  const { rfq } = state;
  if (!rfq) return reject('rfq_unsent', 'the buyer has sent no RFQ of this handoff');
  if (rfq.confirmation)
    return accept({
      type: 'RfqConfirmedByStaff',
      data: { ...confirmed(state, reference), sealed_reason },
    });
  return rfq.state === 'confirmed'
    ? accept()
    : reject('rfq_move_not_allowed', `an RFQ that is ${rfq.state} cannot become confirmed`);
};

/** By the buyer; without the limits of what staff may do. */
const withdraw = ({ rfq }: HandoffState, reference: DroppedReference): ConfirmationDecision => {
  if (!rfq || rfq.confirmation)
    return reject('confirmation_over', 'there is no confirmed request to withdraw');
  if (rfq.state === 'withdrawn') return accept();
  return isRfqOutcome(rfq.state)
    ? reject('rfq_move_not_allowed', `the RFQ is ${rfq.state}`)
    : accept({ type: 'RfqWithdrawn', data: { ...reference, reason: WITHDRAWN_BY_BUYER } });
};
