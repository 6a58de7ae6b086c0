/** Which leads the recipient of a message names, and why they cannot be contacted. */
import type { Deps } from '#src/calls/handlers.ts';
import { isKnownContact, type LeadState } from '#src/leads/lead.decider.ts';
import { listOfExternalId } from '#src/ports/rows.ts';
import { openOne } from '#src/sealing/sealed-texts.ts';
import { suppressionInLog } from '#src/sealing/suppression.ts';
import { leadIdOf, leadOf } from '#src/writing/streams.ts';

type RecipientDeps = Pick<Deps, 'log' | 'readModels' | 'vault' | 'secrets'>;
type Target = Readonly<Record<string, string>>;

/** Leads of one spelling that are looked at. One external_id is one lead, so more are other capitals or spaces. */
const ALIKE_MAX = 100;

/**
 * Finds the leads of the owner that a recipient names, in any spelling: the id, also in a longer name like `lead:led_…`,
 * or the external_id in other capitals or with other spaces. Of a lead that was submitted a moment ago, only its id and its
 * exact external_id are found.
 */
const findRecipients = async (
  deps: Pick<Deps, 'log' | 'readModels'>,
  ownerId: string,
  { recipient_ref: ref }: Target,
): Promise<LeadState[]> => {
  if (ref === undefined) return [];
  const plain = ref.normalize('NFKC');
  const ids = new Set(plain.toLowerCase().match(/led_[0-9a-z]{24}/g));
  for (const name of new Set([ref, plain, plain.replace(/^\s*lead\s*[^\p{L}\p{N}]\s*/iu, '')])) {
    ids.add(leadIdOf(ownerId, name));
    const list = listOfExternalId(name);
    const query = { scope: ownerId, list, limit: ALIKE_MAX };
    for (const { row } of await deps.readModels.list<LeadState>('leads', query))
      ids.add(row.lead_id);
  }
  const leads = await Promise.all([...ids].map((id) => leadOf(deps, ownerId, id)));
  return leads.filter((lead) => lead !== undefined);
};

/**
 * Why a lead cannot be contacted: its person refuses it, or nobody can tell, because the key of the contact is missing or
 * damaged.
 */
export type ContactFault = 'contact_refused' | 'contact_unreadable';

/** Looks up whether a lead can be contacted. An erased one cannot: no refusal of its person can be found any more. */
const faultOf = async (
  deps: RecipientDeps,
  ownerId: string,
  { erased, contact }: LeadState,
): Promise<ContactFault | undefined> => {
  if (erased) return 'contact_refused';
  if (contact === undefined) return undefined;
  const opened = await openOne(deps.vault, contact);
  if (opened === null) return 'contact_refused';
  if (typeof opened !== 'string') return 'contact_unreadable';
  const { email } = JSON.parse(opened) as { email: string };
  const refusal = await suppressionInLog(deps)(ownerId, email);
  return refusal === undefined ? undefined : 'contact_refused';
};

/** The fault of the first of these leads that has one; a refusal comes before a contact that cannot be read. */
const faultAmong = async (
  deps: RecipientDeps,
  ownerId: string,
  leads: readonly LeadState[],
): Promise<ContactFault | undefined> => {
  const faults = await Promise.all(leads.map((lead) => faultOf(deps, ownerId, lead)));
  return faults.find((fault) => fault === 'contact_refused') ?? faults.find(Boolean);
};

type Recipient = { leads: readonly LeadState[]; fault: ContactFault | undefined };

/** The leads that a recipient names, and why one of them cannot be contacted: for people, and for each attempt. */
export const readRecipient = async (
  deps: RecipientDeps,
  ownerId: string,
  target: Target,
): Promise<Recipient> => {
  const leads = await findRecipients(deps, ownerId, target);
  return { leads, fault: await faultAmong(deps, ownerId, leads) };
};

/**
 * The same as an agent may know it. The person of a lead that was rejected as known is not looked up: otherwise an agent
 * could ask, by the answer or by its delay, whether another promoter has the contact or the person refuses contact.
 */
export const readRecipientForAgent = async (
  deps: RecipientDeps,
  ownerId: string,
  target: Target,
): Promise<Recipient> => {
  const leads = await findRecipients(deps, ownerId, target);
  const shown = leads.filter((lead) => !isKnownContact(lead));
  return { leads, fault: await faultAmong(deps, ownerId, shown) };
};
