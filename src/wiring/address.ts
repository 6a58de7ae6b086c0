import type { FastifyInstance } from 'fastify';
import type { Config } from '#src/config.ts';

const shownHost = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
};

export type Address = {
  /** The public origin; with a port that is picked it is right only after listen(). */
  origin(): string;
  /** Starts the server; answers the URL it listens on. */
  listen(server: FastifyInstance): Promise<string>;
};

export const addressOf = ({ host, port, publicUrl }: Config): Address => {
  let own = `http://${shownHost(host)}:${port}`;
  return {
    origin: () => publicUrl ?? own,
    async listen(server) {
      const address = await server.listen({ host, port });
      own = `http://${shownHost(host)}:${new URL(address).port}`;
      return own;
    },
  };
};
