import type { Logger } from 'pino';
import type { AppDeps } from '#src/registries/app.ts';
import { recorder } from '#src/writing/recorder.ts';
import { surplusVisits } from '#src/links/surplus-visits.ts';
import { visitRecorder } from '#src/links/visits.ts';
import { auditLog } from '#src/calls/audit.ts';
import { confirmation } from '#src/calls/confirmation.ts';
import { type Config, isRemoteLog } from '#src/config.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import type { ReviewTokenRow } from '#src/ports/rows.ts';
import type { Clock, Ids, Secrets } from '#src/ports/system.ts';
import type { OpenReadModels } from './read-models.ts';

type Base = { config: Config; clock: Clock; ids: Ids; logger: Logger; signal: AbortSignal };

/** Creates what records calls and visits, and what confirms credentials against a remote log. */
export const recordersOf = (
  { config, clock, ids, logger, signal }: Base,
  { log, secrets }: { log: EventLog; secrets: Secrets },
  { readModels, localPassed: passed }: OpenReadModels,
): Pick<AppDeps, 'audit' | 'visits' | 'confirmation'> => {
  const schedule = (task: () => void, ms: number): void => void setTimeout(task, ms).unref();
  const records = recorder(log, ids.base62(6));
  return {
    ...(isRemoteLog(config) && {
      confirmation: confirmation({ log, passed, clock, signal, schedule }),
    }),
    audit: auditLog({
      recorder: records,
      clock,
      ids,
      schedule,
      onLost: (error) => logger.error({ err: error }, 'audit records were lost'),
      holdsCalls: config.heldEventTypes.includes('CallsAudited'),
      handoffOf: (tokenHash) => readModels.get<ReviewTokenRow>('review-tokens', tokenHash, ''),
    }),
    visits: visitRecorder({
      recorder: records,
      secrets,
      clock,
      ids,
      surplus: surplusVisits({
        recorder: records,
        ids,
        schedule,
        onLost: (error) => logger.error({ err: error }, 'visits were not counted'),
      }),
      perMinute: config.visitsPerMinute,
      holdsSums: config.heldEventTypes.includes('VisitsSummed'),
    }),
  };
};
