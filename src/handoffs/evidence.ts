/** What is known of how an RFQ came about, in words for staff. Evidence, never a reason to refuse; no agent sees it. */
import { isTestSpace } from '#contracts/spaces.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { ConfirmedRow } from '#src/ports/rows.ts';
import { generationsOf, deriveMailboxKeys } from '#src/sealing/suppression.ts';
import { companyDomains } from '#src/shared/mailbox.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { openProfile, readProfile } from '#src/owners/profile.ts';
import type { HandoffState } from './handoff.decider.ts';
import type { RfqProgress } from './rfq.decider.ts';

type Seen = RfqProgress['seen'];

/** How the contact of an RFQ relates to the mailbox that its agent named, and to the promoter. */
export const relateContact = async (
  deps: Pick<Deps, 'log' | 'vault' | 'secrets'>,
  ownerId: string,
  { state, email }: { state: HandoffState; email: string },
): Promise<Pick<Seen, 'named' | 'is_promoters'>> => {
  const named = state.mailbox_keys?.mailbox;
  const keys = generationsOf(deps.secrets).map(
    (generation) => deriveMailboxKeys(deps.secrets, email, generation).mailbox,
  );
  const promoter = (await openProfile(deps, await readProfile(deps, ownerId)))?.mailbox;
  const [domain] = companyDomains(email, undefined);
  const isPromoters =
    promoter !== undefined &&
    domain !== undefined &&
    companyDomains(promoter, undefined).includes(domain);
  return {
    named: named === undefined ? 'nobody' : keys.includes(named) ? 'same' : 'other',
    ...(isPromoters && { is_promoters: true }),
  };
};

const WEEK_MS = 7 * DAY_MS;
/** Lists of one mailbox that are counted. */
const COUNTED_MAX = 100;

/**
 * Counts the lists that a mailbox confirmed within the week until `at`, with this one, by one read of the index. A mailbox
 * that was hashed with an earlier generation of the key is counted from the rotation on.
 */
const countLists = async (
  { readModels }: Pick<Deps, 'readModels'>,
  { ownerId, handoffId, seen, at }: Of,
): Promise<{ lists: number; promoters: number }> => {
  const query = { scope: seen.mailbox, limit: COUNTED_MAX };
  const rows = await readModels.list<ConfirmedRow>('confirmed-lists', query);
  const isTest = isTestSpace(ownerId);
  // The index does not have a confirmation that is being made.
  const lists = new Map(seen.confirmed_at === undefined ? [] : [[handoffId, ownerId]]);
  for (const { row } of rows)
    if (row.at > at - WEEK_MS && isTestSpace(row.owner) === isTest)
      lists.set(row.handoff_id, row.owner);
  return { lists: lists.size, promoters: new Set(lists.values()).size };
};

type Of = { ownerId: string; handoffId: string; seen: Seen; at: number };

const NAMED: Readonly<Record<Seen['named'], string>> = {
  same: 'the same mailbox as the one the agent named',
  other: 'a different mailbox than the one the agent named',
  nobody: 'a mailbox of its own choice: the agent named none',
};

/** An RFQ that is sent within this time of the list's creation is worth a word. */
const SOON_MS = 60_000;

const secondsText = (ms: number): string => {
  const seconds = Math.floor(Math.max(0, ms) / 1_000);
  return `${seconds} ${seconds === 1 ? 'second' : 'seconds'}`;
};

const speedText = ({ created_at, sent_at, confirmed_at, by_program }: Seen): string[] => {
  const acts = confirmed_at === undefined ? 'opened and sent' : 'opened, sent and confirmed';
  const took = (confirmed_at ?? sent_at) - created_at;
  const client = by_program ? " by a client without a browser's headers" : '';
  if (took < SOON_MS) return [`${acts} within ${secondsText(took)} of its creation${client}`];
  return by_program ? [`${acts}${client}`] : [];
};

const countsText = ({ lists, promoters }: Awaited<ReturnType<typeof countLists>>): string[] => {
  if (lists < 2) return [];
  const number = lists > COUNTED_MAX ? `at least ${COUNTED_MAX}` : String(lists);
  return [
    `the same mailbox confirmed ${number} lists of ${promoters} ${promoters === 1 ? 'promoter' : 'promoters'} this week`,
  ];
};

/** The evidence of an RFQ in words. Reads at most one page of the index of mailboxes. */
export const evidenceOf = async (
  deps: Pick<Deps, 'readModels'>,
  { ownerId, handoffId, rfq, at }: Omit<Of, 'seen'> & { rfq: RfqProgress },
): Promise<string[]> => {
  const { seen, confirmed_by } = rfq;
  const act = confirmed_by === 'mailbox' ? 'confirmed from' : 'sent with';
  const counts = await countLists(deps, { ownerId, handoffId, seen, at });
  return [
    `${act} ${NAMED[seen.named]}`,
    ...(seen.is_delivered
      ? ['the service mailed its link to the mailbox that the agent named']
      : []),
    ...countsText(counts),
    ...(seen.is_promoters ? ["the mailbox is at the domain of the promoter's own mailbox"] : []),
    ...speedText(seen),
  ];
};
