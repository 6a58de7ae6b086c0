/** Operations of operators on read models. */
import type { Deps } from '#src/calls/handlers.ts';
import type { DeskHandler } from '#src/calls/desk-handler.ts';
import type { EventOf } from '#contracts/registries/events.ts';
import { DESK } from '#src/calls/audit.ts';
import { accept, type Decider } from '#src/shared/decider.ts';
import { ReadModelParked } from '#src/ports/read-model.ts';
import { done, type Outcome, refuse, refuseField } from '#src/shared/outcome.ts';
import { createOnce, readReplay, traceOf } from '#src/writing/decide-and-append.ts';
import { nameOf } from '#src/writing/streams.ts';
import { present } from '#src/shared/json.ts';
import { answerOnce, claimKeyOrResume } from '#src/writing/idempotency.ts';
import { measureLags } from './lag.ts';

/** Stands for every read model where one is rebuilt. */
const ALL = 'all';
/** Named by the claims of keys: what these commands do is in no stream of a record. */
const STREAM = 'projections';
const NO_PROJECTION = refuse('resource_not_found', 'There is no such projection.');

export const listProjections: DeskHandler<'listProjections', OperatorDeps> = async (deps) => {
  const { position: head } = await deps.log.head();
  const statuses = await deps.projections.status();
  const lags = await measureLags({ ...deps, projections: { status: async () => statuses } });
  const data = statuses.map(({ lagEvents: _positions, lastRebuild, rebuilding, ...status }, i) => ({
    ...status,
    lag_events: lags[i]?.events ?? 0,
    ...present({ last_rebuild: lastRebuild, rebuilding: rebuilding && renderFill(rebuilding) }),
  }));
  const { unit, fills } = deps.projections;
  const limits = fills.isFilling() ? renderLimits(fills.limits()) : undefined;
  return done({ head, unit, ...present({ fills: limits }), data });
};

const renderFill = ({ secondsLeft, ...fill }: NonNullable<ProjectionReport['rebuilding']>) => ({
  ...fill,
  ...present({ seconds_left: secondsLeft }),
});

const renderLimits = ({ isPaused, eventsPerSecond }: FillLimits) => ({
  paused: isPaused,
  ...present({ events_per_second: eventsPerSecond }),
});

/** Refuses what only acts on running fills. */
const NOTHING_FILLED = refuse(
  'state_conflict',
  'No read model is being filled, so there is nothing to pause, resume or throttle. Start a rebuild first.',
);

export const limitFills: DeskHandler<'limitFills', OperatorDeps> = async (deps, input, call) => {
  const { fills } = deps.projections;
  const { paused, events_per_second: limit } = input;
  const work = async () => {
    if (!fills.isFilling()) return NOTHING_FILLED;
    const bound = await claimKeyOrResume(deps, call, STREAM);
    if (!bound.ok) return bound;
    if (paused !== undefined) fills.setPaused(paused);
    if (limit !== undefined) fills.throttle(limit === 0 ? undefined : limit);
    return done(renderLimits(fills.limits()));
  };
  return answerOnce(deps, call, { stream: STREAM, work });
};

/** Names the read models that have a held build, with their builds. */
const heldOf = async (
  { projections }: OperatorDeps,
  names: readonly string[],
): Promise<string[]> => {
  const held = await Promise.all(names.map((name) => projections.held(name)));
  return held.flatMap((one) => (one ? [one.space] : []));
};

const refuseHeld = (held: readonly string[]) =>
  refuse(
    'state_conflict',
    `The build ${held.join(', ')} is held. Switch to it or drop it before another rebuild.`,
  );

const hasEvents = async ({ log }: OperatorDeps, owner: string): Promise<boolean> =>
  (await log.readOwnerFold(owner, { after: 0, limit: 1 })).length > 0;

const noEventsOf = (owner: string) =>
  refuse(
    'resource_not_found',
    `The owner ${owner} has no events, so there are no rows to replace. Check the name.`,
  );

