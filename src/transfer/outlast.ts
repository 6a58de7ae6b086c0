/** Continues a copy after an outage of a server, for example its restart. */
import { LogUnavailable } from '#src/ports/event-log.ts';
import type { MovableKeys } from '#src/ports/system.ts';
import type { CopySource, CopyTarget } from './copy-log.ts';

/** From the first call without an answer to the last repetition. */
export const OUTAGE_S_MAX = 60;
const RETRY_MS = 500;

export type Repeat = <T>(call: () => Promise<T>) => Promise<T>;

type Outlasting = {
  /** Called once for each outage, with its cause. */
  onOutage: (cause: string) => void;
  monotonic: () => number;
  pause: (ms: number) => Promise<void>;
};

const isOutage = (error: unknown): error is LogUnavailable =>
  error instanceof LogUnavailable && (error.reason === 'fault' || error.reason === 'overloaded');

/**
 * Repeats a call while the log does not answer. Every call of a copy can be repeated: an append has the ids and the revision of
 * its first attempt, and a key that is stored already is the same.
 */
export const outlasting =
  ({ onOutage, monotonic, pause }: Outlasting): Repeat =>
  async (call) => {
    let end: number | undefined;
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!isOutage(error) || (end !== undefined && monotonic() > end)) throw error;
        if (end === undefined) onOutage(error.message);
        end ??= monotonic() + OUTAGE_S_MAX * 1_000;
        await pause(RETRY_MS);
      }
    }
  };

/** The calls of a copy to a log, each repeated. */
export const lastingLog = (
  log: CopySource & CopyTarget,
  repeat: Repeat,
): CopySource & CopyTarget => ({
  id: log.id,
  head: () => repeat(() => log.head()),
  readAll: (page) => repeat(() => log.readAll(page)),
  append: (...append) => repeat(() => log.append(...append)),
});

/** The calls of a copy to a vault, each repeated. */
export const lastingKeys = (keys: MovableKeys, repeat: Repeat): MovableKeys => ({
  keyOf: (subject) => repeat(() => keys.keyOf(subject)),
  adopt: (...key) => repeat(() => keys.adopt(...key)),
});
