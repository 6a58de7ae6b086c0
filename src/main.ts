import type { FastifyInstance } from 'fastify';
import { prometheusMetrics } from '#src/adapters/system/metrics.ts';
import type { Dispatcher } from '#src/app/outreach/dispatcher.ts';
import type { ServerOptions } from '#src/interfaces/server.ts';
import { buildServer } from '#src/interfaces/server.ts';
import type { Config } from './config.ts';
import type { Core, CoreOptions } from './core.ts';
import { openCore } from './core.ts';
import { dispatcherOf } from './outreach-dispatcher.ts';
import { ensureRootToken } from './root-token.ts';
import { finishingErasures } from './wiring/erasures.ts';
import { healthServer } from './wiring/health-server.ts';
import { serviceLogger } from './wiring/logger.ts';

export { serviceLogger };

export type Service = Pick<Core, 'deps'> & {
  config: Config;
  server: FastifyInstance;
  /** Sends approved outreach once it is started; close() stops it. */
  dispatcher: Dispatcher;
  /** Starts the HTTP server; answers the URL it listens on. */
  listen(): Promise<string>;
  /** Stops taking requests, drains, flushes, releases the lock. */
  close(): Promise<void>;
};

export type ServiceOptions = Omit<CoreOptions, 'metrics'> & Pick<ServerOptions, 'instance'>;

/**
 * The core and the interfaces on it, not yet listening, with a first desk token where there is none.
 * Throws as openCore does.
 */
export const openService = async (
  config: Config,
  options: ServiceOptions = {},
): Promise<Service> => {
  const core = await openCore(config, { ...options, metrics: prometheusMetrics() });
  const { deps, logger: log, address } = core;
  if (options.role !== 'dispatcher') await withRootToken(core, config);
  const { trustProxy, countryHeader } = config;
  const server =
    options.role === 'dispatcher'
      ? healthServer(deps, log)
      : buildServer(deps, { log, trustProxy, countryHeader, instance: options.instance });
  const dispatcher = dispatcherOf(deps, config, log);
  const erasures = finishingErasures(deps, config, log);
  return {
    deps,
    config,
    server,
    dispatcher,
    listen: () => address.listen(server),
    async close() {
      // Requests and sendings first, then what they left behind, then the stores under it all.
      await Promise.all([server.close(), dispatcher.stop(), erasures.stop()]);
      await core.close();
    },
  };
};

const withRootToken = async ({ deps, close }: Core, config: Config): Promise<void> => {
  try {
    await ensureRootToken(deps, config);
  } catch (error) {
    await close();
    throw error;
  }
};
