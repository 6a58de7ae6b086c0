/** The public origin of the service, and requests for other hosts. */
import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Refusal, refuse } from '#src/shared/outcome.ts';
import { pathIn } from './http.ts';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

const hostnameOf = (url: string): string | undefined =>
  URL.canParse(url) ? new URL(url).hostname.toLowerCase() : undefined;

/** Whether a page of this origin may call: the host must be the service's own, on any port. */
const isOwnOrigin = (origin: string, own: string): boolean => {
  const asked = hostnameOf(origin);
  const mine = hostnameOf(own);
  if (asked === undefined || mine === undefined) return false;
  return asked === mine || (LOOPBACK.has(mine) && LOOPBACK.has(asked));
};

/**
 * Whether a Host header is safe from DNS rebinding. An attacker can only rebind a public name, which has a dot: IP
 * addresses and names of the local network are safe.
 */
const isOwnHost = (host: string, own: string): boolean => {
  const name = hostnameOf(`http://${host}`);
  if (name === undefined) return false;
  const isAddress = isIP(name) !== 0 || name.startsWith('[');
  return isAddress || !name.includes('.') || name === hostnameOf(own);
};

/** Accepted hosts: parsing a host costs more than the rest of the check. */
const accepted = new Set<string>();
const ACCEPTED_MAX = 1_000;

const isAcceptedHost = (host: string, own: string): boolean => {
  const key = `${host} ${own}`;
  if (accepted.has(key)) return true;
  if (!isOwnHost(host, own)) return false;
  if (accepted.size >= ACCEPTED_MAX) accepted.clear();
  accepted.add(key);
  return true;
};

type WebAccess = {
  /** The origin of this service. */
  own(): string;
  /** Other origins whose pages may call. */
  named: readonly string[];
  /** Headers of requests that pages may send, and of answers that they may read. */
  headers: string;
  exposed: string;
};

const PREFLIGHT_S = '86400';

/** Answers pages of this service and of the named origins; refuses others, and host names that may have been rebound. */
export const webAccess = ({ own, named, headers, exposed }: WebAccess) => {
  const mayCall = (origin: string): boolean =>
    isOwnOrigin(origin, own()) || named.includes(origin.toLowerCase());
  const allow = ({ headers: { origin } }: FastifyRequest, reply: FastifyReply): void => {
    // A shared cache must not give the answer of one origin to another.
    reply.header('vary', 'Origin');
    if (origin !== undefined && mayCall(origin))
      reply.headers({
        'access-control-allow-origin': origin,
        'access-control-expose-headers': exposed,
      });
  };
  return {
    allow,
    refusal(request: FastifyRequest): Refusal | undefined {
      const { origin } = request.headers;
      if (origin !== undefined && !mayCall(origin))
        return refuse(
          'origin_not_allowed',
          'The Origin is another site, which ORIGINS does not name.',
        );
      if (!isAcceptedHost(request.host, own()))
        return refuse('origin_not_allowed', 'This Host is not served here; set PUBLIC_URL.');
      return undefined;
    },
    /** Answers a preflight request, which has no credential. */
    async preflight(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      allow(request, reply);
      const methods = request.server.methodsOf(pathIn(request));
      return reply
        .headers({
          allow: [...methods, 'OPTIONS'].join(', '),
          'access-control-allow-methods': methods.join(', '),
          'access-control-allow-headers': headers,
          'access-control-expose-headers': exposed,
          'access-control-max-age': PREFLIGHT_S,
        })
        .code(204)
        .send();
    },
  };
};
