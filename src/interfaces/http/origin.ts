import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { type Refusal, refuse } from '#src/app/pipeline/outcome.ts';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

const hostnameOf = (url: string): string | undefined =>
  URL.canParse(url) ? new URL(url).hostname.toLowerCase() : undefined;

/** Whether a page of this origin may call: one of the service's own, whatever its port. */
export const isOwnOrigin = (origin: string, own: string): boolean => {
  const asked = hostnameOf(origin);
  const mine = hostnameOf(own);
  if (asked === undefined || mine === undefined) return false;
  return asked === mine || (LOOPBACK.has(mine) && LOOPBACK.has(asked));
};

/**
 * A rebound name is a public one, with a dot: an address, and a name that only the local network
 * knows, cannot be made to point here by somebody else.
 */
const isOwnHost = (host: string, own: string): boolean => {
  const name = hostnameOf(`http://${host}`);
  if (name === undefined) return false;
  const isAddress = isIP(name) !== 0 || name.startsWith('[');
  return isAddress || !name.includes('.') || name === hostnameOf(own);
};

/** Hosts that were let in, because to read a name costs more than the rest of the door. */
const known = new Set<string>();
const KNOWN_MAX = 1_000;

const isKnownHost = (host: string, own: string): boolean => {
  const asked = `${host} ${own}`;
  if (known.has(asked)) return true;
  if (!isOwnHost(host, own)) return false;
  if (known.size >= KNOWN_MAX) known.clear();
  known.add(asked);
  return true;
};

/** Browsers of other sites, and names that were rebound to this machine, are turned away at the door. */
export const originRefusal = (request: FastifyRequest, own: string): Refusal | undefined => {
  const { origin } = request.headers;
  if (origin !== undefined && !isOwnOrigin(origin, own))
    return refuse('origin_not_allowed', 'The Origin is another site.');
  if (!isKnownHost(request.host, own))
    return refuse('origin_not_allowed', 'The Host is not this service; PUBLIC_URL names its host.');
  return undefined;
};
