import { mail } from './mail.decider.ts';
import { type Append, NO_STREAM } from '#src/ports/event-log.ts';
import { attribute } from '#src/writing/attribution.ts';
import type { Deps } from '#src/calls/call.ts';
import { type Call, unkeyed } from '#src/shared/call.ts';
import { streamOf } from '#src/writing/streams.ts';
import { present } from '#src/shared/present.ts';
import { MAIL_KINDS, type MailFacts, type MailKind, type SealedMail } from './mail-kinds.ts';

export const mailStream = (ownerId: string, mailId: string): string =>
  streamOf(ownerId, 'mail', mailId);

/** `sealedFor` is the subject whose erasure makes the message unreadable; `record` is what it is about. */
export type Letter<Kind extends MailKind> = SealedMail<Kind> & {
  kind: Kind;
  sealedFor: string;
  record?: string | undefined;
  /** Makes the message unique: a second append of it conflicts. Random by default. */
  mailId?: string | undefined;
};

/**
 * Makes the append that queues a message in the space of the call's owner; its caller appends it. Empty if the subject is
 * erased.
 */
export const queueMail = async <Kind extends MailKind>(
  { ids, vault }: Pick<Deps, 'ids' | 'vault'>,
  call: Call,
  letter: Letter<Kind>,
): Promise<Append[]> => {
  const { kind, sealedFor, record, to, facts } = letter;
  const sealed = await vault.seal(sealedFor, JSON.stringify({ to, facts }));
  if (sealed === null) return [];
  const { sendMs, isRepeatable } = MAIL_KINDS[kind];
  const mail_id = letter.mailId ?? `mal_${ids.uuid().replaceAll('-', '')}`;
  const message = {
    mail_id,
    kind,
    ...present({ record }),
    sealed_for: sealedFor,
    sealed_message: sealed,
    is_repeatable: isRepeatable,
    not_after: call.at + sendMs,
  };
  const decision = mail.decide(undefined, { type: 'Queue', message });
  if (!decision.accepted) throw new Error(`a new message was rejected: ${decision.detail}`);
  const events = attribute(unkeyed(call), decision.events, ids);
  return [{ stream: mailStream(call.ownerId, mail_id), expected: NO_STREAM, events }];
};

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
