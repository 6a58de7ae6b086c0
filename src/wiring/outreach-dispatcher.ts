import { join } from 'node:path';
import type { Logger } from 'pino';
import { deliveryChannels } from '#src/adapters/delivery/channels.ts';
import { makeDirectory } from '#src/adapters/system/directory.ts';
import type { Deps } from '#src/app/pipeline/deps.ts';
import { Dispatcher } from '#src/app/dispatch/dispatcher.ts';
import { outreachWork } from '#src/app/outreach/dispatching.ts';
import { streamOf } from '#src/app/records/streams.ts';
import type { SendingDeps } from '#src/app/outreach/sending.ts';
import type { Config } from '#src/config.ts';

/** Creates the dispatcher with its real channels; it is not started yet. */
export const createDispatcher = (deps: Deps, config: Config, logger: Logger): Dispatcher => {
  const sending: SendingDeps = {
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
  };
  return new Dispatcher(sending, outreachWork(sending));
};
