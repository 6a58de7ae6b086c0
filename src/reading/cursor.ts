import { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';
import type { Clock, Secrets } from '#src/ports/system.ts';
import { digestOf } from '#src/writing/hash.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';

/**
 * A cursor is opaque and signed. It holds a place in a listing and the time at which it was made; the
 * signature binds it to the owner and the query, so no other listing accepts it.
 */
const BODY = z.tuple([z.unknown(), z.int()]);
const MAC_CHARS = 32;

type CursorDeps = { secrets: Secrets; clock: Clock };
type ReadPlace<Place> = { ok: true; place: Place } | Refusal;

const INVALID = refuse('cursor_invalid', 'The cursor does not belong to this listing.');

/** Writes a cursor. `place` is JSON of at most about 250 bytes. */
export const writeCursor = (
  deps: CursorDeps,
  binding: readonly string[],
  place: unknown,
): string => {
  const body = Buffer.from(JSON.stringify([place, deps.clock.now()])).toString('base64url');
  return `${body}.${mac(deps.secrets, binding, body)}`;
};

/** Reads a cursor back; refuses one of another listing, of another shape or older than a day. */
export const readPlace = <Place>(
  deps: CursorDeps,
  binding: readonly string[],
  { cursor, shape }: { cursor: string; shape: z.ZodType<Place> },
): ReadPlace<Place> => {
  const [body = '', sentMac] = cursor.split('.');
  if (sentMac !== mac(deps.secrets, binding, body)) return INVALID;
  const parsed = BODY.safeParse(JSON.parse(Buffer.from(body, 'base64url').toString()));
  const place = shape.safeParse(parsed.data?.[0]);
  if (!parsed.success || !place.success) return INVALID;
  if (deps.clock.now() - parsed.data[1] > LIMITS.CURSOR_AGE_MS_MAX)
    return refuse('cursor_expired', 'A cursor is valid for one day. Start again without it.');
  return { ok: true, place: place.data };
};

/** Reads a cursor whose place is a whole number. */
export const readCursor = (
  deps: CursorDeps,
  binding: readonly string[],
  cursor: string,
): ReadPlace<number> => readPlace(deps, binding, { cursor, shape: z.int() });

const mac = (secrets: Secrets, binding: readonly string[], body: string): string =>
  secrets.mac('cursor', digestOf(...binding, body)).slice(0, MAC_CHARS);

/** What a cursor is bound to: the owner, and every parameter that decides the rows and their order. */
export const bindingOf = (
  ownerId: string,
  operation: string,
  input: Record<string, unknown>,
): string[] => {
  const { cursor: _cursor, limit: _limit, ...rest } = input;
  return [ownerId, operation, JSON.stringify(rest)];
};
