import type { FastifyRequest } from 'fastify';
import { PROBLEMS } from '#contracts/problems.ts';
import type { Limiter, Verdict } from '#src/app/pipeline/limiter.ts';
import type { Refusal } from '#src/app/pipeline/outcome.ts';
import { refuse } from '#src/app/pipeline/outcome.ts';

const GROUPS = 8;
const NETWORK_GROUPS = 4;

/** One customer of one provider: an address of IPv4, and of IPv6 the network that it is in (a /64). */
export const networkOf = (address: string): string => {
  if (!address.includes(':') || address.includes('.')) return address;
  const [left = [], right] = address
    .split('::')
    .map((half) => (half === '' ? [] : half.split(':')));
  const zeros = right ? GROUPS - left.length - right.length : 0;
  const groups = [...left, ...Array<string>(Math.max(0, zeros)).fill('0'), ...(right ?? [])];
  return `${groups.slice(0, NETWORK_GROUPS).join(':')}::`;
};

export const tooMany = (verdict: Verdict, limiter: Limiter): Refusal =>
  refuse('rate_limited', `At most ${limiter.perMinute} a minute.`, {
    retryAfterS: verdict.retryAfterS,
  });

/**
 * What a stranger is told, or that it was told too often. Only refusals are counted by address, and
 * whoever shows a good credential meets none: nobody can be locked out by a neighbour.
 */
export const limitedByAddress = (
  limiter: Limiter,
  { ip }: Pick<FastifyRequest, 'ip'>,
  refusal: Refusal,
): Refusal => {
  // What we cannot tell is no fault of whoever asks.
  if (PROBLEMS[refusal.code].status >= 500) return refusal;
  const verdict = limiter.take(networkOf(ip));
  return verdict.allowed ? refusal : tooMany(verdict, limiter);
};
