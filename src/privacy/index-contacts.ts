import { addressIn, storedContact } from '#src/sealing/stored-contact.decider.ts';
import { type Append, NO_STREAM } from '#src/ports/event-log.ts';
import { ALL_CONTACTS, type UnindexedRow } from '#src/ports/rows.ts';
import { attribute } from '#src/writing/attribution.ts';
import { DESK } from '#src/calls/audit.ts';
import type { Deps, SystemCall } from '#src/calls/call.ts';
import { listing } from '#src/reading/listing.ts';
import { profileStream } from '#src/owners/profile.ts';
import { streamOfRecord } from '#src/writing/streams.ts';
import { isProfile } from './find-records.ts';
import { deriveMailboxKeys } from '#src/sealing/mailbox-keys.ts';
import { openOne } from '#src/sealing/sealed-texts.ts';

type IndexingDeps = Pick<Deps, 'log' | 'ids' | 'readModels' | 'secrets' | 'vault'>;

const PAGE_ROWS = 100;

/**
 * Indexes the contacts that earlier versions stored, newest first; answers their number. Continues where an earlier run
 * stopped: at the signal of the caller, at an error, or because another process indexed the same contacts. A contact
 * whose key is lost stays in the list, because a restored vault may have it.
 */
export const indexContacts = async (deps: IndexingDeps, call: SystemCall): Promise<number> => {
  let indexed = 0;
  const query = { scope: ALL_CONTACTS, limit: PAGE_ROWS };
  for await (const page of listing<UnindexedRow>(deps.readModels, 'unindexed-contacts', query)) {
    if (call.signal.aborted) break;
    const entries = await Promise.all(page.map(({ row }) => entryFor(deps, call, row)));
    const appends = entries.flat();
    if (appends.length === 0) continue;
    if ((await deps.log.appendAll(appends)).outcome === 'conflict') break;
    indexed += appends.length;
  }
  return indexed;
};

/** Makes the append that indexes a contact; empty if its key is lost. */
const entryFor = async (
  deps: IndexingDeps,
  call: SystemCall,
  { owner, record, revision }: UnindexedRow,
): Promise<Append[]> => {
  const stream = isProfile(record) ? profileStream(owner) : streamOfRecord(owner, record);
  const [event] = await deps.log.readStream(stream, revision, 1);
  const stored = event as unknown as Parameters<typeof storedContact>[0];
  const opened = await openOne(deps.vault, storedContact(stored)?.sealed ?? '');
  if (opened === undefined) return [];
  const keys = opened && deriveMailboxKeys(deps.secrets, addressIn(stored.type, opened));
  const data = {
    owner_id: owner,
    record,
    revision,
    ...(keys && { mailbox_keys: keys }),
  };
  const events = attribute(call, [{ type: 'ContactIndexed', data }], deps.ids);
  // One stream for each contact, so that two processes cannot index it twice.
  return [{ stream: `${DESK}-contact_${record}_${revision}`, expected: NO_STREAM, events }];
};
