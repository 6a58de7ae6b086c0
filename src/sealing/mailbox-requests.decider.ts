import type { EventData, EventOf, Happened } from '#contracts/registries/events.ts';
import { accept, type Decider } from '#src/shared/decider.ts';

type Request = EventData<'PrivacyRequestRecorded'>;

/** Which owners may not contact the person of a mailbox, and since when, in epoch milliseconds. */
export type Suppression = {
  /** Every owner, except for those in `exempt`. */
  all?: number;
  owners: Readonly<Record<string, number>>;
  exempt: readonly string[];
};

export type MailboxState = {
  /** The newest request. */
  request: Request;
  suppression: Suppression;
};

const NOT_SUPPRESSED: Suppression = { owners: {}, exempt: [] };

/** What was asked for the person of a mailbox. Nothing is rejected: each request is recorded. */
export const mailboxRequests: Decider<
  MailboxState,
  { type: 'RecordRequest'; request: Request },
  EventOf<'PrivacyRequestRecorded'>,
  never
> = {
  evolve: (state, event) => ({
    request: event.data,
    suppression: foldSuppression(state?.suppression, event),
  }),
  decide: (_state, { request }) => accept({ type: 'PrivacyRequestRecorded', data: request }),
};

export const foldSuppression = (
  before: Suppression = NOT_SUPPRESSED,
  { data: { suppress, lift }, at }: Happened<'PrivacyRequestRecorded'>,
): Suppression => {
  if (suppress) {
    const { owner_id } = suppress;
    if (owner_id === undefined) return { ...before, all: at, exempt: [] };
    const exempt = before.exempt.filter((owner) => owner !== owner_id);
    return { ...before, owners: { ...before.owners, [owner_id]: at }, exempt };
  }
  if (!lift) return before;
  const { owner_id } = lift;
  if (owner_id === undefined) return NOT_SUPPRESSED;
  const { [owner_id]: _lifted, ...owners } = before.owners;
  return { ...before, owners, exempt: [...before.exempt, owner_id] };
};

/** Since when an owner may not contact the person, in epoch milliseconds; undefined if the owner may. */
export const suppressedSince = (
  { all, owners, exempt }: Suppression,
  ownerId: string,
): number | undefined => owners[ownerId] ?? (exempt.includes(ownerId) ? undefined : all);
