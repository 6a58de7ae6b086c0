/** Which leads the recipient of a message names, and whether their people refuse contact. */
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

/** Whether the person of a lead refuses contact, or had the lead erased, so that no refusal can be found any more. */
const isRefused = async (
  deps: RecipientDeps,
  ownerId: string,
  { erased, contact }: LeadState,
): Promise<boolean> => {
  if (erased) return true;
  const opened = contact === undefined ? undefined : await openOne(deps.vault, contact);
  if (typeof opened !== 'string') return opened === null;
  const { email } = JSON.parse(opened) as { email: string };
  return (await suppressionInLog(deps)(ownerId, email)) !== undefined;
};

/** Whether the person of one of these leads refuses contact. */
const isAnyRefused = async (
  deps: RecipientDeps,
  ownerId: string,
  leads: readonly LeadState[],
): Promise<boolean> => {
  const refused = await Promise.all(leads.map((lead) => isRefused(deps, ownerId, lead)));
  return refused.includes(true);
};

type Recipient = { leads: readonly LeadState[]; isRefused: boolean };

/** The leads that a recipient names, and whether the person of one of them refuses contact: for people, and for each attempt. */
export const readRecipient = async (
  deps: RecipientDeps,
  ownerId: string,
  target: Target,
): Promise<Recipient> => {
  const leads = await findRecipients(deps, ownerId, target);
  return { leads, isRefused: await isAnyRefused(deps, ownerId, leads) };
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
  return { leads, isRefused: await isAnyRefused(deps, ownerId, shown) };
};

/** Whether a recipient names a lead whose person refuses contact. Asked at the approval and each attempt. */
export const refusesContact = async (
  deps: RecipientDeps,
  ownerId: string,
  target: Target,
): Promise<boolean> => (await readRecipient(deps, ownerId, target)).isRefused;
