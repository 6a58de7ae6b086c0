import type { Sample } from './load.ts';
import type { Row } from './table.ts';

/** What the benchmarks of a run share. */
export type Context = {
  million: Million;
  /** Hears of the samples: tells when the generator was too busy to be trusted. */
  note(id: string, samples: Record<string, readonly Sample[]>): void;
};

/** A data directory with a log of a million events. */
export type Million = {
  directory: string;
  events: number;
  /** Resolves when the log is there. */
  log(): Promise<void>;
  /** Resolves when the read models are there too. */
  views(): Promise<void>;
};

export type Bench = (context: Context) => Promise<Row[]>;