const replaceRows = async (
  projections: ProjectionDesk,
  name: string,
  owner: string,
): Promise<Outcome<OwnerRowsReport>> => {
  try {
    const rows = await projections.replaceOwnerRows(name, owner);
    return rows ? done(rows) : noEventsOf(owner);
  } catch (error) {
    if (!(error instanceof ReadModelParked)) throw error;
    return refuse('state_conflict', `Nothing was replaced: ${error.message}.`);
  }
};

export const rebuildProjection: DeskHandler<'rebuildProjection', OperatorDeps> = async (
  deps,
  { name, hold = false, owner_id: owner },
  call,
) => {
  const { projections } = deps;
  const names = projections.names().filter((one) => name === ALL || one === name);
  if (names.length === 0) return NO_PROJECTION;
  if ((hold || owner !== undefined) && !projections.hasBuilds(name))
    return refuseField('/name', 'not_allowed', 'must be one read model other than the catalog');
  if (hold && owner !== undefined)
    return refuseField('/hold', 'not_allowed', 'must not be given together with owner_id');
  const work = async () => {
    const held = hold || owner !== undefined ? [] : await heldOf(deps, names);
    if (held.length > 0) return refuseHeld(held);
    if (owner !== undefined && !(await hasEvents(deps, owner))) return noEventsOf(owner);
    const bound = await claimKeyOrResume(deps, call, STREAM);
    if (!bound.ok) return bound;
    const { position: head } = await deps.log.head();
    if (owner !== undefined) {
      const rows = await replaceRows(projections, name, owner);
      return rows.ok ? done({ name, started: true, head, owner: rows.value }) : rows;
    }
    const started = hold ? projections.hold(name) : projections.rebuild(names);
    return done({ name, started, head });
  };
  return answerOnce(deps, call, { stream: STREAM, work });
};

const NOT_HELD = refuse(
  'state_conflict',
  'No build of this read model is held. A rebuild with hold makes one.',
);

export const readHeldBuild: DeskHandler<'readHeldBuild', OperatorDeps> = async (deps, { name }) => {
  if (!deps.projections.names().includes(name)) return NO_PROJECTION;
  const held = await deps.projections.held(name);
  if (!held) return refuse('resource_not_found', 'No build of this read model is held.');
  return done({ name, space: held.space, ...present({ comparison: held.comparison }) });
};

type BuildEvent = EventOf<'BuildSwitched' | 'BuildDropped'>;

/** One stream for each decision, so that the answer to a retry is the decision itself. */
const decision: Decider<BuildEvent['data'], BuildEvent, BuildEvent, never> = {
  evolve: (_state, { data }) => data,
  decide: (_state, event) => accept(event),
};

const buildHandler =
  (
    type: BuildEvent['type'],
    act: (projections: ProjectionDesk, name: string) => Promise<void>,
  ): DeskHandler<'switchBuild' | 'dropBuild', OperatorDeps> =>
  async (deps, { name }, call) => {
    const { projections } = deps;
    if (!projections.names().includes(name)) return NO_PROJECTION;
    const target = {
      stream: `${DESK}-build_${nameOf('build', call.idem ?? '')}`,
      decider: decision,
    };
    const held = await projections.held(name);
    const isFilling = projections.isRebuilding(name);
    // Read last: an attempt at the same time may have decided, and changed both.
    const replay = await readReplay(deps, call, target);
    if (!replay && !held) return NOT_HELD;
    if (!replay && isFilling) return FILLING;
    const data = { read_model: name, space: held?.space ?? '' };
    const written =
      replay ?? (await createOnce(deps, call, { ...target, command: { type, data } }));
    if (!written.ok) return written;
    const { space } = written.state;
    // Recorded before it is done; a retry does what an interruption left.
    if (held?.space === space) await act(projections, name);
    return done({ name, space }, traceOf(written));
  };

const FILLING = refuse(
  'state_conflict',
  'This read model is being filled. Wait for the end, which listProjections shows, and repeat this.',
);

export const switchBuild = buildHandler('BuildSwitched', async (projections, name) => {
  projections.switchTo(name);
});

export const dropBuild = buildHandler('BuildDropped', (projections, name) =>
  projections.drop(name),
);

