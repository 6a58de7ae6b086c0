import type { FastifyInstance } from 'fastify';
import type { Config } from '#src/config.ts';

export type Listener = {
  /** Returns the public origin; if the port is chosen at random, it is correct after `listen`. */
  origin(): string;
  /** Starts the server and returns the URL it listens on. */
  listen(server: FastifyInstance): Promise<string>;
};

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
      url = urlOf(new URL(await server.listen({ host, port })).port);
      return url;
    },
  };
};
