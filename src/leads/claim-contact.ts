/** Claims the contact of a lead for its owner, and releases it. */
import type { EventData } from '#contracts/registries/events.ts';
import { isTestSpace } from '#contracts/spaces.ts';
import { contactClaim, type ContactClaimRejection } from './claims.decider.ts';
import type { LeadCommand } from './lead.decider.ts';
import { mailboxOf } from '#src/shared/mailbox.ts';
import { decideAndAppend, issue } from '#src/writing/decide-and-append.ts';
import { decideClaim } from '#src/writing/idempotency.ts';
import { findKeyedStream, stateOf } from '#src/writing/streams.ts';
import type { Append } from '#src/ports/event-log.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { type Call, unkeyed } from '#src/shared/call.ts';
import { openOne } from '#src/sealing/sealed-texts.ts';
import { suppressionInLog } from '#src/sealing/suppression.ts';

type ClaimDeps = Pick<Deps, 'log' | 'ids' | 'streamQueue' | 'secrets'>;

type Clash = Extract<LeadCommand, { type: 'SubmitLead' }>['clash'];

const CLASHES: Record<ContactClaimRejection, Clash> = {
  held_by_other_owner: 'known',
  held_by_this_owner: 'own',
  // Rejects only a release.
  not_held: 'none',
};

/**
 * Decides on the claim of a contact for a lead until `expiresAt`, in epoch milliseconds, which is appended with the
 * lead. The clash is `none` if the lead can hold the mailbox, `known` if a lead of another owner holds it or its person
 * refuses contact, and `own` if another lead of this owner holds it. The name of the claim's stream contains the mailbox only as a keyed hash. Test
 * spaces have claims of their own.
 */
export const decideContactClaim = async (
  deps: ClaimDeps,
  call: Call,
  { leadId, email, expiresAt }: { leadId: string; email: string; expiresAt: number },
): Promise<{ clash: Clash; claims: readonly Append[] }> => {
  const claim = { owner_id: call.ownerId, lead_id: leadId, expires_at: expiresAt };
  const command = { type: 'ClaimContact' as const, at: call.at, claim };
  const since = await suppressionInLog(deps)(call.ownerId, email);
  const stream = await streamOfClaim(deps, call, email);
  const stored = await deps.log.readStream(stream);
  const claiming = { stream, decider: contactClaim, stored, command };
  const decision = decideClaim(deps.ids, unkeyed(call), claiming);
  if (since !== undefined) return { clash: 'known', claims: [] };
  return decision.ok
    ? { clash: 'none', claims: decision.appends }
    : { clash: CLASHES[decision.rejected], claims: [] };
};

/** The claim of a lead on a mailbox; undefined if there is none now. */
export const claimOn = async (
  deps: Pick<ClaimDeps, 'log' | 'secrets'>,
  call: Call,
  email: string,
): Promise<EventData<'LeadClaimed'> | undefined> => {
  const stream = await streamOfClaim(deps, call, email);
  const claim = (await stateOf(deps, { stream, decider: contactClaim }))?.claim;
  return claim && claim.expires_at > call.at ? claim : undefined;
};

/** The claim of another promoter's lead on a mailbox; undefined if there is none now. */
export const claimOfOther = async (
  deps: ClaimDeps,
  call: Call,
  email: string,
): Promise<EventData<'LeadClaimed'> | undefined> => {
  const claim = await claimOn(deps, call, email);
  return claim?.owner_id === call.ownerId ? undefined : claim;
};

type Release = { lead_id: string; contact?: string | undefined; current?: string | undefined };

/**
 * Releases the contact of a lead, if the lead holds it and `current`, the contact that the lead has now, has
 * another mailbox.
 */
export const releaseClaim = async (
  deps: ClaimDeps & Pick<Deps, 'vault'>,
  call: Call,
  { lead_id, contact, current }: Release,
): Promise<void> => {
  const stream = await openClaimStream(deps, call, contact);
  const kept = await openClaimStream(deps, call, current);
  if (stream === undefined || stream === kept) return;
  await decideAndAppend(deps, unkeyed(call), {
    stream,
    decider: contactClaim,
    command: () =>
      issue({ type: 'ReleaseContact' as const, holder: { owner_id: call.ownerId, lead_id } }),
  });
};

/** Opens a sealed contact and names the stream of its claim; undefined if it cannot be opened. */
const openClaimStream = async (
  deps: ClaimDeps & Pick<Deps, 'vault'>,
  call: Call,
  contact: string | undefined,
): Promise<string | undefined> => {
  const opened = contact ? await openOne(deps.vault, contact) : null;
  if (typeof opened !== 'string') return undefined;
  return streamOfClaim(deps, call, (JSON.parse(opened) as { email: string }).email);
};

const streamOfClaim = (
  deps: Pick<ClaimDeps, 'log' | 'secrets'>,
  { ownerId }: Call,
  email: string,
): Promise<string> => {
  const space = isTestSpace(ownerId) ? 'test' : 'live';
  const value = `${space}:${mailboxOf(email)}`;
  return findKeyedStream(deps, 'claims-lead', { purpose: 'claim', value });
};
