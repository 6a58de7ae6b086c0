export type ProjectionReport = {
  name: string;
  version: number;
  space: string;
  checkpoint: number;
  lagEvents: number;
  parked: { partition: number; position: number; stream: string; reason: string }[];
  rebuilding?: { space: string; position: number; head: number };
  lastRebuild?: { state: 'running' | 'done' | 'failed'; failure?: string };
};

export type VerifyState = {
  done: boolean;
  position: number;
  rows: number;
  mismatches: { partition: number; detail: string }[];
  failure?: string;
};

/** What operators may do with the projection engine. */
export type ProjectionDesk = {
  names(): readonly string[];
  status(): Promise<ProjectionReport[]>;
  /** Starts a rebuild; false when one is running. */
  rebuild(name: string): boolean;
  /** Starts the verification `run`, or answers how far it is when it was started before. */
  verify(name: string, run: string): VerifyState;
};
