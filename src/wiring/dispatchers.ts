/** Starts what sends and what repeats: dispatchers, digests, expiries, unfinished erasures. */
import { join } from 'node:path';
import type { Logger } from 'pino';
import { expireApplications } from '#src/access/applications.ts';
import { systemCall, type Deps } from '#src/calls/handlers.ts';
import { limiter } from '#src/calls/limits.ts';
import { type Config, isRemoteLog } from '#src/config.ts';
import { deliveryChannels, pushChannel } from '#src/delivery/channels.ts';
import { guardedRequest } from '#src/delivery/http.ts';
import { directoryMailer, smtpMailer, removeStoredMail } from '#src/delivery/mail.ts';
import { expireConfirmations } from '#src/handoffs/confirm-rfq.ts';
import { KEYS_PATH } from '#src/interfaces/a2a/card.ts';
import { pushBody } from '#src/interfaces/a2a/wire.ts';
import { renderDelivery, renderLetter } from '#src/interfaces/letters.ts';
import { queueDigest } from '#src/outreach/approvals.ts';
import { outreachWork } from '#src/outreach/send-outbound.ts';
import type { Mailer } from '#src/ports/delivery.ts';
import { ReadModelRebuilding } from '#src/ports/read-model.ts';
import { StartupError } from '#src/ports/startup-error.ts';
import { markTree, type ProofDeps } from '#src/proof/notary.ts';
import type { Witnesses } from '#src/proof/witnesses.ts';
import { finishErasures } from '#src/privacy/erase-subject.ts';
import { mailWork } from '#src/sending/dispatch-mail.ts';
import { type Scheduling, Dispatcher, FAULT_WAIT_MS } from '#src/sending/dispatcher.ts';
import type { MailFacts, MailKind } from '#src/sending/mail.ts';
import { EVERYBODY } from '#src/sending/settings.ts';
import { DAY_MS, HOUR_MS, iso } from '#src/shared/time.ts';
import { makeDirectory } from '#src/system/directory.ts';
import { readCertificate, isLoopback } from '#src/system/hosts.ts';
import { pushWork } from '#src/tasks/push.ts';
import { streamOf } from '#src/writing/streams.ts';
import { throttledLog } from './logger.ts';

export type Mailers = { live: Mailer; test: Mailer; close(): void };

/** The directory of messages that are not sent by SMTP. */
export const mailDirectory = ({ dataDirectory }: Pick<Config, 'dataDirectory'>): string =>
  join(dataDirectory, 'mail');

/** Opens the mailers without connecting. Throws StartupError if the file of tlsCAFile cannot be used. */
export const openMailers = (config: Config): Mailers => {
  const { mailUrl: url, mailFrom: address, house } = config;
  const from = { name: house?.name ?? '', address };
  const test = directoryMailer({ directory: mailDirectory(config), makeDirectory }, from);
  if (!url) return { live: test, test, close: () => undefined };
  const file = url.searchParams.get('tlsCAFile');
  const certificate = file === null ? undefined : readCertificate(file);
  if (certificate && 'fault' in certificate)
    throw new StartupError(`MAIL_URL cannot be used: ${certificate.fault}.`);
  const live = smtpMailer({ url, from, isLocal: isLoopback(url.hostname), ...certificate });
  return { live, test, close: live.close };
};

/** Returns true if other machines can reach the service, and its mail goes to a directory. */
export const lacksMail = ({ mailUrl, publicUrl, host }: Config): boolean =>
  mailUrl === undefined &&
  !isLoopback(publicUrl === undefined ? host : new URL(publicUrl).hostname);

type Options = Pick<Scheduling, 'schedule'> & { everyMs: number; onFault(error: unknown): void };

/**
 * A task of the dispatcher that runs at start, and again a time after each end, also after a failure. `stop` aborts it. A read
 * model that is being filled delays it, and is reported elsewhere.
 */
const repeated = (
  task: (signal: AbortSignal) => Promise<unknown>,
  { everyMs, schedule, onFault }: Options,
) => {
  const stopping = new AbortController();
  const { signal } = stopping;
  let running = Promise.resolve();
  let cancel = (): void => undefined;
  const run = async (): Promise<void> => {
    let wait = everyMs;
    try {
      await task(signal);
    } catch (error) {
      if (error instanceof ReadModelRebuilding) wait = Math.min(everyMs, FAULT_WAIT_MS);
      else onFault(error);
    }
    if (!signal.aborted) cancel = schedule(start, wait);
  };
  const start = (): void => {
    running = run();
  };
  return {
    start,
    idle: () => running,
    async stop(): Promise<void> {
      stopping.abort();
      cancel();
      await running;
    },
  };
};

const KEPT_MS = 30 * DAY_MS;
const REMOVAL_MS = 600_000;
/** The hour of the day in UTC from which on the digest is queued. */
const DIGEST_HOUR = 6;

type TaskDeps = Deps & Pick<Scheduling, 'schedule'> & { logger: Pick<Logger, 'error'> };

/**
 * Removes stored messages after 30 days, and those of an erased person, at start and every ten minutes: an erasure happens
 * in any process, and the files are those of this one.
 */
const mailRemoval = (deps: TaskDeps, directory: string) => {
  const { vault, clock, schedule, logger } = deps;
  const isErased = async (subject: string): Promise<boolean> =>
    (await vault.knows(subject)) === 'destroyed';
  return repeated(() => removeStoredMail(directory, { before: clock.now() - KEPT_MS, isErased }), {
    everyMs: REMOVAL_MS,
    schedule,
    onFault: (error) => logger.error({ err: error }, 'stored mail is not removed'),
  });
};

