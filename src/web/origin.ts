/** The public origin of the service, and requests for other hosts. */
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { type Refusal, refuse } from '#src/shared/outcome.ts';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** An address of this machine by its name: browsers sign in with passkeys on `localhost` only. */
export const onLocalhost = (url: string): string =>
  url.replace(/^http:\/\/(?:127\.0\.0\.1|\[::1\])(?=[:/]|$)/, 'http://localhost');

const hostnameOf = (url: string): string | undefined =>
  URL.canParse(url) ? new URL(url).hostname.toLowerCase() : undefined;

/** Whether a page of this origin may call: the host must be the service's own, on any port. */
export const isOwnOrigin = (origin: string, own: string): boolean => {
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

/** Refuses requests from pages of other sites, and from host names that may have been rebound. */
export const originRefusal = (request: FastifyRequest, own: string): Refusal | undefined => {
  const { origin } = request.headers;
  if (origin !== undefined && !isOwnOrigin(origin, own))
    return refuse('origin_not_allowed', 'The Origin is another site.');
  if (!isAcceptedHost(request.host, own))
    return refuse('origin_not_allowed', 'This Host is not served here; set PUBLIC_URL.');
  return undefined;
};
