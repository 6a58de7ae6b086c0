/**
 * Log lines about appends, subscriptions and partition assignments. `request`, `operation`, `stream`
 * and `position` mean the same in every line, so that one search follows a request. No line contains
 * data of an event.
 */
import type { Logger } from 'pino';
import type { AppendReport } from '#src/adapters/observed-log.ts';
import { type Append, LogUnavailable, type Position } from '#src/ports/event-log.ts';

/** Frequent events, and events that accompany a record of their own: logged at debug level. */
const ACCOMPANYING: ReadonlySet<string> = new Set([
  'ActivityRecorded',
  'CallsAudited',
  'VisitRecorded',
  'VisitsSummed',
  'RequestBound',
  'LeadClaimed',
  'LeadClaimReleased',
  'CodeClaimed',
  'ProductPublished',
  'ProductRevised',
  'ProductStockObserved',
]);

/** The actor that issues the first desk token while the service starts. */
const FIRST_START = 'desk:system';

/** A slower append is a warning at any level: clients begin to give up. */
const SLOW_MS = 1_000;

/** The events that the others of a call accompany. */
const mainOf = ({ appends }: AppendReport): Append | undefined => appends.at(-1);

const levelOf = (append: AppendReport): 'debug' | 'info' | 'warn' | 'error' => {
  const { ms, result } = append;
  if (!result) return 'error';
  if (ms >= SLOW_MS) return 'warn';
  const first = mainOf(append)?.events[0];
  const isQuiet = ACCOMPANYING.has(first?.type ?? '') || first?.meta.actor === FIRST_START;
  return result.outcome === 'conflict' || isQuiet ? 'debug' : 'info';
};

/** Describes why an append failed; a bug with its stack. */
const describeFault = (error: unknown): object => {
  if (!(error instanceof LogUnavailable)) return { err: error };
  const { reason, applied, message } = error;
  return { reason, applied, detail: message };
};

/** Logs the appends of each call that changed a record, was slow, or failed. */
export const appendLogger =
  (logger: Logger) =>
  (append: AppendReport): void => {
    const level = levelOf(append);
    const { stream, events: [first] = [] } = mainOf(append) ?? {};
    if (!first || !logger.isLevelEnabled(level)) return;
    const { appends, ms, result, error } = append;
    const { request, operation, surface, actor } = first.meta;
    const cause = { request, operation, surface, actor };
    const effect = {
      stream,
      type: first.type,
      events: appends.reduce((sum, { events }) => sum + events.length, 0),
      ms: Math.round(ms * 10) / 10,
    };
    const fields = { ...cause, ...effect };
    if (!result) logger[level]({ ...fields, ...describeFault(error) }, 'append failed');
    else if (result.outcome === 'conflict') logger[level](fields, 'append conflicted');
    else {
      const { revision, position } = result;
      logger[level]({ ...fields, revision, position }, 'appended');
    }
  };

/** Logs when the server drops a subscription to the log, when it resumes, and when it has another log. */
export const remoteLogLogger = (logger: Logger) => ({
  onDropped: (reason: string, position: Position) =>
    logger.warn({ position, reason }, 'subscription dropped'),
  onHealed: (position: Position) => logger.info({ position }, 'subscription resumed'),
  onReplaced: (reason: string) => logger.error({ reason }, 'the log was replaced'),
});

export type Assignment = { partitions: number; projectors: readonly string[]; position: Position };

/** Logs every new partition assignment; `gone` lists the projectors whose partitions were taken. */
export const assignmentLogger = (logger: Logger, projector: string) => {
  let previous: readonly string[] = [];
  return ({ partitions, projectors, position }: Assignment): void => {
    const gone = previous.filter((name) => !projectors.includes(name));
    previous = projectors;
    const fields = { partitions, projectors: projectors.length, projector, position };
    if (gone.length > 0) logger.warn({ ...fields, gone }, 'partitions taken over');
    else logger.info(fields, 'partitions assigned');
  };
};
