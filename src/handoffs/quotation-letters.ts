/** Letters about quotations, each with the link that only its buyer gets. */
import type { Deps } from '#src/calls/handlers.ts';
import type { Append } from '#src/ports/event-log.ts';
import { type MailFacts, mailToStaff, queueMail } from '#src/sending/mail.ts';
import type { Call } from '#src/shared/call.ts';
import { writerOf } from '#src/shared/money.ts';
import { quotationPath, quotationTokenOf } from '#src/shared/signing.ts';
import type { HandoffState } from './handoff.decider.ts';
import { contactOf } from './render-handoff.ts';

/** Makes the append of the notice to staff about what the buyer did. */
export const replyToStaff = (
  deps: Pick<Deps, 'ids' | 'vault' | 'staffMail'>,
  call: Call,
  reply: Omit<MailFacts['rfq_reply'], 'owner_id'>,
): Promise<Append[]> =>
  mailToStaff(deps, call, {
    kind: 'rfq_reply',
    record: reply.handoff_id,
    facts: { ...reply, owner_id: call.ownerId },
  });

type Kind = 'rfq_quotation' | 'rfq_quotation_void' | 'rfq_answer' | 'rfq_shipped' | 'rfq_cancelled';
type About<K extends Kind> = Omit<MailFacts[K], 'path' | 'handoff_id' | 'locale'>;

/** Makes the append of a letter about the newest quotation to its buyer; empty without a readable contact. */
export const mailToBuyer = async <K extends Kind>(
  deps: Pick<Deps, 'ids' | 'vault' | 'secrets'>,
  call: Call,
  letter: { state: HandoffState; number: number; kind: K; facts: About<K> },
): Promise<Append[]> => {
  const { state, number, kind, facts } = letter;
  const { handoff_id, rfq } = state;
  const contact = await contactOf(deps, rfq);
  if (typeof contact !== 'object' || !rfq) return [];
  const path = quotationPath(quotationTokenOf(deps.secrets, { handoffId: handoff_id, number }));
  return queueMail<K>(deps, call, {
    kind,
    sealedFor: rfq.contact_subject,
    record: handoff_id,
    to: contact.email,
    // The members of a kind are those of its facts.
    facts: {
      ...facts,
      path,
      handoff_id,
      locale: writerOf(state).locale,
    } as unknown as MailFacts[K],
  });
};
