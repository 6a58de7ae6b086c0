/** The rules for hosts in URLs that come from other people. */
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Resolves a name to all its addresses. Throws when it has none. */
export type Resolve = (host: string) => Promise<LookupAddress[]>;

export const systemResolve: Resolve = (host) => lookup(host, { all: true });

// The range that IANA allocates for the internet. Addresses outside it are not public, among them the
// deprecated forms that embed an IPv4 address (::127.0.0.1).
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** Reports whether an address is globally reachable: not private, local or an embedded IPv4 address. */
export const isPublic = (address: string): boolean => {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_IPV6);
};

/** The address, if the host of a URL is an IP address. */
export const literalAddress = (hostname: string): LookupAddress | undefined => {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(bare);
  return family === 0 ? undefined : { address: bare, family };
};

const HTTPS_PORT = 443;
const HTTP_PORT = 80;
/** Lower ports belong to other services (ssh, mail, files). */
const UNPRIVILEGED_PORT_MIN = 1_024;

const LOCAL_NAME = /(?:^|\.)localhost\.?$/;

export type RequestTarget = { url: URL; port: number; isPrivate: boolean };

/**
 * Checks the URL of a request; returns the reason when nothing may be sent there. Only `privateHosts`
 * (`host:port` as in URLs) may use plain HTTP and have private addresses.
 */
export const checkTarget = (
  text: string,
  privateHosts: ReadonlySet<string>,
): RequestTarget | { fault: string } => {
  if (!URL.canParse(text)) return { fault: 'url_invalid' };
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return { fault: 'url_has_userinfo' };
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return { fault: 'scheme_not_allowed' };
  const port = Number(url.port) || (url.protocol === 'https:' ? HTTPS_PORT : HTTP_PORT);
  if (privateHosts.has(`${url.hostname}:${port}`)) return { url, port, isPrivate: true };
  if (url.protocol !== 'https:') return { fault: 'scheme_not_allowed' };
  if (port !== HTTPS_PORT && port < UNPRIVILEGED_PORT_MIN) return { fault: 'port_not_allowed' };
  // By RFC 6761 these names are this machine, whatever a resolver answers.
  if (LOCAL_NAME.test(url.hostname)) return { fault: 'address_not_public' };
  return { url, port, isPrivate: false };
};

/**
 * The reason why a request to this URL is refused before its host is resolved; undefined when only the resolved
 * addresses can tell.
 */
export const unresolvedFault = (
  text: string,
  privateHosts: ReadonlySet<string>,
): string | undefined => {
  const target = checkTarget(text, privateHosts);
  if ('fault' in target) return target.fault;
  const literal = literalAddress(target.url.hostname);
  return literal && !target.isPrivate && !isPublic(literal.address)
    ? 'address_not_public'
    : undefined;
};
