import { z } from 'zod';
import { LIMITS } from '#contracts/limits.ts';
import type { Clock, Secrets } from '#src/ports/system.ts';
import { digestOf } from '../events/hash.ts';
import { type Refusal, refuse } from '../pipeline/outcome.ts';

/**
 * Opaque and signed: a cursor holds where a listing stands and is bound to the owner and the query,
 * so that it opens nothing else.
 */
const shape = z.tuple([z.unknown(), z.int()]);
const MAC_CHARS = 32;

/** `place` is JSON, and short: a cursor has room for some 250 bytes of it. */
export const writeCursor = (
  deps: { secrets: Secrets; clock: Clock },
  binding: readonly string[],
  place: unknown,
): string => {
  const body = Buffer.from(JSON.stringify([place, deps.clock.now()])).toString('base64url');
  return `${body}.${mac(deps.secrets, binding, body)}`;
};

/** A place of the shape that the listing wrote. */
export const readCursorOf = <Place>(
  deps: { secrets: Secrets; clock: Clock },
  binding: readonly string[],
  cursor: string,
  placeShape: z.ZodType<Place>,
): { ok: true; place: Place } | Refusal => {
  const [body = '', sent = ''] = cursor.split('.');
  if (sent !== mac(deps.secrets, binding, body))
    return refuse('cursor_invalid', 'The cursor is not of this listing.');
  const parsed = shape.safeParse(JSON.parse(Buffer.from(body, 'base64url').toString()));
  const place = placeShape.safeParse(parsed.data?.[0]);
  if (!parsed.success || !place.success)
    return refuse('cursor_invalid', 'The cursor is not of this listing.');
  const [, at] = parsed.data;
  if (deps.clock.now() - at > LIMITS.CURSOR_AGE_MS_MAX)
    return refuse('cursor_expired', 'Cursors live for a day.');
  return { ok: true, place: place.data };
};

/** The same, where a place is a number. */
export const readCursor = (
  deps: { secrets: Secrets; clock: Clock },
  binding: readonly string[],
  cursor: string,
) => readCursorOf(deps, binding, cursor, z.int());

const mac = (secrets: Secrets, binding: readonly string[], body: string): string =>
  secrets.mac('cursor', digestOf(...binding, body)).slice(0, MAC_CHARS);

/** What a cursor is bound to: the owner, and every parameter that decides which rows come in which order. */
export const bindingOf = (
  ownerId: string,
  operation: string,
  input: Record<string, unknown>,
): string[] => {
  const { cursor: _cursor, limit: _limit, ...rest } = input;
  return [ownerId, operation, JSON.stringify(rest)];
};
