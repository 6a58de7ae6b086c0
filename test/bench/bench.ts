import type { Sample } from './load.ts';
import type { Row } from './table.ts';

/** What the benchmarks of a run share. */
export type Context = {
  /** A data directory with a million events and read models of them, made when first asked for. */
  million(): Promise<Million>;
  /** Hears of the samples: tells when the generator was too busy to be trusted. */
  note(id: string, samples: Record<string, readonly Sample[]>): void;
};

export type Million = { directory: string; events: number };

export type Bench = (context: Context) => Promise<Row[]>;
