import type { Server } from 'node:http';
import { BlockList, isIPv6 } from 'node:net';
import { networkOf } from '#src/app/limits/address-limit.ts';

/** The named ranges of TRUST_PROXY. */
const RANGES: Record<string, readonly string[]> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4');

/** Returns whether an address is one of the operator's proxies, which `trustProxy` names. */
const proxyTest = (trustProxy: boolean | string): ((address: string) => boolean) => {
  if (typeof trustProxy === 'boolean') return () => trustProxy;
  const proxies = new BlockList();
  for (const entry of trustProxy.split(',').flatMap((name) => RANGES[name] ?? [name])) {
    const [network = '', bits] = entry.split('/');
    if (bits === undefined) proxies.addAddress(network, familyOf(network));
    else proxies.addSubnet(network, Number(bits), familyOf(network));
  }
  return (address) => proxies.check(address, familyOf(address));
};

export type SocketLimit = {
  max: number;
  trustProxy: boolean | string;
  /** Called for each connection that is closed. */
  onRefused(): void;
};

/**
 * Closes a connection beyond `max` of one network address, before it sends anything: otherwise one address can hold all
 * SOCKETS_MAX places. Proxies have no limit, because all clients connect through them.
 */
export const limitSockets = (server: Server, { max, trustProxy, onRefused }: SocketLimit): void => {
  const isProxy = proxyTest(trustProxy);
  const open = new Map<string, number>();
  server.prependListener('connection', (socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || isProxy(remoteAddress)) return;
    const network = networkOf(remoteAddress);
    const count = open.get(network) ?? 0;
    if (count >= max) {
      onRefused();
      socket.destroy();
      return;
    }
    open.set(network, count + 1);
    socket.once('close', () => {
      const left = (open.get(network) ?? 1) - 1;
      if (left === 0) open.delete(network);
      else open.set(network, left);
    });
  });
};
