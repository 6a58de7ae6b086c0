import { join } from 'node:path';
import type { Logger } from 'pino';
import { deliveryChannels } from '#src/adapters/delivery/channels.ts';
import { makeDirectory } from '#src/adapters/system/directory.ts';
import type { Deps } from '#src/app/pipeline/deps.ts';
import { Dispatcher } from '#src/app/outreach/dispatcher.ts';
import { streamOf } from '#src/app/records/streams.ts';
import type { Config } from '#src/config.ts';

/** Creates the dispatcher with its real channels; it is not started yet. */
export const createDispatcher = (deps: Deps, config: Config, logger: Logger): Dispatcher =>
  new Dispatcher({
    ...deps,
    channels: deliveryChannels(
      {
        directory: config.outboxDirectory ?? join(config.dataDirectory, 'outbox'),
        makeDirectory,
      },
      { guard: { privateHosts: config.outreachPrivateHosts }, clock: deps.clock },
    ),
    schedule(task, ms) {
      const timer = setTimeout(task, ms).unref();
      return () => clearTimeout(timer);
    },
    onFault: (error, of) =>
      logger.error(
        { err: error, ...(of && { stream: streamOf(of.owner, 'outbound', of.id) }) },
        'outreach is delayed',
      ),
  });
