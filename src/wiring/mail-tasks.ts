import type { Logger } from 'pino';
import { removeStoredMail } from '#src/delivery/mail-directory.ts';
import type { Scheduling } from '#src/sending/attempts.ts';
import { expireConfirmations } from '#src/handoffs/expire-confirmations.ts';
import { expireApplications } from '#src/access/end-applications.ts';
import { queueDigest } from '#src/outreach/approvals-digest.ts';
import { EVERYBODY } from '#src/sending/settings.ts';
import { systemCall } from '#src/calls/system-call.ts';
import { DAY_MS, HOUR_MS, iso } from '#src/shared/time.ts';
import type { Deps } from '#src/calls/call.ts';
import { repeated } from './repeated.ts';

const KEPT_MS = 30 * DAY_MS;
const REMOVAL_MS = 600_000;
/** The hour of the day in UTC from which on the digest is queued. */
const DIGEST_HOUR = 6;

type TaskDeps = Deps & Pick<Scheduling, 'schedule'> & { logger: Pick<Logger, 'error'> };

/**
 * Removes stored messages after 30 days, and those of an erased person, at start and every ten minutes: an erasure happens
 * in any process, and the files are those of this one.
 */
export const mailRemoval = (deps: TaskDeps, directory: string) => {
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
export const dailyDigest = (deps: TaskDeps) => {
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
export const confirmationExpiry = (deps: TaskDeps) => {
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
