/** Measures how long work waits for the event loop. */
import { performance } from 'node:perf_hooks';

/** Interval of the probe. A shorter one wakes an idle process more often. */
const PROBE_MS = 20;

type Options = {
  /** A monotonic clock in milliseconds. */
  monotonic(): number;
  /** Milliseconds that the event loop has spent waiting for events since the start of the process. */
  idleMs(): number;
  /** Runs `probe` again and again; returns a function that stops it. */
  every(ms: number, probe: () => void): () => void;
};

export type EventLoopDelay = {
  /**
   * Milliseconds for which the event loop has been busy since its timers were due. A request that is handled now may
   * have waited for as long. Time in which the loop waited for events, or the process was paused meanwhile, is not counted.
   */
  ms(): number;
  stop(): void;
};

const SYSTEM: Options = {
  monotonic: () => performance.now(),
  idleMs: () => performance.nodeTiming.idleTime,
  every(ms, probe) {
    const timer = setInterval(probe, ms).unref();
    return () => clearInterval(timer);
  },
};

/** Measures the delay of the event loop at this moment; a histogram would report it only after the turn. */
export const eventLoopDelay = ({ monotonic, idleMs, every }: Options = SYSTEM): EventLoopDelay => {
  const busyMs = (): number => monotonic() - idleMs();
  let busyAtProbe = busyMs();
  const stop = every(PROBE_MS, () => {
    busyAtProbe = busyMs();
  });
  return { ms: () => Math.max(0, busyMs() - busyAtProbe - PROBE_MS), stop };
};
