import type { LeadState } from '#src/leads/lead-state.decider.ts';
import { openOne } from '#src/sealing/sealed-texts.ts';
import { suppressionInLog } from '#src/sealing/suppression.ts';
import { leadIdOf, leadOf } from '#src/writing/streams.ts';
import type { Deps } from '#src/calls/call.ts';

type RecipientDeps = Pick<Deps, 'log' | 'vault' | 'secrets'>;

const emailOf = async (
  { vault }: RecipientDeps,
  lead: LeadState | undefined,
): Promise<string | undefined> => {
  const opened = lead?.contact ? await openOne(vault, lead.contact) : undefined;
  return opened ? (JSON.parse(opened) as { email: string }).email : undefined;
};

/** Whether a recipient is a lead of the owner, by its id or its external_id, whose person refuses contact. */
export const refusesContact = async (
  deps: RecipientDeps,
  ownerId: string,
  { recipient_ref: ref }: Readonly<Record<string, string>>,
): Promise<boolean> => {
  if (ref === undefined) return false;
  const id = /^led_[0-9a-z]{24}$/.test(ref) ? ref : leadIdOf(ownerId, ref);
  const email = await emailOf(deps, await leadOf(deps, ownerId, id));
  return email !== undefined && (await suppressionInLog(deps)(ownerId, email)) !== undefined;
};
