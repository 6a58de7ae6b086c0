/** How buyers see a promoter. Interfaces of agents reach it, and no act at the desk. */
import { liveOwnerOf } from '#contracts/spaces.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { readOwnerSettings } from '#src/reading/live-sources.ts';
import { openRecord } from '#src/sealing/sealed-texts.ts';

/** The name of a promoter for buyers: that of its profile; without one its short name. */
export const promoterName = async (
  deps: Pick<Deps, 'readModels' | 'vault'>,
  ownerId: string,
): Promise<string> => {
  const settings = await readOwnerSettings(deps, ownerId);
  const profile =
    settings && (await openRecord<{ name: string }>(deps.vault, settings.sealed_profile));
  return typeof profile === 'object' ? profile.name : liveOwnerOf(ownerId);
};
