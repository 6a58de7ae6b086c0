import type { Server } from 'node:http';
import { compile } from '@fastify/proxy-addr';
import { networkOf } from '#src/calls/limiter.ts';

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
  const isProxy =
    typeof trustProxy === 'boolean' ? () => trustProxy : compile(trustProxy.split(','));
  const open = new Map<string, number>();
  server.prependListener('connection', (socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || isProxy(remoteAddress, 0)) return;
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
