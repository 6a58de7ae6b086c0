/** The log that the configuration names. */
import type { Logger } from 'pino';
import { memoryEventLog } from '#src/adapters/memory/event-log.ts';
import { sqliteEventLog } from '#src/adapters/sqlite/log/event-log.ts';
import { lockDirectory } from '#src/adapters/sqlite/lock.ts';
import { prepareDirectory } from '#src/adapters/system/directory.ts';
import type { Config } from '#src/config.ts';
import { type EventLog, LogCorrupted, type Position } from '#src/ports/event-log.ts';
import { subscriptionLines } from './lines.ts';

export type LogVerification = {
  events: number;
  fault: { position: Position; reason: string } | null;
};

export type OpenedLog = {
  log: EventLog;
  /** Full pass over the log: against its checksums where it is a file, else by reading it. */
  verify(onProgress?: (position: Position) => void): Promise<LogVerification>;
  /** Closes the log, and leaves the data directory to others. */
  close(): Promise<void>;
};

export type LogOptions = {
  logger: Logger;
  /** The file of the log takes no more, or the data directory may be another process's. */
  onFatal?: ((error: Error) => void) | undefined;
  /** False for a process that keeps nothing in the data directory. */
  holdsDirectory?: boolean;
  /** So many of the newest records of a file are looked at first; 0 for who reads all of them anyway. */
  checkedAtOpen?: number;
};

/** Of the five seconds that a start may take in all, the rest is for the process and Redis. */
const START_MS_MAX = 2_000;
const READ_EVENTS = 1_000;

/** Throws StartupError, within five seconds, when the log cannot be used. */
export const openLog = async (config: Config, options: LogOptions): Promise<OpenedLog> => {
  const { eventLogUrl, dataDirectory } = config;
  if (eventLogUrl.startsWith('memory:')) return readable(memoryEventLog());
  if (eventLogUrl.startsWith('esdb')) return remote(config, options);
  prepareDirectory(dataDirectory);
  const { onFatal, checkedAtOpen } = options;
  const log = sqliteEventLog({
    directory: dataDirectory,
    ...(onFatal && { onFatal }),
    ...(checkedAtOpen !== undefined && { checkedAtOpen }),
  });
  return { log, verify: (onProgress) => log.verify(onProgress), close: () => log.close() };
};

/**
 * The processes of one log have a data directory each: what lies there (credentials, catalog) has
 * one folder, and the lock keeps a second one out.
 */
const remote = async (
  { eventLogUrl, dataDirectory }: Config,
  { logger, onFatal, holdsDirectory = true }: LogOptions,
): Promise<OpenedLog> => {
  if (holdsDirectory) prepareDirectory(dataDirectory);
  const lock = holdsDirectory ? lockDirectory(dataDirectory) : undefined;
  try {
    // Loaded here: the client is large, and the embedded service has no use for it.
    const { eventStoreLog } = await import('#src/adapters/eventstoredb/event-log.ts');
    const timing = { startupMs: START_MS_MAX };
    const log = await eventStoreLog({ url: eventLogUrl, timing, ...subscriptionLines(logger) });
    lock?.watch((text) => onFatal?.(new Error(text)));
    return readable(log, lock?.release);
  } catch (error) {
    lock?.release();
    throw error;
  }
};

const readable = (log: EventLog, release?: () => void): OpenedLog => ({
  log,
  verify: (onProgress) => readThrough(log, onProgress),
  async close() {
    await log.close();
    release?.();
  },
});

const readThrough = async (
  log: EventLog,
  onProgress?: (position: Position) => void,
): Promise<LogVerification> => {
  let [events, after] = [0, 0];
  try {
    for (;;) {
      const page = await log.readFold({ after, limit: READ_EVENTS });
      if (page.length === 0) return { events, fault: null };
      events += page.length;
      after = page.at(-1)?.position ?? after;
      onProgress?.(after);
    }
  } catch (error) {
    if (!(error instanceof LogCorrupted)) throw error;
    return { events, fault: { position: after, reason: error.message } };
  }
};
