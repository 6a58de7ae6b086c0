import type { Position } from '#src/ports/event-log.ts';
import type { FoldContext } from './advance.ts';
import type { CatalogFollower } from './catalog-follower.ts';
import { createRouter, type EventRouter } from './router.ts';
import type { Life } from './life.ts';
import type { SpaceInspection } from './lifecycle.ts';
import type { EngineOptions } from './options.ts';
import { PositionWaiters } from './position-waiters.ts';
import type { FillProgress } from './operator/status.ts';
import type { SubscriptionBuffer } from './subscription-buffer.ts';
import { type FoldTarget, lowestPosition } from './target.ts';

/** Only a log whose positions are bytes has records that are no events. */
const REREAD_BYTES_MAX = 8_388_608;

/** What the loop follows, and its position. */
export class LoopState {
  readonly options: EngineOptions;
  readonly catalog: CatalogFollower | undefined;
  readonly context: FoldContext;
  /** The partitions that this process folds; undefined for all. */
  readonly own: ReadonlySet<number> | undefined;
  /** What this process follows or must fill again; call `refresh` after a change of the set or of a life. */
  readonly spaces = new Set<FoldTarget>();
  /** The spaces that the loop follows. */
  targets: readonly FoldTarget[] = [];
  /** Live spaces that must be filled again; until then no position beyond them is reached. */
  lagging: readonly FoldTarget[] = [];
  route: EventRouter = () => [];
  position: Position = 0;
  /** Epoch milliseconds of the last event. */
  lastEventAt: number | null = null;
  /** Position of the last event; `position` can be beyond it. */
  lastEventPosition: Position = 0;
  /** Events since the checkpoints of idle partitions were advanced. */
  eventsSinceAdvance = 0;
  isStopped = false;
  readonly adoptions: { target: FoldTarget; settle: (error?: unknown) => void }[] = [];
  /** Progress of fills, by projection. */
  readonly fills = new Map<string, FillProgress>();
  readonly waiters = new PositionWaiters(() => this.reached());
  readonly rowWaiters = new PositionWaiters(() => this.rowsReached());
  buffer: SubscriptionBuffer | undefined;
  /** Results of the last inspection of the store, for the loop to act on. */
  inspections: readonly SpaceInspection[] | undefined;
  inspecting: Promise<void> | undefined;
  isInspectionDue = false;

  constructor(options: EngineOptions, catalog: CatalogFollower | undefined) {
    const { store, signal, onParked, onFault, onUnknownType, partitions } = options;
    this.options = options;
    this.catalog = catalog;
    this.context = { store, signal, onParked, onFault, onUnknownType };
    this.own = partitions && new Set(partitions);
  }

  refresh(): void {
    this.targets = [...this.inStage('awaiting'), ...this.inStage('live')];
    this.lagging = [...this.spaces].filter(({ life }) => 'isRead' in life && life.isRead);
    this.route = createRouter(this.targets, this.context.onUnknownType);
  }

  inStage(stage: Life['stage']): FoldTarget[] {
    return [...this.spaces].filter(({ life }) => life.stage === stage);
  }

  /** Lets the loop run once without an event. */
  wake(): void {
    this.buffer?.wake();
  }

  reportFill(projection: string, progress: FillProgress | undefined): void {
    if (progress) this.fills.set(projection, progress);
    else this.fills.delete(projection);
  }

  /** Returns the position up to which every live space is folded, except parked partitions. */
  rowsReached(): Position {
    const { lagging, position } = this;
    return lagging.length > 0 ? Math.min(position, lowestPosition(lagging)) : position;
  }

  /** Returns the same, including the catalog. */
  reached(): Position {
    return Math.min(this.rowsReached(), this.catalog?.reached() ?? Infinity);
  }

  /**
   * Returns the position up to which idle partitions are advanced: the last event, because versions
   * that know no other records take a checkpoint beyond it for that of another log. After many other
   * records it is the position of the loop, so that a start does not read them all again.
   */
  idlePosition(): Position {
    const { position, lastEventPosition } = this;
    return position - lastEventPosition > REREAD_BYTES_MAX
      ? position
      : Math.min(position, lastEventPosition);
  }

  findTarget(projection: string): FoldTarget | undefined {
    const isNamed = (target: FoldTarget): boolean => target.projection.name === projection;
    return this.targets.find(isNamed) ?? this.lagging.find(isNamed);
  }
}
