import type { Logger } from 'pino';
import type { Scheduling } from '#src/sending/attempts.ts';
import { systemCall } from '#src/calls/system-call.ts';
import { indexContacts } from '#src/privacy/index-contacts.ts';
import type { Deps } from '#src/calls/call.ts';
import { repeated } from './repeated.ts';

const EVERY_MS = 600_000;

type IndexDeps = Deps & Pick<Scheduling, 'schedule'> & { logger: Pick<Logger, 'info' | 'error'> };

/**
 * Indexes the contacts that earlier versions stored, at start and every ten minutes: processes of an earlier version can
 * run beside this one.
 */
export const contactIndexing = (deps: IndexDeps) => {
  const { schedule, logger } = deps;
  const index = async (signal: AbortSignal): Promise<void> => {
    const call = systemCall(deps, 'indexContacts', { ownerId: '', signal });
    const indexed = await indexContacts(deps, call);
    if (indexed > 0) logger.info({ indexed }, 'contacts of an earlier version indexed');
  };
  return repeated(index, {
    everyMs: EVERY_MS,
    schedule,
    onFault: (error) => logger.error({ err: error }, 'the index of contacts is incomplete'),
  });
};