export const verifyProjection: DeskHandler<'verifyProjection', OperatorDeps> = async (
  deps,
  { name, run },
) => {
  if (!deps.projections.names().includes(name)) return NO_PROJECTION;
  const state = deps.projections.verify(name, run);
  return done({ name, ...state, head: (await deps.log.head()).position });
};

/** A partition of a read model that stopped before an event, and why. */
export type ParkedAt = {
  name: string;
  partition: number;
  position: number;
  stream: string;
  reason: string;
};

/** An event that a read model is folded without: the place of the event in its stream. */
type SkippedEvent = { read_model: string; stream: string; revision: number };

export type ProjectionReport = {
  name: string;
  version: number;
  space: string;
  checkpoint: number;
  lagEvents: number;
  parked: Omit<ParkedAt, 'name'>[];
  /** Number of events that it is folded without. */
  skipped: number;
  /** `rate`: positions a second. */
  rebuilding?: {
    space: string;
    position: number;
    head: number;
    rate?: number;
    secondsLeft?: number;
  };
  /** The held build. */
  held?: string;
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
    fields: string[];
    lastEvent?: { position: number; type: string; stream: string };
  };
  failure?: string;
};

/** Whose rows are compared: all without an owner. `sample`: one of so many partitions. */
export type CheckedRows = { owner: string | undefined; sample: number };

/** How the rows of a held build differ from the live ones. */
export type HeldBuild = {
  space: string;
  comparison?: {
    rows: number;
    different: number;
    only_live: number;
    only_held: number;
    fields: Record<string, number>;
    first: { scope: string; key: string; before: string | null; after: string | null }[];
    partitions_not_compared: number[];
  };
};

/** What a comparison of an owner's rows replaced, and what it could not. */
export type OwnerRowsReport = {
  rows: number;
  replaced: number;
  fields: Record<string, number>;
  first: { scope: string; key: string; before: string | null; after: string | null }[];
  shared: { scope: string; key: string }[];
  partitions_not_replaced: number[];
};

type FillLimits = { isPaused: boolean; eventsPerSecond: number | undefined };

/** What operators may do with the fills of this process. */
export type FillsDesk = {
  isFilling(): boolean;
  limits(): FillLimits;
  setPaused(isPaused: boolean): void;
  /** Limits the events of each second; undefined removes the limit. */
  throttle(eventsPerSecond: number | undefined): void;
};

/** What operators may do with the projection engine. */
export type ProjectionDesk = {
  /** What positions of the log count. */
  readonly unit: 'events' | 'bytes';
  readonly fills: FillsDesk;
  names(): readonly string[];
  status(): Promise<ProjectionReport[]>;
  /** Lists the parked partitions, also those of projectors. */
  parked(): Promise<ParkedAt[]>;
  /** Folds parked partitions of this process again, of one read model or of all. Resolves to false if that takes longer than a while. */
  retry(name?: string): Promise<boolean>;
  skipped(): readonly SkippedEvent[];
  /** Starts a rebuild in one reading of the log; false when one of any of these is running. */
  rebuild(names: readonly string[]): boolean;
  /** Whether any of what these functions start is running. */
  isRebuilding(name: string): boolean;
  /** Whether it is one read model with rows and builds: the catalog has none. */
  hasBuilds(name: string): boolean;
  /** Replaces the rows of an owner where they differ from the owner's events; undefined if the owner has none. */
  replaceOwnerRows(name: string, owner: string): Promise<OwnerRowsReport | undefined>;
  /** Starts to fill a build and to compare it with the live rows; false when it is being rebuilt. */
  hold(name: string): boolean;
  /** Returns the held build, with its comparison if this process has made one. */
  held(name: string): Promise<HeldBuild | undefined>;
  /** Starts to fill the held build up to the head of the log, and to switch to it; false when it is being rebuilt. */
  switchTo(name: string): boolean;
  drop(name: string): Promise<void>;
  /** Starts the verification `run`, or answers how far it is when it was started before. */
  verify(name: string, run: string): VerifyState;
  /** Starts the comparison `run` of rows with a fold of the log, or answers how far it is. */
  check(rows: CheckedRows, run: string): CheckState;
};

/** What use cases need that manage the read models. */
export type OperatorDeps = Deps & { projections: ProjectionDesk };
