import { application } from './application.decider.ts';
import { accessScope, ALL_OWNERS, type DeskTokenRow } from '#src/ports/rows.ts';
import { decideAndAppend, issue, traceOf } from '#src/writing/decide-and-append.ts';
import { nameOf } from '#src/writing/hash.ts';
import type { HolderHandler } from '#src/calls/desk-handler.ts';
import { type Limiter, refuseLink } from '#src/calls/limiter.ts';
import { queueMail } from '#src/sending/queue-mail.ts';
import { DESK } from '#src/calls/audit.ts';
import { done, refuse, Refused, refuseField } from '#src/shared/outcome.ts';
import { deriveMailboxKeys } from '#src/sealing/mailbox-keys.ts';
import { applicationStream, linkOfApplication } from './application-link.ts';
import { MAILED_LINK_MS } from '#src/owners/mailbox-link.ts';
import { settingsStream } from '#src/sending/settings.ts';
import type { Deps } from '#src/calls/call.ts';
import { listing } from '#src/reading/listing.ts';
import { profileStream } from '#src/owners/profile.ts';

const PAGE_ROWS = 100;
const FOLLOW_MS_MAX = 1_000;
const LAGS = refuse('read_model_rebuilding', 'The list of owners is still loading.', {
  retryAfterS: 1,
});

/**
 * Whether an owner exists, or staff have prepared one: an agent of it requested access, it has a profile or settings of
 * outreach, or a desk token is bound to it. Reads all desk tokens. Throws Refused or ReadModelRebuilding while this process does not know.
 */
export const isOwnerTaken = async (
  { log, readModels, following }: Pick<Deps, 'log' | 'readModels' | 'following'>,
  ownerId: string,
): Promise<boolean> => {
  // Another process may have begun the owner just now.
  if (!(await following.passed((await log.head()).position, FOLLOW_MS_MAX)))
    throw new Refused(LAGS);
  if ((await readModels.get('owners', ALL_OWNERS, ownerId)) !== undefined) return true;
  for (const stream of [profileStream(ownerId), settingsStream(ownerId)])
    if ((await log.readStream(stream)).length > 0) return true;
  const tokens = { scope: accessScope(DESK, 'desk'), limit: PAGE_ROWS };
  for await (const page of listing<DeskTokenRow>(readModels, 'access', tokens))
    if (page.some(({ row }) => row.owner_id === ownerId && row.status === 'active')) return true;
  return false;
};

const ID_CHARS = 22;

export const TAKEN = refuseField('/owner_id', 'taken', 'belongs to somebody else');

/**
 * Makes a handler that mails a link to the applicant, within a limit for each network. It looks nothing up by the mailbox,
 * so that neither the answer nor its delay depends on it.
 */
export const applicationReceiver =
  (limit: Pick<Limiter, 'take'>): HolderHandler<'applyForAccess', { sent: true }> =>
  async (deps, { address, ...entered }, holderCall) => {
    const refusal = refuseLink(limit, address);
    if (refusal) return refusal;
    if (await isOwnerTaken(deps, entered.owner_id)) return TAKEN;
    const call = { ...holderCall, ownerId: DESK, actor: 'applicant' };
    const id = `apl_${nameOf('application', deps.ids.base62(ID_CHARS))}`;
    const sealed = await deps.vault.seal(id, JSON.stringify(entered));
    if (sealed === null) throw new Error(`${id} is new and was erased`);
    const until = call.at + MAILED_LINK_MS;
    const received = {
      application_id: id,
      sealed_application: sealed,
      mailbox_keys: deriveMailboxKeys(deps.secrets, entered.mailbox),
      expires_at: until,
    };
    const facts = { path: linkOfApplication(deps.secrets, id), until };
    const letter = { kind: 'application' as const, sealedFor: id, to: entered.mailbox, facts };
    const written = await decideAndAppend(deps, call, {
      stream: applicationStream(id),
      decider: application,
      expected: [],
      command: () =>
        issue(
          { type: 'Receive' as const, application: received },
          { effects: () => queueMail(deps, call, letter) },
        ),
    });
    if ('rejected' in written) throw new Error(`a new application was rejected: ${written.detail}`);
    return written.ok ? done({ sent: true as const }, traceOf(written)) : written;
  };
