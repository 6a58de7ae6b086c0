import type { Sample } from './load.ts';
import type { Row } from './table.ts';

/** What the benchmarks of a run share. */
export type Context = {
  million: Million;
  /** Reports samples during which the load generator was too busy to be trusted. */
  note(id: string, samples: Record<string, readonly Sample[]>): void;
};

/** A data directory with a log of a million events. */
export type Million = {
  directory: string;
  events: number;
  /** Resolves when the log exists. */
  log(): Promise<void>;
  /** Returns a directory with a log of so many such events. */
  logOf(events: number): Promise<string>;
  /** Resolves when the read models exist, too. */
  views(): Promise<void>;
};

export type Bench = (context: Context) => Promise<Row[]>;
