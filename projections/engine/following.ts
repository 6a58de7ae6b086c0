import type { FoldEvent, Position } from '#src/ports/event-log.ts';
import type { Folding } from './advance.ts';
import type { CatalogFollower } from './catalog-follower.ts';
import { router } from './fold.ts';
import type { RunOptions } from './run-options.ts';
import type { Progress } from './status.ts';
import { lowest, type Target } from './target.ts';

export type FollowingOptions = Omit<RunOptions, 'catalog'> & {
  catalog?: CatalogFollower;
  progress(projection: string, progress: Progress | undefined): void;
  /** Wakes the loop: something waits to be adopted. */
  wake(): void;
  /** Wakes it to look whether all is as it was. */
  recheck(): void;
};

/** What the loop follows, and where it stands. */
export type Following = {
  readonly options: FollowingOptions;
  readonly folding: Folding;
  readonly own: ReadonlySet<number> | undefined;
  targets: readonly Target[];
  route: (events: readonly FoldEvent[]) => FoldEvent[][];
  position: Position;
  /** Time of the last event. */
  at: number | null;
  /** Its position. The loop's own may lie behind it, where no fill comes to: none is kept there. */
  last: Position;
  /** Events since checkpoints of partitions without any were moved. */
  sinceMoved: number;
  stopped: boolean;
  /** Spaces that answer and had to be filled again: until that is done nothing has passed them. */
  readonly late: Set<Target>;
  /** Taken out of the loop; they are filled again together, in one reading of the log. */
  readonly lost: Set<Target>;
  /** Spaces followed before they answer, because other workers' partitions are not filled yet. */
  readonly unborn: Map<Target, Position>;
  /** Spaces that a rebuild filled here, for others as well, and when they are left to them. */
  readonly lent: WeakMap<Target, number>;
  readonly adoptions: { target: Target; settle: (error?: unknown) => void }[];
};

export const following = (options: FollowingOptions): Following => {
  const { store, signal, onParked, onFault, partitions } = options;
  return {
    options,
    folding: {
      store,
      signal,
      onParked: ({ projection }, parked) => onParked?.(projection.name, parked),
      ...(onFault && { onFault }),
    },
    own: partitions && new Set(partitions),
    targets: [],
    route: () => [],
    position: 0,
    at: null,
    last: 0,
    sinceMoved: 0,
    stopped: false,
    late: new Set(),
    lost: new Set(),
    unborn: new Map(),
    lent: new WeakMap(),
    adoptions: [],
  };
};

export const setTargets = (state: Following, targets: readonly Target[]): void => {
  state.targets = targets;
  state.route = router(targets);
};

/** Up to here every space that answers is folded, parked partitions aside. */
export const rowsReached = ({ late, position }: Following): Position =>
  late.size > 0 ? Math.min(position, lowest([...late])) : position;

/** Up to here the catalog is, too. */
export const reached = (state: Following): Position =>
  Math.min(rowsReached(state), state.options.catalog?.reached() ?? Infinity);
