/**
 * What is told of the log and of requests, all in one shape: `request`, `operation`, `stream` and
 * `position` mean the same in every line, so that one search follows a request through all of them.
 * Never data of an event: what people wrote stands in the log alone.
 */
import type { Logger } from 'pino';
import type { AppendTold } from '#src/adapters/observed-log.ts';
import { LogUnavailable, type Position } from '#src/ports/event-log.ts';

/** What stands beside a record of its own, or comes by the thousand: told to who asks for detail. */
const BESIDE: ReadonlySet<string> = new Set([
  'ActivityRecorded',
  'CallsAudited',
  'VisitRecorded',
  'RequestBound',
  'LeadClaimed',
  'LeadClaimReleased',
  'CodeClaimed',
  'ProductPublished',
  'ProductRevised',
  'ProductStockObserved',
]);

/** Whoever issues the first desk token, on the way to being ready. */
const FIRST_START = 'desk:system';

/** An append this late is worth a line at any level: clients begin to give up. */
const SLOW_MS = 1_000;
const MS_DIGITS = 10;

const levelOf = ({ events, ms, result }: AppendTold): 'debug' | 'info' | 'warn' | 'error' => {
  if (!result) return 'error';
  if (ms >= SLOW_MS) return 'warn';
  const [first] = events;
  const isBeside = BESIDE.has(first?.type ?? '') || first?.meta.actor === FIRST_START;
  return result.outcome === 'conflict' || isBeside ? 'debug' : 'info';
};

/** What a failed append says of itself; of a bug its stack, too. */
const faultOf = (error: unknown): object => {
  if (!(error instanceof LogUnavailable)) return { err: error };
  const { reason, applied, message } = error;
  return { reason, applied, detail: message };
};

/** One line for each append that made or changed a record, was slow, or got no answer. */
export const appendLines =
  (logger: Logger) =>
  (append: AppendTold): void => {
    const level = levelOf(append);
    const [first] = append.events;
    if (!first || !logger.isLevelEnabled(level)) return;
    const { stream, events, ms, result, error } = append;
    const { request, operation, surface, actor } = first.meta;
    const fields = {
      request,
      operation,
      surface,
      actor,
      stream,
      type: first.type,
      events: events.length,
      ms: Math.round(ms * MS_DIGITS) / MS_DIGITS,
    };
    if (!result) logger[level]({ ...fields, ...faultOf(error) }, 'append failed');
    else if (result.outcome === 'conflict') logger[level](fields, 'append lost a race');
    else {
      const { revision, position } = result;
      logger[level]({ ...fields, revision, position }, 'appended');
    }
  };

/** Subscriptions to the log that the server dropped, and that go on. */
export const subscriptionLines = (logger: Logger) => ({
  onDropped: (reason: string, position: Position) =>
    logger.warn({ position, reason }, 'subscription dropped'),
  onHealed: (position: Position) => logger.info({ position }, 'subscription goes on'),
});

type Share = { partitions: number; projectors: readonly string[]; position: Position };

/** Who folds how much, whenever that changes; `gone` are those whose share was taken over. */
export const shareLines = (logger: Logger, projector: string) => {
  let known: readonly string[] = [];
  return ({ partitions, projectors, position }: Share): void => {
    const gone = known.filter((name) => !projectors.includes(name));
    known = projectors;
    const fields = { partitions, projectors: projectors.length, projector, position };
    if (gone.length > 0) logger.warn({ ...fields, gone }, 'folding the share of others, too');
    else logger.info(fields, 'folding a share');
  };
};
