/**
 * What the service counts about itself. Labels come from small fixed sets, never from an owner, an
 * agent, a key or an address: the numbers must not reveal anything about a tenant.
 */
import type { LostKey } from './system.ts';

/** `limited`: too many requests. `failed`: a fault of the service. `refused`: all other refusals. */
export type RequestOutcome = 'ok' | 'limited' | 'refused' | 'failed';

/** `surface` and `operation` have the names of the registries. */
export type RequestLabels = { surface: string; operation: string; outcome: RequestOutcome };

export type AppendOutcome = 'appended' | 'conflict' | 'unavailable';

/** What the service sends by itself. */
export type SendingKind = 'outreach' | 'push' | 'mail';

export type SendingOutcome = 'confirmed' | 'deferred' | 'failed' | 'unknown';

export type RoundTrip = { kind: 'read' | 'write'; outcome: 'ok' | 'failed' };

/** How far a read model lags behind the log. */
export type Lag = {
  projection: string;
  events: number;
  seconds: number;
  parked: number;
  skipped: number;
};

/** Reasons why writes are refused until a person decides, by the problem code that callers get. Each is a metric. */
export type StopReasons = Readonly<Record<'log_replaced' | 'clock_behind', boolean>>;

export type Metrics = {
  /** Counts an HTTP request once its response is sent. */
  countRequest(labels: RequestLabels, seconds: number): void;
  /** Counts an operation within a request of any protocol, for example a tool call. */
  countCall(labels: RequestLabels): void;
  countAppend(outcome: AppendOutcome, seconds: number): void;
  countSending(kind: SendingKind, outcome: SendingOutcome): void;
  /** Counts a round trip to the remote store of the read models. */
  countRoundTrip(trip: RoundTrip, seconds: number): void;
  /** Counts a visit that was redirected and not recorded, because the disk is full. */
  countUnrecordedVisit(): void;
  /** Counts a text that was not opened because its key is lost, at each attempt. */
  countLostKey(key: LostKey['key']): void;
  /** Counts a connection that was closed because its address has too many. */
  countRefusedConnection(): void;
  /** Counts a request whose forwarded address is ignored. */
  countUntrustedForwarded(): void;
  /** Renders all metrics as Prometheus text; `lag` is null while the log is unavailable. */
  text(lag: readonly Lag[] | null, faults?: StopReasons): Promise<string>;
  readonly contentType: string;
};
