/**
 * What a browser was asked before a sign-in, which it keeps for some minutes: random, with its end. Challenges, and the id of the
 * session that the answer starts, follow from it with a secret. So nothing is stored until the answer comes, every process knows
 * its own, and a second answer finds the session of the first one.
 */
import type { Deps } from '#src/calls/handlers.ts';
import type { Call } from '#src/shared/call.ts';
import { MINUTE_MS } from '#src/shared/time.ts';
import { nameOf, stateOf, streamOfSession } from '#src/writing/streams.ts';
import { session } from './session.decider.ts';

const RANDOM_CHARS = 22;
const ASKED = /^[0-9A-Za-z]{22}\.(\d{13})$/;
const SESSION_ID_CHARS = 12;

export const newAsked = (
  { ids }: Pick<Deps, 'ids'>,
  { at, minutes }: Pick<Call, 'at'> & { minutes: number },
): string => `${ids.base62(RANDOM_CHARS)}.${at + minutes * MINUTE_MS}`;

/** Whether there is still time for the answer. What follows from a text that is not ours fits no answer. */
export const isAsked = (asked: string, { at }: Pick<Call, 'at'>): boolean =>
  at < Number(ASKED.exec(asked)?.[1] ?? 0);

/** 32 bytes in hex that follow from what was asked. */
export const derivedFrom = (
  { secrets }: Pick<Deps, 'secrets'>,
  purpose: string,
  asked: string,
): string => secrets.mac('sign-in', `${purpose}:${asked}`);

export const sessionIdFrom = (deps: Pick<Deps, 'secrets'>, asked: string): string =>
  nameOf('session', derivedFrom(deps, 'session', asked)).slice(0, SESSION_ID_CHARS);

/** Whether an answer was used: it has started its session. */
export const isAnswered = async (
  deps: Pick<Deps, 'log' | 'secrets'>,
  asked: string,
): Promise<boolean> => {
  const stream = streamOfSession(sessionIdFrom(deps, asked));
  return (await stateOf(deps, { stream, decider: session })) !== undefined;
};
