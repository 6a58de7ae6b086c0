import { LIMITS } from '#contracts/limits.ts';
import type { Position } from '#src/ports/event-log.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';
import type { Deps } from './call.ts';

/** Limit of the wait of a write's answer for the read models; a later read can wait with its token. */
const OWN_WRITE_WAIT_MS = 50;

/** Names a position of one log. Opaque to clients; another log refuses it. */
export const consistencyToken = (logId: string, position: Position): string =>
  Buffer.from(`${logId.slice(0, 8)}:${position}`).toString('base64url');

/** Waits until the read models of `scope` have reached the token, for LIMITS.CONSISTENCY_WAIT_MS_MAX at most. */
export const awaitToken = async (
  deps: Pick<Deps, 'log' | 'following'>,
  token: string | undefined,
  scope?: string,
): Promise<Refusal | undefined> => {
  if (token === undefined) return undefined;
  const [, logId, digits] =
    /^([^:]{8}):(\d{1,15})$/.exec(Buffer.from(token, 'base64url').toString('latin1')) ?? [];
  const position = Number(digits);
  const isOfThisLog =
    logId === deps.log.id.slice(0, 8) && position <= (await deps.log.head()).position;
  if (!isOfThisLog) return refuse('consistency_token_invalid', 'The token is not of this log.');
  if (await deps.following.passed(position, LIMITS.CONSISTENCY_WAIT_MS_MAX, scope))
    return undefined;
  return refuse(
    'consistency_timeout',
    'The read models have not reached the position of the token yet.',
    { retryAfterS: 1 },
  );
};

/** Waits until the read models of this process have passed its own write, so that it reads what it wrote. */
export const awaitOwnWrite = async (deps: Pick<Deps, 'following'>, position?: Position) => {
  if (position !== undefined) await deps.following.passed(position, OWN_WRITE_WAIT_MS);
};
