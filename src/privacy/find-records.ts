import { addressKey, isSameMailbox } from '#src/shared/mailbox.ts';
import { addressIn } from '#src/sealing/stored-contact.decider.ts';
import type { MailboxRow } from '#src/ports/rows.ts';
import { listing } from '#src/reading/listing.ts';
import { handoffOf } from '#src/writing/streams.ts';
import { deriveMailboxKeys, generationsOf } from '#src/sealing/mailbox-keys.ts';
import { openOne } from '#src/sealing/sealed-texts.ts';
import type { Deps } from '#src/calls/call.ts';

type FindingDeps = Pick<Deps, 'log' | 'readModels' | 'secrets' | 'vault'>;

/** A lead, handoff or profile that has the address, or another spelling of its mailbox. A lead can have had it before. */
export type FoundRecord = { id: string; owner_id: string; match: 'exact' | 'folded' };

const PAGE_ROWS = 100;

/** Whether a found record is the profile of an owner; its id is the subject of its seal. */
export const isProfile = (id: string): boolean => id.startsWith('own_');

/** Finds the records of an address in all owners for which `isAllowed` is true, newest first. Reads each handoff. */
export const findRecords = async (
  deps: FindingDeps,
  email: string,
  isAllowed: (ownerId: string) => boolean,
): Promise<FoundRecord[]> => {
  /** A record is in several generations if its contact was sent again after a rotation. */
  const found = new Map<string, FoundRecord>();
  for (const generation of generationsOf(deps.secrets)) {
    const { address, mailbox: scope } = deriveMailboxKeys(deps.secrets, email, generation);
    const query = { scope, limit: PAGE_ROWS };
    for await (const page of listing<MailboxRow>(deps.readModels, 'mailboxes', query)) {
      const allowed = page.flatMap(({ row }) => (isAllowed(row.owner) ? row : []));
      const matches = await Promise.all(
        allowed.map((row) => matchOf(deps, row, { email, address })),
      );
      for (const [index, { record: id, owner: owner_id }] of allowed.entries()) {
        const match = found.get(id)?.match === 'exact' ? 'exact' : matches[index];
        if (match) found.set(id, { id, owner_id, match });
      }
    }
  }
  return [...found.values()];
};

/**
 * How a record matches an address. Undefined for a handoff that has the mailbox no more: the contact of an RFQ that was
 * never confirmed is destroyed, and must not give the holder of its mailbox a right to the other texts.
 */
const matchOf = async (
  deps: FindingDeps,
  { owner, record, addresses }: MailboxRow,
  { email, address }: { email: string; address: string },
): Promise<FoundRecord['match'] | undefined> => {
  const indexed = addresses.includes(address) ? 'exact' : 'folded';
  const state = record.startsWith('hnd_') ? await handoffOf(deps, owner, record) : undefined;
  if (!state || state.erased) return indexed;
  const [entered, contact] = await Promise.all(
    [state.buyer.email, state.rfq?.contact].map((sealed) => openOne(deps.vault, sealed ?? '')),
  );
  // A restored vault may have a key that is lost now.
  if (entered === undefined || contact === undefined) return indexed;
  const present = [entered, contact && addressIn('RfqSubmittedByBuyer', contact)].flatMap(
    (one) => one ?? [],
  );
  if (present.some((one) => addressKey(one) === addressKey(email))) return 'exact';
  return present.some((one) => isSameMailbox(one, email)) ? 'folded' : undefined;
};
