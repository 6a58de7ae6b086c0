import { CONTACT_EVENTS, storedContact } from '#src/sealing/stored-contact.decider.ts';
import { foldSuppression, type Suppression } from '#src/sealing/mailbox-requests.decider.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import { ALL_CONTACTS, type MailboxRow, SUPPRESSION, type UnindexedRow } from '#src/ports/rows.ts';
import { type Projection, typedEvent } from './projection.ts';

type ContactEvent = Parameters<typeof storedContact>[0];

const contactIn = (event: FoldEvent) => storedContact(event as FoldEvent & ContactEvent);

const entryOf = (event: FoldEvent) => {
  if (event.type === 'ContactIndexed') {
    const { owner_id, record, mailbox_keys: keys } = typedEvent<'ContactIndexed'>(event).data;
    return keys && { owner: owner_id, record, keys };
  }
  const contact = contactIn(event);
  return contact?.keys && { owner: event.owner, record: contact.record, keys: contact.keys };
};

/** The records of each mailbox, also those that have another contact now, and who may not contact its person. */
export const mailboxes: Projection<MailboxRow | Suppression> = {
  name: 'mailboxes',
  version: 2,
  handles: [...CONTACT_EVENTS, 'ContactIndexed', 'PrivacyRequestRecorded'],
  place(event) {
    if (event.type === 'PrivacyRequestRecorded') {
      const { mailbox_keys } = typedEvent<'PrivacyRequestRecorded'>(event).data;
      return { scope: mailbox_keys.mailbox, key: SUPPRESSION };
    }
    const entry = entryOf(event);
    return entry && { scope: entry.keys.mailbox, key: `${entry.owner}/${entry.record}` };
  },
  evolve(row, event) {
    if (event.type === 'PrivacyRequestRecorded')
      return foldSuppression(
        row as Suppression | undefined,
        typedEvent<'PrivacyRequestRecorded'>(event),
      );
    const entry = entryOf(event);
    if (!entry) throw new Error(`${event.type} without keys has a row`);
    const { owner, record, keys } = entry;
    const { addresses = [], sort = event.position } = (row as MailboxRow | undefined) ?? {};
    const isListed = addresses.includes(keys.address);
    return { owner, record, addresses: isListed ? addresses : [...addresses, keys.address], sort };
  },
  sort: (row) => ('sort' in row ? row.sort : null),
};

/** The contacts that earlier versions stored, and that no ContactIndexed follows. */
export const unindexedContacts: Projection<UnindexedRow> = {
  name: 'unindexed-contacts',
  version: 2,
  handles: [...CONTACT_EVENTS, 'ContactIndexed'],
  begins: CONTACT_EVENTS,
  place(event) {
    if (event.type === 'ContactIndexed') {
      const { record, revision } = typedEvent<'ContactIndexed'>(event).data;
      return { scope: ALL_CONTACTS, key: `${record}/${revision}` };
    }
    const contact = contactIn(event);
    return contact && !contact.keys
      ? { scope: ALL_CONTACTS, key: `${contact.record}/${event.revision}` }
      : undefined;
  },
  evolve(_row, event) {
    const { record } = contactIn(event) ?? {};
    return event.type === 'ContactIndexed' || record === undefined
      ? null
      : { owner: event.owner, record, revision: event.revision, sort: event.position };
  },
  sort: (row) => row.sort,
};
