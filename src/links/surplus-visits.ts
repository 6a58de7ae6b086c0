import type { CodeRow } from '#src/ports/rows.ts';
import { LogUnavailable, type NewEvent } from '#src/ports/event-log.ts';
import type { Ids } from '#src/ports/system.ts';
import { attribute } from '#src/writing/attribution.ts';
import type { Recorder } from '#src/writing/recorder.ts';
import type { Call } from '#src/shared/call.ts';
import { DAY_MS } from '#src/shared/time.ts';

export type LinkVisit = { code: CodeRow; call: Call };

export type SurplusVisits = {
  /** Adds a visit to the sum of its link and day; false when too many links wait, and the visit must be recorded. */
  add(visit: LinkVisit): boolean;
  /** Appends all sums; resolves when they are durable, or wait for another attempt. */
  flush(): Promise<void>;
};

type Options = {
  recorder: Recorder;
  ids: Ids;
  /** Runs `task` after `ms`; injected so that tests need not wait. */
  schedule(task: () => void, ms: number): void;
  onLost(error: unknown): void;
};

const GATHER_MS = 60_000;
const LINKS_MAX = 10_000;

type Sum = LinkVisit & { visits: number };
type Append = { stream: string; events: readonly NewEvent[] };

/** The stream of visits to an owner's links on a day; each process adds its own name. */
export const visitStream = ({ ownerId, at }: Pick<Call, 'ownerId' | 'at'>): string =>
  `${ownerId}-visits_${Math.floor(at / DAY_MS)}`;

/**
 * Sums visits in memory and appends one event a minute for each link. An append that fails is repeated with the same
 * events, so no visit is counted twice; meanwhile the sums grow, and no memory is added. A process that is killed loses
 * the sums of the last minute.
 */
export const surplusVisits = ({ recorder, ids, schedule, onLost }: Options): SurplusVisits => {
  const sums = new Map<string, Sum>();
  const unsettled = new Set<Append>();
  let isDue = false;
  let writing = Promise.resolve();

  const scheduleFlush = (): void => {
    if (isDue) return;
    isDue = true;
    schedule(() => void flush(), GATHER_MS);
  };

  const toAppend = ({ code, call, visits }: Sum): Append => {
    const { link_id, agent_id, dims } = code;
    const event = { type: 'VisitsSummed' as const, data: { link_id, agent_id, dims, visits } };
    return { stream: visitStream(call), events: attribute(call, [event], ids) };
  };

  const append = async (one: Append): Promise<void> => {
    try {
      await recorder.record(one.stream, one.events);
      unsettled.delete(one);
    } catch (error) {
      if (error instanceof LogUnavailable) scheduleFlush();
      else {
        unsettled.delete(one);
        onLost(error);
      }
    }
  };

  const write = async (): Promise<void> => {
    isDue = false;
    if (unsettled.size === 0) {
      for (const sum of sums.values()) unsettled.add(toAppend(sum));
      sums.clear();
    }
    await Promise.all([...unsettled].map(append));
  };

  const flush = (): Promise<void> => (writing = writing.then(write));

  return {
    add({ code, call }) {
      const key = `${code.link_id} ${visitStream(call)}`;
      const sum = sums.get(key);
      if (!sum && sums.size >= LINKS_MAX) return false;
      // The event has the time of its last visit, which is in the same day.
      sums.set(key, { code, call, visits: (sum?.visits ?? 0) + 1 });
      scheduleFlush();
      return true;
    },
    flush,
  };
};
