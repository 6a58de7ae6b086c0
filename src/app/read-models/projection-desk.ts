export type ProjectionStatus = {
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

/** The operator's view of the projection engine; wired in main. */
export type ProjectionDesk = {
  names(): readonly string[];
  status(): Promise<ProjectionStatus[]>;
  /** Starts a rebuild; false when one is running. */
  rebuild(name: string): boolean;
  /** Starts the run of this name, or answers how far it is. */
  verify(name: string, run: string): VerifyState;
};
