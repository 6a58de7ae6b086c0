/** When credentials were last used, as the newest events say. */
import type { EventData } from '#contracts/registries/events.ts';
import { testSpaceOf } from '#contracts/spaces.ts';
import { DESK } from '#src/calls/audit.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { StoredEvent } from '#src/ports/event-log.ts';
import { present } from '#src/shared/json.ts';
import { iso } from '#src/shared/time.ts';
import { idAtDesk } from './independence.ts';

/** Events of each owner that are read. */
const NEWEST_EVENTS = 2_000;

/** The keys and the desk token that an event names as used. */
const usedIn = ({ type, data, meta: { key, actor } }: StoredEvent): readonly string[] =>
  type === 'ActivityRecorded'
    ? (data as EventData<'ActivityRecorded'>).entries.map(({ key_id }) => key_id)
    : [key ?? idAtDesk(actor) ?? []].flat();

/** The last use of a credential that was issued at `issuedAt`, or since when it has none. */
type LastUse = (
  id: string,
  issuedAt: number,
) => { last_used_at: string } | { unused_since: string };

const lastUsesOf = async (
  { log }: Pick<Deps, 'log'>,
  owners: readonly (string | undefined)[],
): Promise<LastUse> => {
  const { position: upTo } = await log.head();
  const newest = await Promise.all(
    owners.map((owner) => log.readBack({ upTo, limit: NEWEST_EVENTS, ...present({ owner }) })),
  );
  const uses = new Map<string, number>();
  for (const event of newest.flat())
    for (const id of usedIn(event)) uses.set(id, Math.max(event.meta.at, uses.get(id) ?? 0));
  // Fewer are all that there are.
  const full = newest.filter(({ length }) => length === NEWEST_EVENTS);
  const readSince = Math.max(0, ...full.map(([oldest]) => oldest?.meta.at ?? 0));
  return (id, issuedAt) => {
    const at = uses.get(id);
    return at === undefined
      ? { unused_since: iso(Math.max(issuedAt, readSince)) }
      : { last_used_at: iso(at) };
  };
};

/** The last uses of the keys of an owner. */
export const lastUsesOfKeys = (deps: Pick<Deps, 'log'>, owner: string): Promise<LastUse> =>
  lastUsesOf(deps, [owner, testSpaceOf(owner)]);

/** The last uses of desk tokens, whose writes belong to all owners. */
export const lastUsesOfTokens = (deps: Pick<Deps, 'log'>): Promise<LastUse> =>
  lastUsesOf(deps, [DESK, undefined]);
