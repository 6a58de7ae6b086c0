import type { Append } from '#src/ports/event-log.ts';
import type { Call } from '../pipeline/call.ts';
import type { Deps } from '../pipeline/deps.ts';
import type { MailFacts } from './mail-kinds.ts';
import { queueMail } from './queue-mail.ts';

/** The subject for which the mailbox of staff is sealed. */
const STAFF_SUBJECT = 'mbx_staff';

/** Makes the append of the notice to staff that a buyer sent an RFQ; empty if staff have no mailbox. */
export const noticeOfRfq = async (
  deps: Pick<Deps, 'ids' | 'vault' | 'staffMail'>,
  call: Call,
  rfq: Omit<MailFacts['rfq_notice'], 'owner_id'>,
): Promise<Append[]> =>
  deps.staffMail === undefined
    ? []
    : queueMail(deps, call, {
        kind: 'rfq_notice',
        sealedFor: STAFF_SUBJECT,
        record: rfq.handoff_id,
        to: deps.staffMail,
        facts: { ...rfq, owner_id: call.ownerId },
      });
