import type { EventData, EventOf } from '#contracts/registries/events.ts';

type Holder =
  | 'LeadSubmitted'
  | 'LeadAmended'
  | 'HandoffCreated'
  | 'RfqSubmittedByBuyer'
  | 'OwnerProfileSet'
  | 'ApplicationReceived';
export const CONTACT_EVENTS: readonly Holder[] = [
  'LeadSubmitted',
  'LeadAmended',
  'HandoffCreated',
  'RfqSubmittedByBuyer',
  'OwnerProfileSet',
  'ApplicationReceived',
];

type StoredContact = {
  /** The id of the lead or the handoff, or the subject of the profile. */
  record: string;
  sealed: string;
  keys: EventData<'LeadSubmitted'>['mailbox_keys'];
};

export const storedContact = ({ type, data }: EventOf<Holder>): StoredContact | undefined => {
  if (type === 'OwnerProfileSet')
    return { record: data.sealed_for, sealed: data.sealed_profile, keys: data.mailbox_keys };
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
  if (type === 'HandoffCreated') return opened;
  const { email = '', mailbox = email } = JSON.parse(opened) as Record<string, string>;
  return mailbox;
};
