/** The records of a person: what they say of the person, and their erasure. */
import type { EventData } from '#contracts/registries/events.ts';
import { isSameMailbox } from '#src/shared/mailbox.ts';
import { contactOf } from '#src/handoffs/contact-subject.ts';
import { showHandoff } from '#src/handoffs/render-handoff.ts';
import { showLead } from '#src/leads/render-lead.ts';
import { eraseProfile, profileOf } from '#src/owners/profile.ts';
import type { Deps } from '#src/calls/call.ts';
import { type Call, unkeyed } from '#src/shared/call.ts';
import type { Refusal } from '#src/shared/outcome.ts';
import { handoffOf, leadOf } from '#src/writing/streams.ts';
import { present } from '#src/shared/present.ts';
import { eraseApplication, isApplication, openApplication } from '#src/access/end-applications.ts';
import { eraseRecord } from './erase-subject.ts';
import { type FoundRecord, isProfile } from './find-records.ts';
import { readNotes } from '#src/plans/plan-record.ts';
import { openOne } from '#src/sealing/sealed-texts.ts';

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
  const isOwn = (address: string | undefined): boolean =>
    address !== undefined && isSameMailbox(address, email);
  return {
    ...record,
    handoff: { ...handoff, buyer: isOwn(entered) ? shown.buyer : buyer },
    ...(isOwn(contact?.email) && { contact }),
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
