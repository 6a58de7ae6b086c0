import type { Append } from '#src/ports/event-log.ts';
import type { Call } from '../pipeline/call.ts';
import type { Deps } from '../pipeline/deps.ts';
import type { MailFacts, MailKind } from './mail-kinds.ts';
import { type Letter, queueMail } from './queue-mail.ts';

/** The subject for which the mailbox of staff is sealed. */
const STAFF_SUBJECT = 'mbx_staff';

/** Makes the append of a message to staff; empty if they have no mailbox. */
export const mailToStaff = async <Kind extends MailKind>(
  deps: Pick<Deps, 'ids' | 'vault' | 'staffMail'>,
  call: Call,
  letter: Omit<Letter<Kind>, 'to' | 'sealedFor'>,
): Promise<Append[]> =>
  deps.staffMail === undefined
    ? []
    : queueMail<Kind>(deps, call, { ...letter, sealedFor: STAFF_SUBJECT, to: deps.staffMail });

/** Makes the append of the notice to staff that a buyer sent an RFQ. */
export const noticeOfRfq = (
  deps: Pick<Deps, 'ids' | 'vault' | 'staffMail'>,
  call: Call,
  rfq: Omit<MailFacts['rfq_notice'], 'owner_id'>,
): Promise<Append[]> =>
  mailToStaff(deps, call, {
    kind: 'rfq_notice',
    record: rfq.handoff_id,
    facts: { ...rfq, owner_id: call.ownerId },
  });
