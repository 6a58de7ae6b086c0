/** The operation that reads events for auditors. */
import { type Position, type StoredEvent, ownerOfStream } from '#src/ports/event-log.ts';
import { done, refuse } from '#src/shared/outcome.ts';
import { iso, renderAsOf } from '#src/shared/time.ts';
import type { Deps } from '#src/calls/handlers.ts';
import {
  type DeskHandler,
  type DeskInput,
  isBound,
  mayActFor,
  NO_OWNER,
} from '#src/calls/desk-handler.ts';
import {
  streamOfKey,
  streamOfPerson,
  streamOfSession,
  streamOfToken,
} from '#src/writing/streams.ts';
import { idAtDesk } from '#src/access/independence.ts';
import { newestEntries } from '#src/reading/owner-index.ts';

type Parts = Pick<Deps, 'log' | 'credentials'>;

/** The stream of the credential that an event was written with, if that credential is revoked now. */
const revokedStreamOf = (
  { credentials }: Parts,
  { actor, key: keyId, session }: StoredEvent['meta'],
): string | undefined => {
  const key = keyId === undefined ? undefined : credentials.key(keyId);
  if (key) return key.status === 'revoked' ? streamOfKey(key.owner, key.key_id) : undefined;
  const id = idAtDesk(actor);
  if (id === undefined) return undefined;
  if (credentials.person(id)?.status === 'ended') return streamOfPerson(id);
  if (session !== undefined && credentials.session(session)?.status === 'ended')
    return streamOfSession(session);
  return credentials.deskToken(id)?.status === 'revoked' ? streamOfToken(id) : undefined;
};

const REVOCATIONS: ReadonlySet<string> = new Set([
  'KeyRevoked',
  'DeskTokenRevoked',
  'PersonEnded',
  'SessionEnded',
]);

/**
 * Returns the positions of the events that were written with an API key, a desk token or a session after its end. A log on
 * a server accepts such an append for up to a second, because it cannot check another stream. Reads one stream for
 * each revoked credential.
 */
const findLateEvents = async (
  parts: Parts,
  events: readonly StoredEvent[],
): Promise<ReadonlySet<Position>> => {
  const revokedAt = new Map<string, Position>();
  const late = new Set<Position>();
  for (const { meta, position } of events) {
    const stream = revokedStreamOf(parts, meta);
    if (stream === undefined) continue;
    const known = revokedAt.get(stream) ?? (await revocationIn(parts, stream));
    revokedAt.set(stream, known);
    if (position > known) late.add(position);
  }
  return late;
};

const revocationIn = async ({ log }: Parts, stream: string): Promise<Position> =>
  (await log.readStream(stream)).find(({ type }) => REVOCATIONS.has(type))?.position ?? Infinity;

const render = (
  { position, stream, revision, id, type, data, meta }: StoredEvent,
  late: ReadonlySet<Position>,
) => ({
  position,
  stream,
  revision,
  id,
  type,
  at: iso(meta.at),
  data: data as Record<string, unknown>,
  meta: meta as Record<string, unknown>,
  ...(late.has(position) && { after_revocation: true as const }),
});

export const readEvents: DeskHandler<'readEvents'> = async (deps, input, call) => {
  const { stream, owner_id, limit } = input;
  const head = (await deps.log.head()).position;
  // A stream belongs to the owner in its name, even if owner_id names another.
  const owner = stream === undefined ? owner_id : ownerOfStream(stream);
  if (owner === undefined ? isBound(call) : !mayActFor(call, owner))
    return refuse('resource_not_found', 'There is no such history.');
  const query = { ...input, upTo: input.up_to ?? head };
  const events = await eventsOf(deps, query);
  const shown = events.slice(0, limit);
  const late = await findLateEvents(deps, shown);
  return done({
    data: shown.map((event) => render(event, late)),
    head,
    more: events.length > limit || (await hasMore(deps, query, events)),
  });
};

type EventQuery = DeskInput<'readEvents'> & { upTo: Position };

/** Whether events were left out because a page of large ones ends before the limit. */
const hasMore = async (
  deps: Pick<Deps, 'log'>,
  { last, ...query }: EventQuery,
  events: readonly StoredEvent[],
): Promise<boolean> => {
  const [first, end] = [events[0], events.at(-1)];
  if (query.stream !== undefined || !first || !end) return false;
  const { owner_id: owner } = query;
  if (last === undefined)
    return (await eventsOf(deps, { ...query, after: end.position, limit: 0 })).length > 0;
  if (events.length >= last) return false;
  const before = { upTo: first.position - 1, limit: 1, ...(owner !== undefined && { owner }) };
  return (await deps.log.readBack(before)).some(({ position }) => position > query.after);
};

/** Reads events in log order; one more than `limit` if there are more. */
const eventsOf = async (
  { log }: Pick<Deps, 'log'>,
  { stream, owner_id: owner, after, upTo, limit: shown, last }: EventQuery,
): Promise<StoredEvent[]> => {
  const isWithin = ({ position }: StoredEvent): boolean => position > after && position <= upTo;
  if (stream !== undefined) {
    const events = (await log.readStream(stream)).filter(isWithin);
    return last === undefined ? events : events.slice(-last);
  }
  if (last !== undefined) {
    const query = { upTo, limit: last, ...(owner !== undefined && { owner }) };
    return (await log.readBack(query)).filter(isWithin);
  }
  const limit = shown + 1;
  return owner === undefined
    ? (await log.readAll({ after, limit })).filter(isWithin)
    : log.readOwner(owner, { after, upTo, limit });
};

export const listHistory: DeskHandler<'listHistory'> = async (deps, input, call) => {
  const { owner_id: owner, as_of, before, limit } = input;
  if (!mayActFor(call, owner)) return NO_OWNER;
  const below = Math.min(before ?? Infinity, as_of === undefined ? Infinity : as_of + 1);
  const entries = await newestEntries(deps.readModels, { owner, below, limit: limit + 1 });
  const shown = entries.slice(0, limit);
  const now = renderAsOf(deps.following.asOf());
  return done({
    data: shown.map(({ at, ...entry }) => ({ ...entry, at: iso(at) })),
    next_before: entries.length > limit ? (shown.at(-1)?.position ?? null) : null,
    as_of: as_of === undefined ? now : { position: as_of, at: shown[0] ? iso(shown[0].at) : null },
  });
};
