import { ALL_OWNERS, accessScope, type DeskTokenRow } from '#src/ports/rows.ts';
import { settingsStream } from '../outreach/settings.ts';
import { DESK } from '../pipeline/audit.ts';
import type { Deps } from '../pipeline/deps.ts';
import { Refused, refuse } from '../pipeline/outcome.ts';
import { listing } from '../read-models/listing.ts';
import { profileStream } from './profile.ts';

const PAGE_ROWS = 100;
const FOLLOW_MS_MAX = 1_000;
const LAGS = refuse('read_model_rebuilding', 'This process does not know all owners yet.', {
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
