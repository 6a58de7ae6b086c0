/** Who may not be contacted any more. */
import { liveOwnerOf } from '#contracts/spaces.ts';
import {
  mailboxRequests,
  suppressedSince,
  type Suppression,
} from '#src/domain/privacy/mailbox-requests.ts';
import { SUPPRESSION } from '#src/ports/rows.ts';
import { stateOf } from '../events/fold.ts';
import { DESK } from '../pipeline/audit.ts';
import type { Deps } from '../pipeline/deps.ts';
import { deriveMailboxKeys } from './mailbox-keys.ts';

export const mailboxStream = (mailboxKey: string): string => `${DESK}-mailbox_${mailboxKey}`;

/** Since when an owner may not contact the person of an address, in epoch milliseconds. */
export type SuppressionReader = (ownerId: string, email: string) => Promise<number | undefined>;

const readerFrom =
  (
    { secrets }: Pick<Deps, 'secrets'>,
    read: (mailboxKey: string) => Promise<Suppression | undefined>,
  ): SuppressionReader =>
  async (ownerId, email) => {
    const suppression = await read(deriveMailboxKeys(secrets, email).mailbox);
    return suppression && suppressedSince(suppression, liveOwnerOf(ownerId));
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
