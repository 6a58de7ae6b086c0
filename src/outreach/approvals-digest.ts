import { isTestSpace } from '#contracts/spaces.ts';
import type { AgentState } from '#src/access/access.decider.ts';
import { type OutboundState, statusAt } from './outbound-state.decider.ts';
import { ALL_ACCESS_REQUESTS, listBy, OPEN_RECORDS, type OpenRow } from '#src/ports/rows.ts';
import { nameOf } from '#src/writing/hash.ts';
import type { Deps } from '#src/calls/call.ts';
import type { SystemCall } from '#src/shared/call.ts';
import type { MailFacts, Waiting } from '#src/sending/mail-kinds.ts';
import { mailStream, mailToStaff } from '#src/sending/queue-mail.ts';

type DigestDeps = Pick<Deps, 'log' | 'readModels' | 'ids' | 'vault' | 'staffMail'>;

/** Requests that are counted; the message says when there are more. */
const COUNTED_MAX = 500;
const PENDING = 'pending_approval';

/**
 * Queues the digest of `day`, like 2026-11-21, once: what waits for approval, without test spaces. Queues nothing while
 * nothing waits, or staff have no mailbox. Answers whether it is queued now.
 */
export const queueDigest = async (
  deps: DigestDeps,
  day: string,
  call: SystemCall,
): Promise<boolean> => {
  const mailId = `mal_${nameOf('approvals-digest', day)}`;
  const isQueued = (await deps.log.readStream(mailStream(call.ownerId, mailId))).length > 0;
  const facts = isQueued || deps.staffMail === undefined ? undefined : await waiting(deps, call.at);
  if (!facts) return false;
  const appends = await mailToStaff(deps, call, { kind: 'approvals_digest', mailId, facts });
  // The stream is new: of two processes, the second append conflicts.
  const result = await deps.log.appendAll(appends);
  return result.outcome === 'appended';
};

const waiting = async (
  { readModels }: DigestDeps,
  at: number,
): Promise<MailFacts['approvals_digest'] | undefined> => {
  const limit = COUNTED_MAX + 1;
  const open = await readModels.list<OpenRow<OutboundState>>('open-outbound', {
    scope: OPEN_RECORDS,
    list: listBy({ status: PENDING }),
    limit,
  });
  const asked = await readModels.list<OpenRow<AgentState>>('access-requests', {
    scope: ALL_ACCESS_REQUESTS,
    list: listBy({ state: 'pending' }),
    limit,
  });
  const outreach = open
    .map(({ row }) => row)
    .filter(({ owner, state }) => !isTestSpace(owner) && statusAt(state, at) === PENDING)
    .map(({ owner, state }) => ({ owner, since: state.created_at }));
  const access = asked.map(({ row: { owner, state } }) => ({
    owner,
    since: state.last_request.requested_at,
  }));
  if (outreach.length + access.length === 0) return undefined;
  return {
    ...counted(outreach, { found: open.length, at }),
    access: counted(access, { found: asked.length, at }),
  };
};

const counted = (
  requests: readonly { owner: string; since: number }[],
  { found, at }: { found: number; at: number },
): Waiting => ({
  requests: Math.min(requests.length, COUNTED_MAX),
  has_more: found > COUNTED_MAX,
  owners: new Set(requests.map(({ owner }) => owner)).size,
  oldest_at: Math.min(at, ...requests.map(({ since }) => since)),
});