/** Queues the digest of approvals each day from DIGEST_HOUR on, once in all processes. */
const dailyDigest = (deps: TaskDeps) => {
  const { clock, schedule, logger } = deps;
  const queue = async (signal: AbortSignal): Promise<void> => {
    const [day = '', time = ''] = iso(clock.now()).split('T');
    if (Number(time.slice(0, 2)) < DIGEST_HOUR) return;
    const call = systemCall(deps, 'queueDigest', { ownerId: EVERYBODY, signal });
    await queueDigest(deps, day, call);
  };
  return repeated(queue, {
    everyMs: HOUR_MS,
    schedule,
    onFault: (error) => logger.error({ err: error }, 'the digest of approvals is delayed'),
  });
};

/** Ends the RFQs and the applications that were not confirmed in time, at start and each hour. */
const confirmationExpiry = (deps: TaskDeps) => {
  const { schedule, logger } = deps;
  const expire = async (signal: AbortSignal): Promise<void> => {
    const by = { ownerId: EVERYBODY, signal };
    await expireConfirmations(deps, systemCall(deps, 'expireConfirmations', by));
    await expireApplications(deps, systemCall(deps, 'expireApplications', by));
  };
  return repeated(expire, {
    everyMs: HOUR_MS,
    schedule,
    onFault: (error) =>
      logger.error({ err: error }, 'the end of unconfirmed RFQs and applications is delayed'),
  });
};

type Proving = { proof(): ProofDeps & { witnesses: Witnesses } };

/** A checkpoint is at most this old, and the time of a mark, when there is something new. */
const MARK_MS = 500;

/** Marks the tree of the log whenever it has grown. */
const notary = ({ logger, proof, ...deps }: TaskDeps & Proving) =>
  repeated((signal) => markTree({ ...proof(), ...deps }, signal), {
    everyMs: MARK_MS,
    schedule: deps.schedule,
    onFault: throttledLog(logger, 'the log has no newer checkpoint'),
  });

const WITNESS_MS = 60_000;

/** Asks witnesses to cosign the newest checkpoint: each at most once a minute, beside the notary, which waits for none. */
const witnessing = ({ logger, proof, ...deps }: TaskDeps & Proving) => {
  const onFault = throttledLog(logger, 'a witness has not cosigned the newest checkpoint');
  const ask = async (signal: AbortSignal): Promise<void> => {
    const { witnesses, ...rest } = proof();
    if (witnesses.all.length > 0) await witnesses.ask({ ...rest, witnesses }, signal, onFault);
  };
  return repeated(ask, { everyMs: WITNESS_MS, schedule: deps.schedule, onFault });
};

/** Everything that the service sends by itself, as one. */
export type Dispatchers = Pick<Dispatcher, 'start' | 'idle' | 'stop'>;

/**
 * Creates the dispatchers of outreach, of push notifications and of mail with their real channels; they are not started
 * yet. Throws StartupError if the settings of mail cannot be used.
 */
export const createDispatchers = (
  deps: Deps & Proving,
  config: Config,
  logger: Logger,
): Dispatchers => {
  const { clock } = deps;
  const guard = { privateHosts: config.outreachPrivateHosts };
  const outbox = {
    directory: config.outboxDirectory ?? join(config.dataDirectory, 'outbox'),
    makeDirectory,
  };
  const mailers = openMailers(config);
  const hourly = limiter({ count: config.confirmationMailsPerHour, per: 'hour' }, clock.monotonic);
  const outreach = {
    ...deps,
    schedule,
    onFault: faultLog(logger, 'outbound', 'outreach is delayed'),
    channels: deliveryChannels(outbox, { guard, clock }),
    mailers,
    hourly,
    renderDelivery,
  };
  const push = {
    ...deps,
    schedule,
    onFault: faultLog(logger, 'push', 'push notifications are delayed'),
    receivers: pushChannel({ request: guardedRequest(guard), clock }),
    wire: { bodyOf: pushBody, keysUrl: () => deps.origin() + KEYS_PATH },
  };
  const mail = {
    ...deps,
    schedule,
    onFault: faultLog(logger, 'mail', 'mail is delayed'),
    mailers,
    hourly,
    render: <Kind extends MailKind>(kind: Kind, facts: MailFacts[Kind]) =>
      renderLetter(kind, facts, { origin: deps.origin(), house: deps.house }),
  };
  // Each has its own limit of requests at a time, so that slow receivers of one do not delay the other.
  const all = [
    new Dispatcher(outreach, outreachWork(outreach)),
    new Dispatcher(push, pushWork(push)),
    new Dispatcher(mail, mailWork(mail)),
    mailRemoval({ ...mail, logger }, mailDirectory(config)),
    dailyDigest({ ...mail, logger }),
    confirmationExpiry({ ...mail, logger }),
    notary({ ...mail, proof: deps.proof, logger }),
    witnessing({ ...mail, proof: deps.proof, logger }),
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

/** Each erasure costs a remote vault a round trip, at every start of every process. */
const REMOTE_NEWEST = 100;

/**
 * Finishes in the background the erasures that a crash, or an older vault beside a newer log, left
 * unfinished. The next start retries after a failure. `stop` waits until no call is pending.
 */
export const startFinishingErasures = (
  deps: Deps,
  config: Config,
  logger: Logger,
): { stop(): Promise<void> } => {
  const stopping = new AbortController();
  const { signal } = stopping;
  const run = async (): Promise<void> => {
    try {
      const newest = isRemoteLog(config) ? REMOTE_NEWEST : Infinity;
      const keys = await finishErasures(deps, newest, signal);
      if (keys > 0) logger.warn({ keys }, 'keys of erased subjects destroyed');
    } catch (error) {
      logger.error({ err: error }, 'erasures stay unfinished until the next start');
    }
  };
  const done = run();
  return {
    async stop() {
      stopping.abort();
      await done;
    },
  };
};
