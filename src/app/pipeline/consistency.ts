import { LIMITS } from '#contracts/limits.ts';
import type { Position } from '#src/ports/event-log.ts';
import type { Deps } from './deps.ts';
import { type Refusal, refuse } from './outcome.ts';

/** A write's answer waits this long, at most, for the read models; the token covers the rest. */
const OWN_WRITE_WAIT_MS = 50;

/** Names a position of this log; opaque to clients, refused by another log. */
export const consistencyToken = (logId: string, position: Position): string =>
  Buffer.from(`${logId.slice(0, 8)}:${position}`).toString('base64url');

/** Waits, bounded, until the read models have passed the token, as far as `scope` is asked for. */
export const awaitToken = async (
  deps: Pick<Deps, 'log' | 'following'>,
  token: string | undefined,
  scope?: string,
): Promise<Refusal | undefined> => {
  if (token === undefined) return undefined;
  const [, logId, digits] =
    /^([^:]{8}):(\d{1,15})$/.exec(Buffer.from(token, 'base64url').toString('latin1')) ?? [];
  const position = Number(digits);
  const known = logId === deps.log.id.slice(0, 8) && position <= (await deps.log.head()).position;
  if (!known) return refuse('consistency_token_invalid', 'The token is not of this log.');
  if (await deps.following.passed(position, LIMITS.CONSISTENCY_WAIT_MS_MAX, scope))
    return undefined;
  return refuse('consistency_timeout', 'The read models are behind the token.', { retryAfterS: 1 });
};

/** In one process the read models have passed a write before it is answered. */
export const awaitOwnWrite = async (deps: Pick<Deps, 'following'>, position?: Position) => {
  if (position !== undefined) await deps.following.passed(position, OWN_WRITE_WAIT_MS);
};
