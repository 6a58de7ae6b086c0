import type { Logger } from 'pino';
import type { Scheduling } from '#src/app/dispatch/attempts.ts';
import type { Deps } from '#src/app/pipeline/deps.ts';
import { Refused } from '#src/app/pipeline/outcome.ts';
import { performAsSystem } from '#src/app/pipeline/system-pipeline.ts';
import { indexContacts } from '#src/app/privacy/index-contacts.ts';
import { repeated } from '../sending/repeated.ts';

const EVERY_MS = 600_000;

type IndexDeps = Deps & Pick<Scheduling, 'schedule'> & { logger: Pick<Logger, 'info' | 'error'> };

/**
 * Indexes the contacts that earlier versions stored, at start and every ten minutes: processes of an earlier version can
 * run beside this one.
 */
export const contactIndexing = (deps: IndexDeps) => {
  const { schedule, logger } = deps;
  const perform = performAsSystem(deps, { indexContacts });
  const stopping = new AbortController();
  const { signal } = stopping;
  const index = async (): Promise<void> => {
    const outcome = await perform('indexContacts', { ownerId: '', signal, input: {} });
    if (!outcome.ok) throw new Refused(outcome);
    const { indexed } = outcome.value;
    if (indexed > 0) logger.info({ indexed }, 'contacts of an earlier version indexed');
  };
  const task = repeated(index, {
    everyMs: EVERY_MS,
    schedule,
    onFault: (error) => logger.error({ err: error }, 'the index of contacts is incomplete'),
  });
  return {
    ...task,
    stop() {
      stopping.abort();
      return task.stop();
    },
  };
};
