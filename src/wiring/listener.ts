/** Listens on an address, and closes after a grace period. */
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { LIMITS } from '#contracts/limits.ts';
import type { Deps } from '#src/calls/handlers.ts';
import type { Config } from '#src/config.ts';
import { metricsRoutes, type HealthDeps, healthRoutes } from '#src/web/health.ts';
import { httpServer } from '#src/web/http.ts';

export type Listener = {
  /** Returns the public origin; if the port is chosen at random, it is correct after `listen`. */
  origin(): string;
  isListening(): boolean;
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
  let isListening = false;
  return {
    origin: () => publicUrl ?? url,
    isListening: () => isListening,
    async listen(server) {
      url = urlOf(new URL(await listenAt(server, { host, port })).port);
      isListening = true;
      return url;
    },
  };
};

/** Builds the server of a process without interfaces: health and metrics for its supervisor. */
export const healthServer = (
  deps: HealthDeps & Pick<Deps, 'ids' | 'origin' | 'metrics'>,
  log: Logger,
  instance?: string,
): FastifyInstance => {
  const { ids, clock, origin, metrics } = deps;
  const onForbidden = () => undefined;
  const server = httpServer({ ids, clock, origin, log, trustProxy: false, onForbidden });
  if (metrics) metricsRoutes(server, { ...deps, metrics });
  healthRoutes(server, deps, instance);
  return server;
};

/** How long pending calls may wait for a server after the shutdown has begun. */
const GRACE_MS = 1_000;

/**
 * Closes a connection after a grace period from `signal` on, so that pending calls fail and shutdown
 * cannot hang. Closing it again later has no effect.
 */
export const closeAfterGrace = (
  signal: AbortSignal,
  connection: { close(): Promise<void> },
): void => {
  const close = (): void => void connection.close();
  signal.addEventListener('abort', () => setTimeout(close, GRACE_MS).unref());
};
