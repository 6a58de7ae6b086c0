/**
 * What the service counts about itself. Labels come from small fixed sets: never an owner, an agent,
 * a key or an address, so that whoever may read the numbers learns nothing of a tenant.
 */

/** `limited`: asked too often. `failed`: our fault. `refused`: every other refusal. */
export type RequestOutcome = 'ok' | 'limited' | 'refused' | 'failed';

/** `surface` and `operation` as the registries name them. */
export type Asked = { surface: string; operation: string; outcome: RequestOutcome };

export type AppendOutcome = 'appended' | 'conflict' | 'unavailable';

/** What became of an attempt to send approved outreach. */
export type SendingOutcome = 'confirmed' | 'deferred' | 'failed' | 'unknown';

export type RoundTrip = { kind: 'read' | 'write'; outcome: 'ok' | 'failed' };

/** How far a read model is behind the log. */
export type Lag = { projection: string; events: number; seconds: number; parked: number };

export type Metrics = {
  /** One HTTP request, when its answer has left. */
  requested(asked: Asked, seconds: number): void;
  /** One operation inside a request that can hold any: a tool call, a message. */
  called(asked: Asked): void;
  appended(outcome: AppendOutcome, seconds: number): void;
  sent(outcome: SendingOutcome): void;
  /** One round trip to the store of the read models across the network. */
  wentRound(trip: RoundTrip, seconds: number): void;
  /** All of it as Prometheus reads it; `lag` is null while the log does not tell. */
  text(lag: readonly Lag[] | null): Promise<string>;
  readonly contentType: string;
};
