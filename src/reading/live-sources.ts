/** Whether a link or a list that an agent names as a source still counts, and other records with its external_id. */
import type { RecordWarning } from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import type { Deps } from '#src/calls/handlers.ts';
import { requireCurrent } from '#src/calls/failure.ts';
import type { HandoffState } from '#src/handoffs/handoff.decider.ts';
import { type LinkState, linkStatusAt } from '#src/links/link.decider.ts';
import { clickKey, type LastClick } from '#src/ports/performance-rows.ts';
import { listOfExternalId, OWNER_SETTINGS } from '#src/ports/rows.ts';
import { DAY_MS } from '#src/shared/time.ts';
import { liveOwnerOf } from '#contracts/spaces.ts';
import type { OwnerSettings } from '#src/owners/profile.decider.ts';
import type { ReadModels } from '#src/ports/read-model.ts';

type Place = { ownerId: string; at: number };

/** The attribution window of these settings, in days. */
export const windowOf = (settings: OwnerSettings | undefined): number =>
  settings?.attribution_days ?? LIMITS.ATTRIBUTION_DAYS;

/** The attribution window of the owner now, in days. An event that is made now keeps it. */
export const windowNow = async (deps: Pick<Deps, 'readModels'>, ownerId: string): Promise<number> =>
  windowOf(await readOwnerSettings(deps, ownerId));

/** A link is live for the window of its last valid click, and before its first click while it is active and new. */
export const isLiveLink = async (
  deps: Pick<Deps, 'readModels' | 'log' | 'following'>,
  { ownerId, at }: Place,
  state: LinkState,
): Promise<boolean> => {
  const isLive = async (): Promise<boolean> => {
    const key = clickKey(state.link_id);
    const click = await deps.readModels.get<LastClick>('performance', ownerId, key);
    if (click) return at < click.until;
    if (linkStatusAt(state, at) !== 'active') return false;
    return at < state.created_at + (await windowNow(deps, ownerId)) * DAY_MS;
  };
  if (await isLive()) return true;
  // This process may not have read the last click yet.
  await requireCurrent(deps);
  return isLive();
};

/** A list is live for the window from its making. */
export const isLiveList = (
  { created_at, window_days }: Pick<HandoffState, 'created_at' | 'window_days'>,
  at: number,
): boolean => at < created_at + window_days * DAY_MS;

export const notLive = (id: string): RecordWarning => ({ code: 'source_not_live', id });

/** Rows that are read, which differ from the external_id at most in capitals and spaces. */
const SAME_MAX = 25;

/** Warns of the newest other link or handoff of the owner that has the external_id. */
export const warnInUse = async (
  { readModels }: Pick<Deps, 'readModels'>,
  ownerId: string,
  { external_id, id }: { external_id: string | undefined; id: string },
): Promise<RecordWarning[]> => {
  if (external_id === undefined) return [];
  const query = { scope: ownerId, list: listOfExternalId(external_id), limit: SAME_MAX };
  const [links, handoffs] = await Promise.all([
    readModels.list<LinkState>('links', query),
    readModels.list<HandoffState>('handoffs', query),
  ]);
  const others = [
    ...links.map(({ row, sort }) => ({ ...row, id: row.link_id, sort })),
    ...handoffs.map(({ row, sort }) => ({ ...row, id: row.handoff_id, sort })),
  ].filter((one) => one.external_id === external_id && one.id !== id);
  const [newest] = others.sort((a, b) => b.sort - a.sort);
  return newest ? [{ code: 'external_id_in_use', id: newest.id }] : [];
};

/** The member of an event, or none without warnings. */
export const warned = (warnings: readonly RecordWarning[]): { warnings?: RecordWarning[] } =>
  warnings.length > 0 ? { warnings: [...warnings] } : {};

/** Reads the settings of an owner, which its test space shares; undefined if it has no profile. */
export const readOwnerSettings = (
  { readModels }: { readModels: Pick<ReadModels, 'get'> },
  ownerId: string,
): Promise<OwnerSettings | undefined> =>
  readModels.get<OwnerSettings>('codes', liveOwnerOf(ownerId), OWNER_SETTINGS);
