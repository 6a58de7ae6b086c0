/** Finds the records of a person, exports and erases them. */
import type { EventData } from '#contracts/registries/events.ts';
import { eraseApplication, isApplication, openApplication } from '#src/access/applications.ts';
import { requireCurrent } from '#src/calls/failure.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { writtenByBuyer } from '#src/handoffs/quotations.ts';
import { contactOf, showHandoff } from '#src/handoffs/render-handoff.ts';
import { showLead } from '#src/leads/render-lead.ts';
import { eraseProfile, profileOf } from '#src/owners/profile.ts';
import { erasePerson, isPersonSubject, personOf } from '#src/people/people.ts';
import { readNotes } from '#src/plans/plans.ts';
import type { MailboxRow } from '#src/ports/rows.ts';
import { listing } from '#src/reading/lists.ts';
import { addressIn } from '#src/sealing/mailbox.decider.ts';
import { isLost, isLostText, openOne } from '#src/sealing/sealed-texts.ts';
import { deriveMailboxKeys, generationsOf } from '#src/sealing/suppression.ts';
import { type Call, unkeyed } from '#src/shared/call.ts';
import { isSameAddress, isSameMailbox } from '#src/shared/mailbox.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import { present } from '#src/shared/json.ts';
import { handoffOf, leadOf, streamOf } from '#src/writing/streams.ts';
import { eraseRecord } from './erase-subject.ts';

type FindingDeps = Pick<Deps, 'log' | 'following' | 'readModels' | 'secrets' | 'vault'>;

/** A lead, handoff, profile or person that has the address, or another spelling of its mailbox. A lead can have had it before. */
export type FoundRecord = { id: string; owner_id: string; match: 'exact' | 'folded' };

const PAGE_ROWS = 100;

/** Whether a found record is the profile of an owner; its id is the subject of its seal. */
const isProfile = (id: string): boolean => id.startsWith('own_');

/**
 * Finds the records of an address in all owners for which `isAllowed` is true, newest first; also those that another process
 * has just written. Reads each handoff.
 */
export const findRecords = async (
  deps: FindingDeps,
  email: string,
  isAllowed: (ownerId: string) => boolean,
): Promise<FoundRecord[]> => {
  await requireCurrent(deps);
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
  // With a key that was restored later, the record may still match.
  if (isLost(entered) || isLost(contact)) return indexed;
  const present = [entered, contact && addressIn('RfqSubmittedByBuyer', contact)].flatMap(
    (one) => one ?? [],
  );
  if (present.some((one) => isSameAddress(one, email))) return 'exact';
  return present.some((one) => isSameMailbox(one, email)) ? 'folded' : undefined;
};

/**
 * Reads a record with its personal data, also if its person refuses contact, and without the link of its buyer. The
 * contact of an RFQ, and the address that the agent entered, are left out if their mailbox differs from `email`: they
 * are another person's.
 */
export const exportRecord = async (
  deps: Deps,
  { at }: Call,
  { email, ...found }: FoundRecord & { email: string },
) => {
  const { id, owner_id: ownerId } = found;
  if (isProfile(id))
    return { ...found, notes: [], ...present({ profile: await profileOf(deps, ownerId, id) }) };
  if (isApplication(id))
    return { ...found, notes: [], ...present({ application: await openApplication(deps, id) }) };
  if (isPersonSubject(id))
    return { ...found, notes: [], ...present({ person: await personOf(deps, id) }) };
  const record = { ...found, notes: await readNotes(deps, ownerId, id) };
  if (id.startsWith('led_')) {
    const lead = await leadOf(deps, ownerId, id);
    return {
      ...record,
      ...present({ lead: lead && (await showLead(deps, lead, { ownerId, at })) }),
    };
  }
  const state = await handoffOf(deps, ownerId, id);
  if (!state) return record;
  const shown = await showHandoff(deps, state, { ownerId, at });
  const { review_url: _credential, ...handoff } = shown;
  const { email: entered, ...buyer } = shown.buyer;
  const contact = await contactOf(deps, state.rfq);
  // It is unknown whose address is lost; the record was found by that of the person.
  const isOwn = (address: string | undefined): boolean =>
    address !== undefined && (isLostText(address) || isSameMailbox(address, email));
  return {
    ...record,
    handoff: { ...handoff, buyer: isOwn(entered) ? shown.buyer : buyer },
    ...(isOwn(typeof contact === 'string' ? contact : contact?.email) && {
      contact,
      ...(await writtenByBuyer(
        deps.vault,
        await deps.log.readStream(streamOf(ownerId, 'handoff', id)),
      )),
    }),
  };
};

/**
 * What it means for a record that its person refuses contact: withdraws a consent, or objects to another basis. A buyer
 * consents by sending the RFQ.
 */
export const rightOver = async (
  deps: Pick<Deps, 'log'>,
  { id, owner_id }: FoundRecord,
): Promise<'withdrawal' | 'objection'> => {
  const isConsent = id.startsWith('led_')
    ? (await leadOf(deps, owner_id, id))?.consent?.basis === 'consent'
    : (await handoffOf(deps, owner_id, id))?.rfq !== undefined;
  return isConsent ? 'withdrawal' : 'objection';
};

type Erased = NonNullable<EventData<'PrivacyRequestRecorded'>['records']>;

/**
 * What an erasure for the person of `email` takes of each record: all, except of a handoff that has the mailbox in an
 * unconfirmed RFQ only. Anybody can type an address into that form, so its holder has no claim to the rest.
 */
export const erasedFor = (
  deps: Pick<Deps, 'log' | 'vault'>,
  email: string,
  found: readonly FoundRecord[],
): Promise<Erased> =>
  Promise.all(
    found.map(async ({ id, owner_id }) => {
      const state = id.startsWith('hnd_') ? await handoffOf(deps, owner_id, id) : undefined;
      const { confirmation, contact_subject } = state?.rfq ?? {};
      const entered = confirmation && (await openOne(deps.vault, state?.buyer.email ?? ''));
      const isOwn = typeof entered === 'string' && isSameMailbox(entered, email);
      const only = confirmation && !isOwn ? contact_subject : undefined;
      return { owner_id, record: id, ...present({ contact_subject: only }) };
    }),
  );

const eraserOf = (subject: string) => {
  if (isProfile(subject)) return eraseProfile;
  if (isPersonSubject(subject)) return erasePerson;
  return isApplication(subject) ? eraseApplication : eraseRecord;
};

/** Erases records, or parts of them, one after the other; what is erased already stays so. Resolves to the first refusal. */
export const eraseRecords = async (
  deps: Deps,
  call: Call,
  records: Erased,
): Promise<Refusal | undefined> => {
  for (const { owner_id: ownerId, record: subject, contact_subject: onlyContact } of records) {
    const about = { subject, onlyContact, reason: 'A person asked for it.' };
    const erase = eraserOf(subject);
    const erased = await erase(deps, { ...unkeyed(call), ownerId }, about);
    if (!erased.ok) return erased;
  }
  return undefined;
};
