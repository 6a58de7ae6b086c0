import type { FastifyInstance } from 'fastify';
import { prometheusMetrics } from '#src/adapters/system/metrics.ts';
import type { Dispatcher } from '#src/app/outreach/dispatcher.ts';
import { buildServer, type ServerOptions } from '#src/interfaces/server.ts';
import type { Config } from './config.ts';
import { type Core, type CoreOptions, openCore } from './core.ts';
import { dispatcherOf } from './wiring/outreach-dispatcher.ts';
import { ensureRootToken } from './wiring/root-token.ts';
import { finishingErasures } from './wiring/erasures.ts';
import { healthServer } from './wiring/health-server.ts';
import { serviceLogger } from './wiring/logger.ts';

export { serviceLogger };

export type Service = Pick<Core, 'deps' | 'app'> & {
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
  const parts = new AsyncDisposableStack();
  try {
    const core = await openCore(config, { ...options, metrics: prometheusMetrics() });
    parts.defer(() => core.close());
    return {
      ...(await serving(core, config, { options, parts })),
      close: () => parts.disposeAsync(),
    };
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
};

const serving = async (
  { deps, app, logger: log, address }: Core,
  config: Config,
  { options, parts }: { options: ServiceOptions; parts: AsyncDisposableStack },
): Promise<Omit<Service, 'close'>> => {
  const { trustProxy, countryHeader } = config;
  if (options.role !== 'dispatcher') await ensureRootToken(deps, config);
  const server =
    options.role === 'dispatcher'
      ? healthServer(deps, log, options.instance)
      : buildServer(
          app,
          { ...deps, awaited: () => deps.confirmation?.awaited() },
          { log, trustProxy, countryHeader, instance: options.instance },
        );
  const dispatcher = dispatcherOf(deps, config, log);
  const erasures = finishingErasures(deps, config, log);
  parts.defer(() => allOf(server.close(), dispatcher.stop(), erasures.stop()));
  return { deps, app, config, server, dispatcher, listen: () => address.listen(server) };
};

/** At once, to stay within the time that a process has to stop; each to its end, whatever the others do. */
const allOf = async (...endings: PromiseLike<void>[]): Promise<void> => {
  await Promise.allSettled(endings);
  await Promise.all(endings);
};
