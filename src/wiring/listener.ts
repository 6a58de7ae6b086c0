import type { FastifyInstance } from 'fastify';
import { LIMITS } from '#contracts/limits.ts';
import type { Config } from '#src/config.ts';

export type Listener = {
  /** Returns the public origin; if the port is chosen at random, it is correct after `listen`. */
  origin(): string;
  /** Starts the server and returns the URL it listens on. */
  listen(server: FastifyInstance): Promise<string>;
};

/**
 * Listens for connections and returns the URL. As many as the server accepts may wait while it is busy (the kernel's
 * `net.core.somaxconn` permitting): with the default of 511 a client beyond them tries again after 1, 3 and 7 seconds.
 */
export const listenAt = (
  server: FastifyInstance,
  address: { host: string; port: number },
): Promise<string> => server.listen({ ...address, backlog: LIMITS.SOCKETS_MAX });

export const createListener = ({ host, port, publicUrl }: Config): Listener => {
  const urlOf = (actualPort: number | string): string => {
    const isAny = host === '0.0.0.0' || host === '::';
    const name = isAny ? 'localhost' : host.includes(':') ? `[${host}]` : host;
    return `http://${name}:${actualPort}`;
  };
  let url = urlOf(port);
  return {
    origin: () => publicUrl ?? url,
    async listen(server) {
      url = urlOf(new URL(await listenAt(server, { host, port })).port);
      return url;
    },
  };
};
