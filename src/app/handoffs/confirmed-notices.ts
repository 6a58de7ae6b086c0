import type { BuyerContact } from '#contracts/buyer/index.ts';
import type { HandoffState } from '#src/domain/handoff-state.ts';
import type { Append } from '#src/ports/event-log.ts';
import { mailToOwner } from '../mail/owner-notices.ts';
import { queueMail } from '../mail/queue-mail.ts';
import { noticeOfRfq } from '../mail/staff-notices.ts';
import type { Call } from '../pipeline/call.ts';
import type { Deps } from '../pipeline/deps.ts';
import { confirmationTokenOf, requestPath } from './review-token.ts';

type NoticeDeps = Pick<Deps, 'log' | 'ids' | 'vault' | 'secrets' | 'staffMail'>;
type Confirmed = {
  state: HandoffState;
  number: number;
  /** Undefined if it cannot be opened: then the buyer gets no receipt. */
  contact: BuyerContact | undefined;
};

/** Makes the appends of the messages about an RFQ that is confirmed now: to staff, to the owner, and the buyer's receipt. */
export const noticesOfConfirmed = async (
  deps: NoticeDeps,
  call: Call,
  { state, number, contact }: Confirmed,
): Promise<Append[]> => {
  const { handoff_id, totals, rfq } = state;
  const facts = { handoff_id, lines: state.lines.length, totals };
  const toStaff = await noticeOfRfq(deps, call, facts);
  const toOwner = await mailToOwner(deps, call, {
    kind: 'rfq_confirmed',
    record: handoff_id,
    facts,
  });
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
