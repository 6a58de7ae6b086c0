/** Who may not be contacted any more. */
import { liveOwnerOf } from '#contracts/spaces.ts';
import { mailboxRequests, suppressedSince, type Suppression } from './mailbox-requests.decider.ts';
import { SUPPRESSION } from '#src/ports/rows.ts';
import { stateOf } from '#src/writing/fold.ts';
import { DESK } from '#src/calls/audit.ts';
import { deriveMailboxKey, deriveMailboxKeys, generationsOf } from './mailbox-keys.ts';
import type { Deps } from '#src/calls/call.ts';

const mailboxStream = (mailboxKey: string): string => `${DESK}-mailbox_${mailboxKey}`;

/**
 * The stream of a mailbox and the keys that its events have: of the generation in which the stream began. Reads the log
 * only after a rotation.
 */
export const findMailbox = async (deps: Pick<Deps, 'log' | 'secrets'>, email: string) => {
  for (const generation of generationsOf(deps.secrets).slice(1)) {
    const keys = deriveMailboxKeys(deps.secrets, email, generation);
    const stream = mailboxStream(keys.mailbox);
    if ((await deps.log.readStream(stream, 0, 1)).length > 0) return { keys, stream };
  }
  const keys = deriveMailboxKeys(deps.secrets, email);
  return { keys, stream: mailboxStream(keys.mailbox) };
};

/** Since when an owner may not contact the person of an address, in epoch milliseconds. */
export type SuppressionReader = (ownerId: string, email: string) => Promise<number | undefined>;

const readerFrom =
  (
    { secrets }: Pick<Deps, 'secrets'>,
    read: (mailboxKey: string) => Promise<Suppression | undefined>,
  ): SuppressionReader =>
  async (ownerId, email) => {
    for (const generation of generationsOf(secrets)) {
      const suppression = await read(deriveMailboxKey(secrets, email, generation));
      if (suppression) return suppressedSince(suppression, liveOwnerOf(ownerId));
    }
    return undefined;
  };

/** Reads one stream of the log for each address. */
export const suppressionInLog = (deps: Pick<Deps, 'log' | 'secrets'>): SuppressionReader =>
  readerFrom(deps, async (key) => {
    const state = await stateOf(deps, { stream: mailboxStream(key), decider: mailboxRequests });
    return state?.suppression;
  });

/** Reads one row for each address, for answers that show many. */
export const suppressionInRows = (deps: Pick<Deps, 'readModels' | 'secrets'>): SuppressionReader =>
  readerFrom(deps, (key) => deps.readModels.get<Suppression>('mailboxes', key, SUPPRESSION));

/** The dependencies of a read that masks the contacts of people who refuse contact. */
export const maskingDeps = (deps: Pick<Deps, 'log' | 'secrets' | 'vault'>) => ({
  vault: deps.vault,
  secrets: deps.secrets,
  suppression: suppressionInLog(deps),
});
