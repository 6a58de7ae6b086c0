import type { Deps } from '#src/calls/call.ts';

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

/** How far a comparison of rows is, and the first row that differs. */
export type CheckState = {
  done: boolean;
  position: number;
  rows: number;
  difference?: {
    readModel: string;
    scope: string;
    key: string;
    position: number;
    live: string | null;
    log: string | null;
    lastEvent?: { position: number; type: string; stream: string };
  };
  failure?: string;
};

/** Whose rows are compared: all without an owner. `sample`: one of so many partitions. */
export type CheckedRows = { owner: string | undefined; sample: number };

/** What operators may do with the projection engine. */
export type ProjectionDesk = {
  names(): readonly string[];
  status(): Promise<ProjectionReport[]>;
  /** Starts a rebuild; false when one is running. */
  rebuild(name: string): boolean;
  /** Starts the verification `run`, or answers how far it is when it was started before. */
  verify(name: string, run: string): VerifyState;
  /** Starts the comparison `run` of rows with a fold of the log, or answers how far it is. */
  check(rows: CheckedRows, run: string): CheckState;
};

/** What use cases need that manage the read models. */
export type OperatorDeps = Deps & { projections: ProjectionDesk };
