import { PROBLEMS } from '#contracts/problems.ts';
import type { Limiter, Verdict } from './limiter.ts';
import { type Refusal, refuse } from '../pipeline/outcome.ts';

const GROUPS = 8;
const NETWORK_GROUPS = 4;

/** The network of one customer: an IPv4 address as it is, or the /64 of an IPv6 address. */
export const networkOf = (address: string): string => {
  if (!address.includes(':') || address.includes('.')) return address;
  const [left = [], right] = address
    .split('::')
    .map((half) => (half === '' ? [] : half.split(':')));
  const zeros = right ? GROUPS - left.length - right.length : 0;
  const groups = [...left, ...Array<string>(Math.max(0, zeros)).fill('0'), ...(right ?? [])];
  return `${groups.slice(0, NETWORK_GROUPS).join(':')}::`;
};

export const tooMany = (verdict: Verdict, { perMinute }: Pick<Limiter, 'perMinute'>): Refusal =>
  refuse('rate_limited', `At most ${perMinute} a minute.`, { retryAfterS: verdict.retryAfterS });

/** Counts a link to a mailbox that anybody can have typed against its network; the refusal beyond the limit. */
export const refuseLink = (limit: Pick<Limiter, 'take'>, address: string): Refusal | undefined => {
  const { allowed, retryAfterS } = limit.take(networkOf(address));
  return allowed
    ? undefined
    : refuse('rate_limited', 'Too many links were asked for from this network today.', {
        retryAfterS,
      });
};

/**
 * Counts a refused credential against its network, and answers 429 instead of `refusal` beyond the limit.
 * Only refusals are counted, so a caller with a valid credential cannot be locked out by another client of the same network.
 */
export const limitByAddress = (limiter: Limiter, address: string, refusal: Refusal): Refusal => {
  // The service is at fault for these, not the caller.
  if (PROBLEMS[refusal.code].status >= 500) return refusal;
  const verdict = limiter.take(networkOf(address));
  return verdict.allowed ? refusal : tooMany(verdict, limiter);
};
