import { liveOwnerOf } from '#contracts/spaces.ts';
import type { EventData } from '#contracts/registries/events.ts';
import {
  mailboxRequests,
  type MailboxState,
  type Suppression,
} from './mailbox-requests.decider.ts';
import {
  decideAndAppend,
  issue,
  type Written,
  releaseAfterWrite,
} from '#src/writing/decide-and-append.ts';
import { DESK } from '#src/calls/audit.ts';
import type { Deps } from '#src/calls/call.ts';
import type { Call } from '#src/shared/call.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import { iso } from '#src/shared/time.ts';
import { findMailbox, suppressionInLog } from './suppression.ts';

type RequestedFor = { email: string } & Omit<EventData<'PrivacyRequestRecorded'>, 'mailbox_keys'>;

/** Records what was asked for the person of an address. A repeated call gets the request that it recorded first. */
export const recordRequest = async (
  deps: Pick<Deps, 'log' | 'ids' | 'streamQueue' | 'secrets'>,
  call: Call,
  { email, ...request }: RequestedFor,
): Promise<Written<MailboxState> | Refusal> => {
  const { keys, stream } = await findMailbox(deps, email);
  const written = await decideAndAppend(
    deps,
    { ...call, ownerId: DESK },
    {
      stream,
      decider: mailboxRequests,
      command: () =>
        issue({
          type: 'RecordRequest' as const,
          request: { mailbox_keys: keys, ...request },
        }),
    },
  );
  if ('rejected' in written) throw new Error(`${request.action} was rejected`);
  return written;
};

/**
 * Allows contact by the call's owner, if the person of an address refused it. Called after a write that is stored, so a
 * failure is ignored: the person repeats the act that allows it.
 */
export const liftRefusal = (
  deps: Pick<Deps, 'log' | 'ids' | 'streamQueue' | 'secrets'>,
  call: Call,
  email: string,
): Promise<void> =>
  releaseAfterWrite(async () => {
    if ((await suppressionInLog(deps)(call.ownerId, email)) === undefined) return;
    const lift = { owner_id: liveOwnerOf(call.ownerId) };
    await recordRequest(deps, call, { email, action: 'lift', lift });
  });

/** No owner is refused. */
export const NOT_REFUSED = { refused: [], exempt: [] };

/** Who may not contact the person, as the desk and the person's page show it. `owner_id` is null for every owner. */
export const renderSuppression = ({ all, owners, exempt }: Suppression) => ({
  refused: [
    ...(all === undefined ? [] : [{ owner_id: null, since: iso(all) }]),
    ...Object.entries(owners).map(([owner_id, since]) => ({ owner_id, since: iso(since) })),
  ],
  exempt: all === undefined ? [] : [...exempt],
});
