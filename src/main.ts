import type { FastifyInstance } from 'fastify';
import { prometheusMetrics } from '#src/adapters/system/metrics.ts';
import type { Dispatcher } from '#src/app/outreach/dispatcher.ts';
import { buildServer, type ServerOptions } from '#src/interfaces/server.ts';
import type { Config } from './config.ts';
import { type Core, type CoreOptions, openCore } from './core.ts';
import { startFinishingErasures } from './wiring/finish-erasures.ts';
import { healthServer } from './wiring/health-server.ts';
import { serviceLogger } from './wiring/logger.ts';
import { createDispatcher } from './wiring/outreach-dispatcher.ts';
import { ensureRootToken } from './wiring/root-token.ts';

export { serviceLogger };

export type Service = Pick<Core, 'deps' | 'app'> & {
  config: Config;
  server: FastifyInstance;
  /** Sends approved outreach once it is started; `close` stops it. */
  dispatcher: Dispatcher;
  /** Starts the HTTP server and returns the URL it listens on. */
  listen(): Promise<string>;
  /** Stops accepting requests, drains, flushes, and releases the lock. */
  close(): Promise<void>;
};

export type ServiceOptions = Omit<CoreOptions, 'metrics'> & Pick<ServerOptions, 'instance'>;

/**
 * Opens the core and its interfaces without listening yet, and issues the first desk token if there
 * is none. Throws the errors of `openCore`.
 */
export const openService = async (
  config: Config,
  options: ServiceOptions = {},
): Promise<Service> => {
  const parts = new AsyncDisposableStack();
  try {
    const core = await openCore(config, { ...options, metrics: prometheusMetrics() });
    parts.defer(() => core.close());
    const service = await createServer(core, config, { options, parts });
    return { ...service, close: () => parts.disposeAsync() };
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
};

const createServer = async (
  { deps, app, logger: log, listener }: Core,
  config: Config,
  { options, parts }: { options: ServiceOptions; parts: AsyncDisposableStack },
): Promise<Omit<Service, 'close'>> => {
  const { trustProxy, countryHeader, heldEventTypes } = config;
  if (heldEventTypes.length > 0) log.warn({ types: heldEventTypes }, 'event types are held back');
  if (options.role !== 'dispatcher') await ensureRootToken(deps, config);
  const server =
    options.role === 'dispatcher'
      ? healthServer(deps, log, options.instance)
      : buildServer(
          app,
          { ...deps, awaited: () => deps.confirmation?.awaited() },
          { log, trustProxy, countryHeader, instance: options.instance },
        );
  const dispatcher = createDispatcher(deps, config, log);
  const erasures = startFinishingErasures(deps, config, log);
  parts.defer(() => awaitAll(server.close(), dispatcher.stop(), erasures.stop()));
  return { deps, app, config, server, dispatcher, listen: () => listener.listen(server) };
};

/** Waits until all have settled, then throws the first error. They end concurrently to save time. */
const awaitAll = async (...endings: PromiseLike<void>[]): Promise<void> => {
  await Promise.allSettled(endings);
  await Promise.all(endings);
};
