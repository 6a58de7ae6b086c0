/** The state of the server, and the commands of a test. */
import type { Delivery, Pace } from './delivery.ts';
import type { AppendFault, ReadFault, RemoveFault, SubscribeFault, faultQueue } from './faults.ts';
import type { Store } from './store.ts';

export type Stats = {
  /** Opened streams of batch appends, and appends on them. */
  batchStreams: number;
  appends: number;
  /** Appends of one call each. */
  classicAppends: number;
  reads: number;
  readsNow: number;
  readsMost: number;
  /** Records that reads, and not subscriptions, were sent. */
  recordsRead: number;
  subscriptions: number;
  subscriptionsNow: number;
  /** Subscribers that were cut off because they were too slow. */
  cuts: number;
};

export type Settings = {
  /** Whether the server announces batch appends. */
  batches: boolean;
  /** How far the server's clock is ahead, in milliseconds. */
  skewMs: number;
  /** A write that is not committed after this time is answered with a timeout. */
  writeTimeoutMs: number;
  appendBytesMax: number;
  /** Whether the user may read and follow `$all`. */
  all: boolean;
  /** Whether reads of several records of `$all`, forwards, are answered. */
  history: boolean;
  version: string;
  /** How late subscribers receive records. */
  pace: Pace;
  /** The port of the leader; null if every port accepts leader calls. */
  leader: number | null;
  /** The answer of gossip: the ports of all nodes, the leader first. */
  nodes: number[];
};

export type State = {
  store: Store;
  delivery: Delivery;
  faults: ReturnType<typeof faultQueue>;
  stats: Stats;
  settings: Settings;
  /** Answers that wait for `releaseAnswers`. */
  withheld: (() => void)[];
  /** Functions that end each subscription. */
  subscriptions: Set<(how: Drop) => void>;
  now(): number;
};

export type Drop = 'end' | 'unavailable' | 'reset' | 'slow' | 'silence';

export type Command =
  | { name: 'reset' }
  | { name: 'fault'; on: 'append'; fault: AppendFault; times?: number }
  | { name: 'fault'; on: 'read'; fault: ReadFault; times?: number }
  | { name: 'fault'; on: 'subscribe'; fault: SubscribeFault; times?: number }
  | { name: 'fault'; on: 'remove'; fault: RemoveFault; times?: number }
  | { name: 'set'; settings: Partial<Settings> }
  | { name: 'hold' }
  | { name: 'release' }
  | { name: 'erase' }
  | { name: 'releaseAnswers' }
  /**
   * Holds back what subscriptions of the connection receive, also those that it opens later, until they
   * are released. The name of a connection is in its URL (`connectionName`); the empty name means all.
   */
  | { name: 'holdDelivery' | 'releaseDelivery'; connection: string }
  | { name: 'drop'; how: Drop }
  | { name: 'flood'; count: number; stream: string; type: string }
  | { name: 'remove'; stream: string; how: 'soft' | 'hard' }
  | { name: 'scavenge' }
  | { name: 'stats' }
  /** Another application creates this stream. */
  | { name: 'write'; stream: string }
  /** Answers when the statistic is in this range. */
  | { name: 'await'; stat: keyof Stats; least?: number; most?: number };

export const freshStats = (): Stats => ({
  batchStreams: 0,
  appends: 0,
  classicAppends: 0,
  reads: 0,
  readsNow: 0,
  readsMost: 0,
  recordsRead: 0,
  subscriptions: 0,
  subscriptionsNow: 0,
  cuts: 0,
});

export const SETTINGS: Settings = {
  batches: true,
  skewMs: 0,
  writeTimeoutMs: 2_000,
  appendBytesMax: 1_048_576,
  all: true,
  history: true,
  version: '23.10.8.0',
  pace: 'prompt',
  leader: null,
  nodes: [],
};
