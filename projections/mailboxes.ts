import { CONTACT_EVENTS, storedContact } from '#src/sealing/stored-contact.decider.ts';
import { foldSuppression, type Suppression } from '#src/sealing/mailbox-requests.decider.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import { type MailboxRow, SUPPRESSION } from '#src/ports/rows.ts';
import { type Projection, typedEvent } from './projection.ts';

type ContactEvent = Parameters<typeof storedContact>[0];

const entryOf = (event: FoldEvent) => {
  const contact = storedContact(event as FoldEvent & ContactEvent);
  return contact?.keys && { owner: event.owner, record: contact.record, keys: contact.keys };
};

/** The records of each mailbox, also those that have another contact now, and who may not contact its person. */
export const mailboxes: Projection<MailboxRow | Suppression> = {
  name: 'mailboxes',
  version: 3,
  handles: [...CONTACT_EVENTS, 'PrivacyRequestRecorded'],
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
