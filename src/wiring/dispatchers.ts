import { join } from 'node:path';
import type { Logger } from 'pino';
import { deliveryChannels } from '#src/delivery/channels.ts';
import { guardedRequest } from '#src/delivery/guarded-request.ts';
import { pushChannel } from '#src/delivery/push.ts';
import { makeDirectory } from '#src/system/directory.ts';
import type { Scheduling } from '#src/sending/attempts.ts';
import { Dispatcher } from '#src/sending/dispatcher.ts';
import type { MailFacts, MailKind } from '#src/sending/mail-kinds.ts';
import { outreachWork } from '#src/outreach/outreach-dispatching.ts';
import { mailWork } from '#src/sending/mail-dispatching.ts';
import { pushWork } from '#src/tasks/push-dispatching.ts';
import { limiter } from '#src/calls/limiter.ts';
import { streamOf } from '#src/writing/streams.ts';
import type { Config } from '#src/config.ts';
import { KEYS_PATH } from '#src/interfaces/a2a/card.ts';
import { pushBody } from '#src/interfaces/a2a/wire.ts';
import { renderLetter } from '#src/interfaces/letters.ts';
import type { Deps } from '#src/calls/call.ts';
import { mailDirectory, openMailers } from './mail.ts';
import { confirmationExpiry, dailyDigest, mailRemoval } from './mail-tasks.ts';

/** Everything that the service sends by itself, as one. */
export type Dispatchers = Pick<Dispatcher, 'start' | 'idle' | 'stop'>;

/**
 * Creates the dispatchers of outreach, of push notifications and of mail with their real channels; they are not started
 * yet. Throws StartupError if the settings of mail cannot be used.
 */
export const createDispatchers = (deps: Deps, config: Config, logger: Logger): Dispatchers => {
  const { clock } = deps;
  const guard = { privateHosts: config.outreachPrivateHosts };
  const outbox = {
    directory: config.outboxDirectory ?? join(config.dataDirectory, 'outbox'),
    makeDirectory,
  };
  const outreach = {
    ...deps,
    schedule,
    onFault: faultLog(logger, 'outbound', 'outreach is delayed'),
    channels: deliveryChannels(outbox, { guard, clock }),
  };
  const push = {
    ...deps,
    schedule,
    onFault: faultLog(logger, 'push', 'push notifications are delayed'),
    receivers: pushChannel({ request: guardedRequest(guard), clock }),
    wire: { bodyOf: pushBody, keysUrl: () => deps.origin() + KEYS_PATH },
  };
  const mailers = openMailers(config);
  const mail = {
    ...deps,
    schedule,
    onFault: faultLog(logger, 'mail', 'mail is delayed'),
    mailers,
    hourly: limiter({ count: config.confirmationMailsPerHour, per: 'hour' }, clock.monotonic),
    render: <Kind extends MailKind>(kind: Kind, facts: MailFacts[Kind]) =>
      renderLetter(kind, facts, { origin: deps.origin() }),
  };
  // Each has its own limit of requests at a time, so that slow receivers of one do not delay the other.
  const all = [
    new Dispatcher(outreach, outreachWork(outreach)),
    new Dispatcher(push, pushWork(push)),
    new Dispatcher(mail, mailWork(mail)),
    mailRemoval({ ...mail, logger }, mailDirectory(config)),
    dailyDigest({ ...mail, logger }),
    confirmationExpiry({ ...mail, logger }),
  ];
  return {
    start: () => all.forEach((one) => one.start()),
    async idle() {
      for (const one of all) await one.idle();
    },
    async stop() {
      await Promise.all(all.map((one) => one.stop()));
      mailers.close();
    },
  };
};

const schedule: Scheduling['schedule'] = (task, ms) => {
  const timer = setTimeout(task, ms).unref();
  return () => clearTimeout(timer);
};

/** Logs errors with the stream of the item that waits because of them. */
const faultLog =
  (logger: Logger, kind: string, text: string): Scheduling['onFault'] =>
  (err, item) =>
    logger.error({ err, ...(item && { stream: streamOf(item.owner, kind, item.id) }) }, text);
