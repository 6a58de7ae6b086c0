/** Which hosts we may speak to when somebody else has named them. */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = { address: string; family: 4 | 6 };

/** All addresses of a name. Throws when it has none. */
export type Resolve = (host: string) => Promise<Address[]>;

export const systemResolve: Resolve = async (host) =>
  (await lookup(host, { all: true })).map(({ address, family }) => ({
    address,
    family: family === 6 ? 6 : 4,
  }));

// All that IANA has given out for the internet. What lies outside it, the deprecated forms that
// embed an IPv4 address among them (::127.0.0.1), is nobody's public host.
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** Whether anybody on the internet could mean this address: not a private, local or embedded one. */
export const isPublic = (address: string): boolean => {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_IPV6);
};

/** The host of a URL as a resolver takes it; an IP address is its own and only answer. */
export const literalOf = (hostname: string): Address | undefined => {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(bare);
  return family === 0 ? undefined : { address: bare, family: family === 6 ? 6 : 4 };
};

const HTTPS_PORT = 443;
const HTTP_PORT = 80;
/** Below it live the services of machines (ssh, mail, files), of which none speaks HTTPS. */
const FREE_PORT_MIN = 1_024;

const LOCAL_NAME = /(?:^|\.)localhost\.?$/;

export type Target = { url: URL; port: number; isPrivate: boolean };

/**
 * The target of a request, or why nothing may be sent there. `privateHosts` are `host:port` as a URL
 * shows them, which alone may be plain HTTP and have private addresses.
 */
export const targetOf = (
  text: string,
  privateHosts: ReadonlySet<string>,
): Target | { fault: string } => {
  if (!URL.canParse(text)) return { fault: 'url_invalid' };
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return { fault: 'url_has_userinfo' };
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return { fault: 'scheme_not_allowed' };
  const port = Number(url.port) || (url.protocol === 'https:' ? HTTPS_PORT : HTTP_PORT);
  if (privateHosts.has(`${url.hostname}:${port}`)) return { url, port, isPrivate: true };
  if (url.protocol !== 'https:') return { fault: 'scheme_not_allowed' };
  if (port !== HTTPS_PORT && port < FREE_PORT_MIN) return { fault: 'port_not_allowed' };
  // By RFC 6761 it is this machine, whatever a resolver makes of it.
  if (LOCAL_NAME.test(url.hostname)) return { fault: 'address_not_public' };
  return { url, port, isPrivate: false };
};
