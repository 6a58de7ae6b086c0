/** The mailed link that confirms the mailbox of an owner's profile. A later profile voids it. */
import { LIMITS } from '#contracts/limits.ts';
import type { Append } from '#src/ports/event-log.ts';
import { linkToken } from '#src/sending/mailed-link.ts';
import { queueMail } from '#src/sending/queue-mail.ts';
import type { Deps } from '#src/calls/call.ts';
import type { Call } from '#src/shared/call.ts';
import { DAY_MS } from '#src/shared/time.ts';

/** How long the link works after the profile was set. */
export const MAILED_LINK_MS = LIMITS.MAILED_LINK_DAYS * DAY_MS;

export const mailboxPath = (token: string): string => `/mailbox/${token}`;

/** What the link to the profile with the subject `sealedFor` is about. */
export const aboutMailbox = (ownerId: string, sealedFor: string) => ({
  subject: ownerId,
  version: sealedFor,
});

/** Makes the append of the message with the link for a profile that the call sets for its owner. */
export const mailMailboxLink = (
  deps: Pick<Deps, 'ids' | 'vault' | 'secrets'>,
  call: Call,
  { sealedFor, to }: { sealedFor: string; to: string },
): Promise<Append[]> => {
  const token = linkToken(deps.secrets, aboutMailbox(call.ownerId, sealedFor));
  const facts = { path: mailboxPath(token), until: call.at + MAILED_LINK_MS };
  return queueMail(deps, call, { kind: 'owner_mailbox', sealedFor, to, facts });
};
