/** What the log knows of a mailbox by its keyed hash: requests of its holder, and contacts that are stored. */
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

type Holder =
  | 'LeadSubmitted'
  | 'LeadAmended'
  | 'HandoffCreated'
  | 'RfqSubmittedByBuyer'
  | 'OwnerProfileSet'
  | 'ApplicationReceived'
  | 'PersonInvited'
  | 'PersonRecognized';
export const CONTACT_EVENTS: readonly Holder[] = [
  'LeadSubmitted',
  'LeadAmended',
  'HandoffCreated',
  'RfqSubmittedByBuyer',
  'OwnerProfileSet',
  'ApplicationReceived',
  'PersonInvited',
  'PersonRecognized',
];

type StoredContact = {
  /** The id of the lead or the handoff, or the subject of the profile or the person. */
  record: string;
  sealed: string;
  keys: EventData<'LeadSubmitted'>['mailbox_keys'];
};

export const storedContact = ({ type, data }: EventOf<Holder>): StoredContact | undefined => {
  if (type === 'OwnerProfileSet')
    return { record: data.sealed_for, sealed: data.sealed_profile, keys: data.mailbox_keys };
  if (type === 'PersonInvited' || type === 'PersonRecognized')
    return { record: data.sealed_for, sealed: data.sealed_mailbox, keys: data.mailbox_keys };
  if (type === 'ApplicationReceived') {
    const { application_id: record, sealed_application: sealed, mailbox_keys: keys } = data;
    return { record, sealed, keys };
  }
  const record = 'lead_id' in data ? data.lead_id : data.handoff_id;
  const sealed = type === 'HandoffCreated' ? data.buyer.email : data.contact;
  return sealed ? { record, sealed, keys: data.mailbox_keys } : undefined;
};

/** The address in a contact that `storedContact` returned, after it was opened. */
export const addressIn = (type: Holder, opened: string): string => {
  if (type === 'HandoffCreated' || type.startsWith('Person')) return opened;
  const { email = '', mailbox = email } = JSON.parse(opened) as Record<string, string>;
  return mailbox;
};
