import type { HandoffState } from './handoff-state.decider.ts';
import type { Append } from '#src/ports/event-log.ts';
import { mailToOwner } from '#src/owners/owner-notices.ts';
import { noticeOfRfq, queueMail } from '#src/sending/queue-mail.ts';
import type { Deps } from '#src/calls/call.ts';
import type { Call } from '#src/shared/call.ts';
import { contactOf } from './contact-subject.ts';
import { confirmationTokenOf, requestPath } from '#src/shared/review-token.ts';

type NoticeDeps = Pick<Deps, 'log' | 'ids' | 'vault' | 'secrets' | 'staffMail'>;

/**
 * Makes the appends of the messages about an RFQ that is confirmed now: to staff, to the owner, and the buyer's receipt.
 * Without a readable contact there is no receipt.
 */
export const noticesOfConfirmed = async (
  deps: NoticeDeps,
  call: Call,
  state: HandoffState,
): Promise<Append[]> => {
  const { handoff_id, totals, rfq, rfqs_sent: number = 0 } = state;
  const facts = { handoff_id, lines: state.lines.length, totals };
  const toStaff = await noticeOfRfq(deps, call, facts);
  const toOwner = await mailToOwner(deps, call, {
    kind: 'rfq_confirmed',
    record: handoff_id,
    facts,
  });
  const contact = await contactOf(deps, rfq);
  if (!contact || rfq?.contact_subject === undefined) return [...toStaff, ...toOwner];
  const token = confirmationTokenOf(deps.secrets, { handoffId: handoff_id, number });
  const toBuyer = await queueMail(deps, call, {
    kind: 'rfq_receipt',
    sealedFor: rfq.contact_subject,
    record: handoff_id,
    to: contact.email,
    facts: { ...facts, path: requestPath(token) },
  });
  return [...toStaff, ...toOwner, ...toBuyer];
};
