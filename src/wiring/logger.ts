/** The log lines of the service, without what must not be in them. */
import { appendFileSync } from 'node:fs';
import { type Logger, pino } from 'pino';
import { CREDENTIAL_PATTERN } from '#src/calls/authenticate.ts';
import { systemClock } from '#src/system/ids.ts';
import type { AppendReport } from '#src/calls/log.ts';
import { type Append, LogUnavailable, type Position } from '#src/ports/event-log.ts';

const CREDENTIALS = new RegExp(CREDENTIAL_PATTERN, 'g');
/** Matches level error and above: the process may end next. */
const URGENT = /^\{"level":[56]/;

/** Writes the lines of one turn of the event loop at once: single writes would cost too much. */
const bufferedLines = (print: (lines: string) => void): { write(line: string): void } => {
  let pending = '';
  let scheduled: NodeJS.Immediate | undefined;
  let isFirst = true;
  const flush = (): void => {
    clearImmediate(scheduled);
    scheduled = undefined;
    const lines = pending;
    pending = '';
    if (lines !== '') print(lines.replaceAll(CREDENTIALS, '[credential]'));
  };
  return {
    write(line) {
      if (isFirst) process.once('exit', flush);
      isFirst = false;
      pending += line;
      if (URGENT.test(line)) flush();
      else scheduled ??= setImmediate(flush);
    },
  };
};

const toStderr = bufferedLines((lines) => process.stderr.write(lines));

/** Writes JSON lines to stderr, or to the end of this file, and replaces every credential in them. */
export const serviceLogger = (level: string, file?: string): Logger =>
  pino({ level }, file === undefined ? toStderr : bufferedLines((lines) => append(file, lines)));

/** Appends to a file that only this user can read; where that fails, writes to stderr. */
const append = (file: string, lines: string): void => {
  try {
    appendFileSync(file, lines, { mode: 0o600 });
  } catch {
    process.stderr.write(lines);
  }
};

/** The logger of a command that opens the service in its process: the answer reports success. */
export const commandLogger = (level: string): Logger =>
  serviceLogger(level === 'info' ? 'warn' : level);

/** An unavailable store fails with every attempt, some twice a second. */
const INTERVAL_MS = 10_000;

/** Logs the first fault, then at most one per interval, with the number of unlogged ones. */
export const throttledLog = (
  logger: Pick<Logger, 'error'>,
  text: string,
  { monotonic } = systemClock(),
): ((error: unknown) => void) => {
  let loggedAt = -Infinity;
  let unlogged = 0;
  return (error) => {
    if (monotonic() - loggedAt < INTERVAL_MS) {
      unlogged += 1;
      return;
    }
    logger.error({ err: error, ...(unlogged > 0 && { unlogged }) }, text);
    loggedAt = monotonic();
    unlogged = 0;
  };
};

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

/**
 * Logs the appends of each call that changed a record, was slow, or failed, without data of events. `request`, `operation`,
 * `stream` and `position` mean the same in every line, so that one search follows a request.
 */
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
