import type { Append } from '#src/ports/event-log.ts';
import { confirmedMailbox } from './profile.ts';
import type { Deps } from '#src/calls/call.ts';
import type { Call } from '#src/shared/call.ts';
import type { MailKind } from '#src/sending/mail-kinds.ts';
import { type Letter, queueMail } from '#src/sending/queue-mail.ts';

/** Makes the append of a message to the call's owner; empty unless the owner has a confirmed mailbox. */
export const mailToOwner = async <Kind extends MailKind>(
  deps: Pick<Deps, 'log' | 'ids' | 'vault'>,
  call: Call,
  letter: Omit<Letter<Kind>, 'to' | 'sealedFor'>,
): Promise<Append[]> => {
  const to = await confirmedMailbox(deps, call.ownerId);
  return to
    ? queueMail<Kind>(deps, call, { ...letter, sealedFor: to.sealedFor, to: to.mailbox })
    : [];
};
