import { ALL_CONTACTS, type MailboxRow, type UnindexedRow } from '#src/ports/rows.ts';
import type { Deps } from '../pipeline/deps.ts';
import { listing } from '../read-models/listing.ts';
import { deriveMailboxKeys } from './mailbox-keys.ts';

type FindingDeps = Pick<Deps, 'readModels' | 'secrets'>;

/** A lead or a handoff that has, or had, a contact with the address, or with another spelling of its mailbox. */
export type FoundRecord = { id: string; owner_id: string; match: 'exact' | 'folded' };

const PAGE_ROWS = 100;
const UNINDEXED_COUNTED_MAX = 1_000;

/** Finds the records of an address in all owners for which `isAllowed` is true, newest first. */
export const findRecords = async (
  { readModels, secrets }: FindingDeps,
  email: string,
  isAllowed: (ownerId: string) => boolean,
): Promise<FoundRecord[]> => {
  const { address, mailbox: scope } = deriveMailboxKeys(secrets, email);
  const found: FoundRecord[] = [];
  for await (const page of listing<MailboxRow>(readModels, 'mailboxes', {
    scope,
    limit: PAGE_ROWS,
  }))
    for (const { row } of page)
      if (isAllowed(row.owner))
        found.push({
          id: row.record,
          owner_id: row.owner,
          match: row.addresses.includes(address) ? 'exact' : 'folded',
        });
  return found;
};

/** Counts the contacts that `findRecords` cannot find, up to UNINDEXED_COUNTED_MAX. */
export const countUnindexed = async ({ readModels }: FindingDeps): Promise<number> =>
  (
    await readModels.list<UnindexedRow>('unindexed-contacts', {
      scope: ALL_CONTACTS,
      limit: UNINDEXED_COUNTED_MAX,
    })
  ).length;
