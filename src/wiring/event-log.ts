/** Opens the log that the settings name. */
import type { Logger } from 'pino';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { lockDirectory } from '#src/stores/sqlite/lock.ts';
import { LogMemory, type MarkPlace, markFile } from '#src/stores/log-memory.ts';
import { prepareDirectory } from '#src/system/directory.ts';
import { type Config, hasRemoteReadModels } from '#src/config.ts';
import { type EventLog, LogCorrupted, type Position } from '#src/ports/event-log.ts';
import { remoteLogLogger } from './logger.ts';

export type LogVerification = {
  events: number;
  fault: { position: Position; reason: string } | null;
};

export type EventLogHandle = {
  log: EventLog;
  /** Reads the whole log; a file is also compared with its checksums. */
  verify(onProgress?: (position: Position) => void): Promise<LogVerification>;
  /** Closes the log and releases the data directory. */
  close(): Promise<void>;
};

export type EventLogOptions = {
  logger: Logger;
  /** Called when the log file accepts no more appends, or another process may own the directory. */
  onFatal?: ((error: Error) => void) | undefined;
  /**
   * `hold` (default) locks the data directory. `ignore` is for a process that has none. `inspect` reads which log the
   * directory and Redis belong to, and stores nothing.
   */
  directory?: 'hold' | 'ignore' | 'inspect';
  /** Number of newest records of a file to verify at the start; 0 before a complete verification. */
  checkedAtOpen?: number;
};

/** A start may take five seconds; the rest is for the process and Redis. */
const START_MS_MAX = 2_000;
const READ_EVENTS = 1_000;

/** Opens the configured log. Throws StartupError within five seconds if it cannot be used. */
export const openEventLog = async (
  config: Config,
  options: EventLogOptions,
): Promise<EventLogHandle> => {
  const { eventLogUrl, dataDirectory } = config;
  if (eventLogUrl.startsWith('esdb')) return openRemoteLog(config, options);
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
 * Processes that share a log have a data directory each. Its files (credentials, catalog) allow one
 * process only, so a lock keeps others out.
 */
const openRemoteLog = async (
  config: Config,
  { logger, onFatal, directory = 'hold' }: EventLogOptions,
): Promise<EventLogHandle> => {
  const { eventLogUrl: url, dataDirectory } = config;
  const isHeld = directory === 'hold';
  if (isHeld) prepareDirectory(dataDirectory);
  const lock = isHeld ? lockDirectory(dataDirectory) : undefined;
  let memory: LogMemory | undefined;
  try {
    // Imported here because the client is large, and an embedded service does not need it.
    const { eventStoreLog } = await import('#src/stores/eventstoredb/event-log.ts');
    const timing = { startupMs: START_MS_MAX };
    memory = await openLogMemory(config, directory);
    const log = await eventStoreLog({ url, timing, memory, ...remoteLogLogger(logger) });
    lock?.watch((text) => onFatal?.(new Error(text)));
    return createHandle(log, lock?.release);
  } catch (error) {
    await memory?.close();
    lock?.release();
    throw error;
  }
};

const createHandle = (log: EventLog, release?: () => void): EventLogHandle => ({
  log,
  verify: (onProgress) => readAllEvents(log, onProgress),
  async close() {
    await log.close();
    release?.();
  },
});

const readAllEvents = async (
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

/**
 * Opens what this process remembers of its log on a server: in its data directory, unless it has none, and in the
 * Redis of its read models. With `inspect` nothing is stored. Throws StartupError if Redis cannot be used.
 */
const openLogMemory = async (
  config: Config,
  directory: 'hold' | 'ignore' | 'inspect',
): Promise<LogMemory> => {
  const places = await openMarkPlaces(config, directory !== 'ignore');
  return new LogMemory(
    directory === 'inspect' ? places.map((place) => ({ ...place, store: async () => {} })) : places,
  );
};

export const openMarkPlaces = async (
  config: Config,
  hasDirectory: boolean,
): Promise<MarkPlace[]> => {
  const places: MarkPlace[] = hasDirectory ? [markFile(config.dataDirectory)] : [];
  if (!hasRemoteReadModels(config)) return places;
  const { redisLogMark } = await import('#src/stores/redis/limits.ts');
  return [...places, await redisLogMark({ url: config.readModelUrl })];
};
