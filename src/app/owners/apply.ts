import { application } from '#src/domain/owners/application.ts';
import { decideAndAppend, traceOf } from '../events/decide-and-append.ts';
import { nameOf } from '../events/hash.ts';
import type { BuyerHandler } from '../handoffs/buyer-handler.ts';
import { refuseLink } from '../limits/address-limit.ts';
import type { Limiter } from '../limits/limiter.ts';
import { queueMail } from '../mail/queue-mail.ts';
import { DESK } from '../pipeline/audit.ts';
import { done, refuseField } from '../pipeline/outcome.ts';
import { deriveMailboxKeys } from '../privacy/mailbox-keys.ts';
import { applicationStream, linkOfApplication } from './application-link.ts';
import { isOwnerTaken } from './is-taken.ts';
import { MAILED_LINK_MS } from './mailbox-link.ts';

const ID_CHARS = 22;

export const TAKEN = refuseField('/owner_id', 'taken', 'belongs to somebody else');

/**
 * Makes a handler that mails a link to the applicant, within a limit for each network. It looks nothing up by the mailbox,
 * so that neither the answer nor its delay depends on it.
 */
export const applicationReceiver =
  (limit: Pick<Limiter, 'take'>): BuyerHandler<'applyForAccess'> =>
  async (deps, { address, ...entered }, buyerCall) => {
    const refusal = refuseLink(limit, address);
    if (refusal) return refusal;
    if (await isOwnerTaken(deps, entered.owner_id)) return TAKEN;
    const call = { ...buyerCall, ownerId: DESK, actor: 'applicant' };
    const id = `apl_${nameOf('application', deps.ids.base62(ID_CHARS))}`;
    const sealed = await deps.vault.seal(id, JSON.stringify(entered));
    if (sealed === null) throw new Error(`${id} is new and was erased`);
    const until = call.at + MAILED_LINK_MS;
    const received = {
      application_id: id,
      sealed_application: sealed,
      mailbox_keys: deriveMailboxKeys(deps.secrets, entered.mailbox),
      expires_at: until,
    };
    const facts = { path: linkOfApplication(deps.secrets, id), until };
    const letter = { kind: 'application' as const, sealedFor: id, to: entered.mailbox, facts };
    const written = await decideAndAppend(deps, call, {
      stream: applicationStream(id),
      decider: application,
      expected: [],
      command: () => ({
        command: { type: 'Receive' as const, application: received },
        effects: () => queueMail(deps, call, letter),
      }),
    });
    if ('rejected' in written) throw new Error(`a new application was rejected: ${written.detail}`);
    return written.ok ? done({ sent: true as const }, traceOf(written)) : written;
  };
