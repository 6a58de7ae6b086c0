/** Starts a whole service: the core with its interfaces and everything that runs by itself. */
import type { FastifyInstance } from 'fastify';
import { prometheusMetrics } from '#src/system/metrics.ts';
import { buildServer, type ServerOptions } from '#src/interfaces/server.ts';
import type { Config } from './config.ts';
import { type Core, type CoreOptions, startCore } from './core.ts';
import {
  createDispatchers,
  type Dispatchers,
  startFinishingErasures,
  lacksMail,
} from '#src/wiring/dispatchers.ts';
import { healthServer } from '#src/wiring/listener.ts';
import { serviceLogger } from './wiring/logger.ts';
import { ensureRootToken } from './wiring/root-token.ts';

export { serviceLogger };

export type Service = Pick<Core, 'deps' | 'app'> & {
  config: Config;
  server: FastifyInstance;
  /** Sends approved outreach, push notifications and mail once it is started; `close` stops it. */
  dispatcher: Dispatchers;
  /** Starts the HTTP server and returns the URL it listens on. */
  listen(): Promise<string>;
  /** Stops accepting requests, drains, flushes, and releases the lock. */
  close(): Promise<void>;
};

export type ServiceOptions = Omit<CoreOptions, 'metrics'> & Pick<ServerOptions, 'instance'>;

/** A service that can listen at once, and refuses requests until it is ready. */
export type StartingService = Service & {
  /**
   * Resolves once the read models are filled, and the first desk token is issued if there was none.
   * Rejects with StartupError if it cannot be issued.
   */
  ready: Promise<void>;
};

/** Opens the core and its interfaces without listening yet. Throws the errors of `startCore`. */
export const startService = async (
  config: Config,
  options: ServiceOptions = {},
): Promise<StartingService> => {
  const parts = new AsyncDisposableStack();
  try {
    const core = await startCore(config, { ...options, metrics: prometheusMetrics() });
    parts.defer(() => core.close());
    const service = createServer(core, config, { options, parts });
    return { ...service, close: () => parts.disposeAsync() };
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
};

const createServer = (
  core: Core,
  config: Config,
  { options, parts }: { options: ServiceOptions; parts: AsyncDisposableStack },
): Omit<StartingService, 'close'> => {
  const { deps, app, logger: log, listener } = core;
  const { heldEventTypes } = config;
  const { role, instance } = options;
  if (heldEventTypes.length > 0) log.warn({ types: heldEventTypes }, 'event types are held back');
  if (config.secondPerson === 'none')
    log.warn('SECOND_PERSON is none: one person makes the deals that need two, and each says so');
  if (config.notaryKey === undefined)
    log.info('NOTARY_KEY is not set: a person with the root key can sign another history');
  const mail = lacksMail(config) ? 'not_configured' : undefined;
  if (mail)
    log.warn('MAIL_URL is not set: mail is stored in the data directory, and reaches nobody');
  if (config.houseUnsaid.length > 0)
    log.warn({ missing: config.houseUnsaid }, 'buyers are not told all about who sells');
  let isStarting = true;
  const filling = () => (isStarting ? core.filling() : undefined);
  const server =
    role === 'dispatcher'
      ? healthServer({ ...deps, filling, mail }, log, instance)
      : buildServer(
          app,
          {
            ...deps,
            filling,
            mail,
            awaited: () => (isStarting ? undefined : deps.confirmation?.awaited()),
          },
          { ...config, log, instance, isStarting: () => isStarting },
        );
  const dispatcher = createDispatchers(deps, config, log);
  let erasures: ReturnType<typeof startFinishingErasures> | undefined;
  let isClosing = false;
  const becomeReady = async (): Promise<void> => {
    await core.ready;
    if (isClosing) return;
    if (role !== 'dispatcher') await ensureRootToken(deps, config);
    erasures = startFinishingErasures(deps, config, log);
    isStarting = false;
  };
  const ready = becomeReady();
  // Also when it is closed without waiting for it.
  ready.catch(() => {});
  parts.defer(async () => {
    isClosing = true;
    await awaitAll(server.close(), dispatcher.stop(), erasures?.stop() ?? Promise.resolve());
  });
  return { ready, deps, app, config, server, dispatcher, listen: () => listener.listen(server) };
};

/** Waits until all have settled, then throws the first error. They end concurrently to save time. */
const awaitAll = async (...endings: PromiseLike<void>[]): Promise<void> => {
  await Promise.allSettled(endings);
  await Promise.all(endings);
};
