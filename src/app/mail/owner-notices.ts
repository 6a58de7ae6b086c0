import type { Append } from '#src/ports/event-log.ts';
import { confirmedMailbox } from '../owners/profile.ts';
import type { Call } from '../pipeline/call.ts';
import type { Deps } from '../pipeline/deps.ts';
import type { MailFacts } from './mail-kinds.ts';
import { queueMail } from './queue-mail.ts';

/**
 * Makes the append of the notice to the call's owner that staff decided on a request for access; empty unless the owner
 * has a confirmed mailbox.
 */
export const noticeOfAccess = async (
  deps: Pick<Deps, 'log' | 'ids' | 'vault'>,
  call: Call,
  facts: MailFacts['access_decision'],
): Promise<Append[]> => {
  const to = await confirmedMailbox(deps, call.ownerId);
  return to
    ? queueMail(deps, call, {
        kind: 'access_decision',
        sealedFor: to.sealedFor,
        record: facts.agent_id,
        to: to.mailbox,
        facts,
      })
    : [];
};
