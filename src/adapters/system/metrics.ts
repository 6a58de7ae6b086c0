import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import type { Metrics } from '#src/ports/metrics.ts';

/** From a commit in memory to one that a slow disk or a distant server takes. */
const APPEND_S = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const REQUEST_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** A request waits at most 250 ms for Redis; a projector longer. */
const REDIS_S = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

/** Metrics in a registry of their own: two services in one process do not mix. */
export const prometheusMetrics = (): Metrics => {
  const registry = new Registry();
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ name, help, labelNames, registers });

  const requests = counter('tributary_requests_total', 'HTTP requests answered.', [
    'surface',
    'operation',
    'outcome',
  ]);
  const requestSeconds = new Histogram({
    name: 'tributary_request_seconds',
    help: 'From the first byte of a request to the last of its answer.',
    labelNames: ['surface'],
    buckets: REQUEST_S,
    registers,
  });
  const calls = counter('tributary_calls_total', 'Operations called over MCP and A2A.', [
    'surface',
    'operation',
    'outcome',
  ]);
  const appends = counter('tributary_appends_total', 'Appends to the log.', ['outcome']);
  const appendSeconds = new Histogram({
    name: 'tributary_append_seconds',
    help: 'From an append to its answer, whatever it was.',
    buckets: APPEND_S,
    registers,
  });
  const sendings = counter('tributary_dispatch_total', 'Attempts to send approved outreach.', [
    'outcome',
  ]);
  const trips = counter('tributary_redis_total', 'Round trips to Redis.', ['kind', 'outcome']);
  const tripSeconds = new Histogram({
    name: 'tributary_redis_seconds',
    help: 'One round trip to Redis.',
    labelNames: ['kind'],
    buckets: REDIS_S,
    registers,
  });
  const logUp = gauge('tributary_log_up', '1 when the log told its head for this answer.');
  const lagEvents = gauge('tributary_projection_lag_events', 'Events not folded yet, about.', [
    'projection',
  ]);
  const lagSeconds = gauge(
    'tributary_projection_lag_seconds',
    'Age of the oldest event not folded yet; 0 when there is none.',
    ['projection'],
  );
  const parked = gauge('tributary_projection_parked', 'Partitions that a poison event holds up.', [
    'projection',
  ]);

  let isCollecting = false;
  /** Its timers are for those whom somebody asks. */
  const collectOfProcess = (): void => {
    if (!isCollecting) collectDefaultMetrics({ register: registry });
    isCollecting = true;
  };

  return {
    contentType: registry.contentType,
    countRequest({ surface, operation, outcome }, seconds) {
      requests.inc({ surface, operation, outcome });
      requestSeconds.observe({ surface }, seconds);
    },
    countCall: ({ surface, operation, outcome }) => calls.inc({ surface, operation, outcome }),
    countAppend(outcome, seconds) {
      appends.inc({ outcome });
      appendSeconds.observe(seconds);
    },
    countSending: (outcome) => sendings.inc({ outcome }),
    countRoundTrip({ kind, outcome }, seconds) {
      trips.inc({ kind, outcome });
      tripSeconds.observe({ kind }, seconds);
    },
    async text(lags) {
      collectOfProcess();
      logUp.set(lags === null ? 0 : 1);
      // A stale lag would look like a healthy one.
      for (const each of [lagEvents, lagSeconds, parked]) each.reset();
      for (const lag of lags ?? []) {
        const { projection } = lag;
        lagEvents.set({ projection }, lag.events);
        lagSeconds.set({ projection }, lag.seconds);
        parked.set({ projection }, lag.parked);
      }
      return registry.metrics();
    },
  };
};
