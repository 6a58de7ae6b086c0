import type { FastifyRequest } from 'fastify';
import type { Rates } from '#contracts/limits.ts';
import { limiter, networkOf } from '#src/calls/limiter.ts';
import { type Refusal, refuse } from '#src/shared/outcome.ts';

type RequestClass = 'pages' | 'redirects' | 'calls';

const HEALTH = /^\/(?:livez|readyz|metrics)(?:\?|$)/;
const REDIRECT = /^\/l\/[^/?]+\/?(?:\?|$)/;
const CALL = /^\/(?:api|\.well-known|assets)\//;

/** The class of a request. Other spellings of a path are pages, which have the lowest limit. Health has no limit. */
const classOf = (url: string): RequestClass | undefined => {
  if (CALL.test(url)) return 'calls';
  if (REDIRECT.test(url)) return 'redirects';
  return HEALTH.test(url) ? undefined : 'pages';
};

/**
 * Limits what one network address requests from this process in a second, with or without a credential. Returns the
 * refusal of a request beyond the limit of its class.
 */
export const addressRates = (
  rates: Pick<Rates, 'pagesPerSecond' | 'redirectsPerSecond' | 'callsPerSecond'>,
  monotonic: () => number,
): ((request: Pick<FastifyRequest, 'url' | 'ip'>) => Refusal | undefined) => {
  const perSecond = (count: number) => limiter({ count, per: 'second' }, monotonic);
  const limiters = {
    pages: perSecond(rates.pagesPerSecond),
    redirects: perSecond(rates.redirectsPerSecond),
    calls: perSecond(rates.callsPerSecond),
  };
  return ({ url, ip }) => {
    const kind = classOf(url);
    if (kind === undefined) return undefined;
    const { rate, take } = limiters[kind];
    if (take(networkOf(ip)).allowed) return undefined;
    return refuse('rate_limited', `At most ${rate.count} ${kind} a second from one address.`, {
      retryAfterS: 1,
    });
  };
};
