/** Metrics in the format of Prometheus. */
import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import type { Metrics } from '#src/ports/metrics.ts';

/** From a commit in memory to one on a slow disk or a distant server. */
const APPEND_S = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const REQUEST_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** A request waits at most 250 ms for Redis; a projector longer. */
const REDIS_S = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

const makersIn = (registry: Registry) => {
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers: [registry] });
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const histogram = <Label extends string>(
    name: string,
    help: string,
    { buckets, labelNames = [] }: { buckets: number[]; labelNames?: Label[] },
  ) => new Histogram({ name, help, labelNames, buckets, registers: [registry] });
  return { counter, gauge, histogram };
};

/** What the process has done since its start. */
const registerWork = ({ counter, histogram }: ReturnType<typeof makersIn>) => {
  const perOperation = ['surface', 'operation', 'outcome'] as const;
  return {
    requests: counter('tributary_requests_total', 'HTTP requests answered.', ...perOperation),
    requestSeconds: histogram(
      'tributary_request_seconds',
      'From the first byte of a request to the last of its answer.',
      { buckets: REQUEST_S, labelNames: ['surface'] },
    ),
    calls: counter('tributary_calls_total', 'Operations called over MCP and A2A.', ...perOperation),
    appends: counter('tributary_appends_total', 'Appends to the log.', 'outcome'),
    appendSeconds: histogram(
      'tributary_append_seconds',
      'From an append to its answer, successful or not.',
      { buckets: APPEND_S },
    ),
    outreach: counter('tributary_dispatch_total', 'Attempts to send approved outreach.', 'outcome'),
    push: counter('tributary_push_total', 'Attempts to send push notifications.', 'outcome'),
    mail: counter('tributary_mail_total', 'Attempts to send mail.', 'outcome'),
    trips: counter('tributary_redis_total', 'Round trips to Redis.', 'kind', 'outcome'),
    tripSeconds: histogram('tributary_redis_seconds', 'One round trip to Redis.', {
      buckets: REDIS_S,
      labelNames: ['kind'],
    }),
    unrecordedVisits: counter(
      'tributary_visits_unrecorded_total',
      'Visits of links that were redirected and not recorded, because the disk is full.',
    ),
    lostKeys: counter(
      'tributary_lost_keys_total',
      'Texts of personal data that were not opened because their key is missing or damaged, by attempt.',
      'key',
    ),
    refusedConnections: counter(
      'tributary_connections_refused_total',
      'Connections closed because their network address has too many.',
    ),
    untrustedForwarded: counter(
      'tributary_untrusted_forwarded_total',
      'Requests whose forwarded address is ignored, because TRUST_PROXY is not set.',
    ),
  };
};

/** How things are when the metrics are read. */
const registerState = ({ gauge }: ReturnType<typeof makersIn>) => {
  const lag = 'tributary_projection_lag';
  return {
    logUp: gauge('tributary_log_up', '1 when the head of the log could be read for this answer.'),
    log_replaced: gauge(
      'tributary_log_replaced',
      '1 while the server has a different log, so that the process refuses writes until a person decides.',
    ),
    clock_behind: gauge(
      'tributary_clock_behind',
      '1 while the newest event is ahead of the clock, so that the process refuses writes until a person decides.',
    ),
    lagEvents: gauge(`${lag}_events`, 'Approximate number of events not folded yet.', 'projection'),
    lagSeconds: gauge(
      `${lag}_seconds`,
      'Age of the oldest event not folded yet; 0 when there is none.',
      'projection',
    ),
    parked: gauge('tributary_projection_parked', 'Partitions before a poison event.', 'projection'),
    skipped: gauge(
      'tributary_projection_skipped',
      'Events that two people decided to fold the read model without.',
      'projection',
    ),
  };
};

/** Metrics in their own registry, so that two services in one process are not mixed. */
export const prometheusMetrics = (): Metrics => {
  const registry = new Registry();
  const makers = makersIn(registry);
  const metrics = { ...registerWork(makers), ...registerState(makers) };
  let isCollecting = false;
  return {
    contentType: registry.contentType,
    countRequest({ surface, operation, outcome }, seconds) {
      metrics.requests.inc({ surface, operation, outcome });
      metrics.requestSeconds.observe({ surface }, seconds);
    },
    countCall: ({ surface, operation, outcome }) =>
      metrics.calls.inc({ surface, operation, outcome }),
    countAppend(outcome, seconds) {
      metrics.appends.inc({ outcome });
      metrics.appendSeconds.observe(seconds);
    },
    countSending: (kind, outcome) => metrics[kind].inc({ outcome }),
    countRoundTrip({ kind, outcome }, seconds) {
      metrics.trips.inc({ kind, outcome });
      metrics.tripSeconds.observe({ kind }, seconds);
    },
    countUnrecordedVisit: () => metrics.unrecordedVisits.inc(),
    countLostKey: (key) => metrics.lostKeys.inc({ key }),
    countRefusedConnection: () => metrics.refusedConnections.inc(),
    countUntrustedForwarded: () => metrics.untrustedForwarded.inc(),
    async text(lags, faults) {
      // Starts at the first scrape: a process that is not scraped needs none of these timers.
      if (!isCollecting) collectDefaultMetrics({ register: registry });
      isCollecting = true;
      metrics.logUp.set(lags === null ? 0 : 1);
      for (const reason of ['log_replaced', 'clock_behind'] as const)
        metrics[reason].set(faults?.[reason] ? 1 : 0);
      const { lagEvents, lagSeconds, parked, skipped } = metrics;
      // Removes old values: a stale lag would look healthy.
      for (const gauge of [lagEvents, lagSeconds, parked, skipped]) gauge.reset();
      for (const lag of lags ?? []) {
        const { projection } = lag;
        lagEvents.set({ projection }, lag.events);
        lagSeconds.set({ projection }, lag.seconds);
        parked.set({ projection }, lag.parked);
        skipped.set({ projection }, lag.skipped);
      }
      return registry.metrics();
    },
  };
};

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

export const heapBytesMax = (): number => getHeapStatistics().heap_size_limit;
