/** Read models of privacy: unfinished erasures, and the records of each mailbox by its keyed hash. */
import type { FoldEvent } from '#src/ports/event-log.ts';
import { ALL_ERASURES, type ErasureRow, type MailboxRow, SUPPRESSION } from '#src/ports/rows.ts';
import {
  CONTACT_EVENTS,
  storedContact,
  foldSuppression,
  type Suppression,
} from '#src/sealing/mailbox.decider.ts';
import { type Projection, typedEvent } from './projection.ts';

const ENDS = ['RfqConfirmationExpired', 'RfqDropped'] as const;
type Handled = 'SubjectErased' | (typeof ENDS)[number];

/** The subjects of all erasures, and of contacts that were not confirmed. Only the vault knows whether a key is destroyed. */
export const erasures: Projection<ErasureRow> = {
  name: 'erasures',
  version: 2,
  handles: ['SubjectErased', ...ENDS],
  place(event) {
    const { type, data } = typedEvent<Handled>(event);
    return {
      scope: ALL_ERASURES,
      key: type === 'SubjectErased' ? data.subject : data.contact_subject,
    };
  },
  evolve(row, event) {
    const { type, data } = typedEvent<Handled>(event);
    if (row) return row;
    const sort = event.position;
    const { contact_subject: contact } = data;
    return type === 'SubjectErased'
      ? { subject: data.subject, ...(contact && { contact }), sort }
      : { subject: contact ?? '', sort };
  },
  sort: (row) => row.sort,
};

type ContactEvent = Parameters<typeof storedContact>[0];

const entryOf = (event: FoldEvent) => {
  const contact = storedContact(event as FoldEvent & ContactEvent);
  return contact?.keys && { owner: event.owner, record: contact.record, keys: contact.keys };
};

/** The records of each mailbox, also those that have another contact now, and who may not contact its person. */
export const mailboxes: Projection<MailboxRow | Suppression> = {
  name: 'mailboxes',
  version: 4,
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
