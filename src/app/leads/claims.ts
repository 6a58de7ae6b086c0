import type { EventData } from '#contracts/events/index.ts';
import { isTestSpace } from '#contracts/spaces.ts';
import { attribute } from '../events/attribution.ts';
import { type Call, unkeyed } from '../pipeline/call.ts';
import type { Deps } from '../pipeline/deps.ts';
import { openOne } from '../privacy/sealed-texts.ts';

type Claims = Pick<Deps, 'log' | 'ids' | 'secrets'>;
type Claim = { leadId: string; email: string; expiresAt: number };

const RACES_MAX = 4;

/**
 * Claims a contact for this lead, or says whose it is: nobody's (`none`: it is ours now), another
 * promoter's (`known`) or this one's under another name (`own`). The contact stands in the stream's
 * name as a keyed hash only. Test spaces claim among themselves.
 */
export const clashOf = async (
  deps: Claims,
  call: Call,
  { leadId, email, expiresAt }: Claim,
): Promise<'none' | 'known' | 'own'> => {
  const stream = claimStream(deps, call, email);
  const claiming = unkeyed(call);
  for (let race = 0; race < RACES_MAX; race++) {
    const stored = await deps.log.readStream(stream);
    const last = stored.at(-1);
    if (last?.type === 'LeadClaimed') {
      const held = last.data as EventData<'LeadClaimed'>;
      if (held.owner_id === call.ownerId && held.lead_id === leadId) return 'none';
      if (held.expires_at > call.at) return held.owner_id === call.ownerId ? 'own' : 'known';
    }
    const data = { owner_id: call.ownerId, lead_id: leadId, expires_at: expiresAt };
    const events = attribute(claiming, [{ type: 'LeadClaimed', data }], deps.ids);
    const result = await deps.log.append(stream, stored.length - 1, events);
    if (result.outcome === 'appended') return 'none';
  }
  return 'known';
};

/** Gives the contact that a lead has given up free again, if this lead holds it. */
export const releaseClaim = async (
  deps: Claims & Pick<Deps, 'vault'>,
  call: Call,
  { lead_id, contact }: { lead_id: string; contact?: string | undefined },
  /** The contact that the lead goes on with, whose address it keeps. */
  kept?: string,
): Promise<void> => {
  const stream = await claimOf(deps, call, contact);
  if (stream === undefined || stream === (await claimOf(deps, call, kept))) return;
  const stored = await deps.log.readStream(stream);
  const last = stored.at(-1);
  const held = last?.type === 'LeadClaimed' ? (last.data as EventData<'LeadClaimed'>) : undefined;
  if (held?.lead_id !== lead_id || held.owner_id !== call.ownerId) return;
  const releasing = unkeyed(call);
  const data = { owner_id: call.ownerId, lead_id };
  const events = attribute(releasing, [{ type: 'LeadClaimReleased', data }], deps.ids);
  // A conflict means that somebody claims it at this moment: then it is theirs.
  await deps.log.append(stream, stored.length - 1, events);
};

/**
 * Gives contacts free behind a write that stands, which is answered as done whatever becomes of this.
 * A claim that is missed is given free when the write is sent again, or ends with its time.
 */
export const releaseBehind = async (release: () => Promise<void>): Promise<void> => {
  try {
    await release();
  } catch {
    // The write is on the disk: nobody must be told otherwise.
  }
};

/** The claim on the address in a sealed contact; undefined where there is none to open. */
const claimOf = async (
  deps: Claims & Pick<Deps, 'vault'>,
  call: Call,
  contact: string | undefined,
): Promise<string | undefined> => {
  const opened = contact ? await openOne(deps.vault, contact) : null;
  if (typeof opened !== 'string') return undefined;
  return claimStream(deps, call, (JSON.parse(opened) as { email: string }).email);
};

const claimStream = ({ secrets }: Claims, { ownerId }: Call, email: string): string => {
  const space = isTestSpace(ownerId) ? 'test' : 'live';
  return `claims-lead_${secrets.mac('claim', `${space}:${email.toLowerCase()}`)}`;
};
