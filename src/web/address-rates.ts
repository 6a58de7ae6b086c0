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

const SECONDS_PER_MINUTE = 60;

/**
 * Limits what one network address requests from this process in a second, with or without a credential. Returns the
 * refusal of a request beyond the limit of its class.
 */
export const addressRates = (
  rates: Pick<Rates, 'pagesPerSecond' | 'redirectsPerSecond' | 'callsPerSecond'>,
  monotonic: () => number,
): ((request: Pick<FastifyRequest, 'url' | 'ip'>) => Refusal | undefined) => {
  // A limit of a minute by a clock that runs 60 times as fast is a limit of a second.
  const fast = (): number => monotonic() * SECONDS_PER_MINUTE;
  const limiters = {
    pages: limiter(rates.pagesPerSecond, fast),
    redirects: limiter(rates.redirectsPerSecond, fast),
    calls: limiter(rates.callsPerSecond, fast),
  };
  return ({ url, ip }) => {
    const kind = classOf(url);
    if (kind === undefined) return undefined;
    const { perMinute: perSecond, take } = limiters[kind];
    if (take(networkOf(ip)).allowed) return undefined;
    return refuse('rate_limited', `At most ${perSecond} ${kind} a second from one address.`, {
      retryAfterS: 1,
    });
  };
};
