/** What an owner decides for all links and all agents. */
import { liveOwnerOf } from '#contracts/spaces.ts';
import type { OwnerSettings } from '#src/owners/profile.decider.ts';
import type { ReadModels } from '#src/ports/read-model.ts';
import { OWNER_SETTINGS } from '#src/ports/rows.ts';

/** Reads the settings of an owner, which its test space shares; undefined if it has no profile. */
export const readOwnerSettings = (
  { readModels }: { readModels: Pick<ReadModels, 'get'> },
  ownerId: string,
): Promise<OwnerSettings | undefined> =>
  readModels.get<OwnerSettings>('codes', liveOwnerOf(ownerId), OWNER_SETTINGS);
