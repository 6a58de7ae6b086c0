/** Folds of owners' histories in memory, kept for the next question about the same moment. */
import type { PeopleDeps } from '#src/access/independence.ts';
import type { PerformanceDeps } from '#src/performance/get-performance.ts';
import type { OperatorDeps } from '#src/reading/projections.ts';
/** Owners as they were: their events folded in memory by the projections of the read models. */
import type { EventLog, FoldEvent, Position, StoredEvent } from '#src/ports/event-log.ts';
import type { OwnerFold } from '#src/ports/read-model.ts';
import { FactsCache } from '#src/performance/facts.ts';
import { KeyedQueue, eventLoopTurns } from '#src/shared/work.ts';
import { AUDIT_PAGE, type OwnerLog } from './moments.ts';

/** An owner folded up to a position. Valid until the question that it was made for is answered. */
export type Replay = OwnerFold & { position: Position; facts: FactsCache };

/** What audits need. */
export type AuditingDeps = PeopleDeps & OperatorDeps & PerformanceDeps & { replays: Replays };

/** Folds in memory at a time: the next page, or the next question about a later position, continues one of them. */
const REPLAYS_MAX = 2;

type Range = { after: Position; upTo: Position };

/** Reads an owner's events in pages, `after` exclusive and `upTo` inclusive. */
async function* pagesOf<Event extends { position: Position }>(
  read: (range: Range & { limit: number }) => Promise<readonly Event[]>,
  { after, upTo }: Range,
): AsyncGenerator<readonly Event[], void> {
  for (let last = after; last < upTo; ) {
    await eventLoopTurns.pause();
    const page = await read({ after: last, upTo, limit: AUDIT_PAGE });
    yield page;
    last = page.length < AUDIT_PAGE ? upTo : (page.at(-1)?.position ?? upTo);
  }
}

type FoldLog = Pick<EventLog, 'readOwnerFold'>;

/** Reads an owner's events in pages for a fold, `after` exclusive and `upTo` inclusive. */
export const foldPages = (
  log: FoldLog,
  owner: string,
  range: Range,
): AsyncGenerator<readonly FoldEvent[], void> =>
  pagesOf((page) => log.readOwnerFold(owner, page), range);

export type ReplayParts = {
  /** Makes an empty fold of the read models that have records and numbers. */
  audited(): OwnerFold;
  all(): OwnerFold;
};

export const startReplay = ({ audited }: Pick<ReplayParts, 'audited'>): Replay => ({
  ...audited(),
  position: 0,
  facts: new FactsCache(),
});

/** The folds that were made last. One question about an owner at a time uses one. */
export class Replays {
  readonly parts: ReplayParts;
  /** How far each owner's events are read, while a question about it reads them. */
  readonly readings = new Map<string, { position: Position; upTo: Position }>();
  readonly #queue = new KeyedQueue();
  #kept: { owner: string; replay: Replay }[] = [];

  constructor(parts: ReplayParts) {
    this.parts = parts;
  }

  /**
   * Calls `ask` with the owner folded up to `position`. `ask` may advance the fold. Costs by the owner's events since the
   * latest fold before `position` that is still here, otherwise by all of them.
   */
  at<Result>(
    log: FoldLog,
    { owner, position }: { owner: string; position: Position },
    ask: (replay: Replay) => Promise<Result>,
  ): Promise<Result> {
    return this.#queue.run(owner, async () => {
      const replay = this.#take(owner, position);
      const range = { after: replay.position, upTo: position };
      for await (const page of this.#followed(owner, range, foldPages(log, owner, range)))
        for (const event of page) replay.add(event);
      replay.position = position;
      const result = await ask(replay);
      this.keep(owner, replay);
      return result;
    });
  }

  /** Keeps the fold of an owner for the next questions. */
  keep(owner: string, replay: Replay): void {
    this.#kept.push({ owner, replay });
    this.#kept = this.#kept.slice(-REPLAYS_MAX);
  }

  /** Reads an owner's events in pages. */
  events(
    log: Pick<OwnerLog, 'readOwner'>,
    owner: string,
    range: Range,
  ): AsyncGenerator<readonly StoredEvent[], void> {
    const pages = pagesOf((asked) => log.readOwner(owner, asked), range);
    return this.#followed(owner, range, pages);
  }

  /** Passes pages on, and stores how far they are in `readings`. */
  async *#followed<Event extends { position: Position }>(
    owner: string,
    { after, upTo }: Range,
    pages: AsyncGenerator<readonly Event[], void>,
  ): AsyncGenerator<readonly Event[], void> {
    this.readings.set(owner, { position: after, upTo });
    try {
      for await (const page of pages) {
        yield page;
        this.readings.set(owner, { position: page.at(-1)?.position ?? upTo, upTo });
      }
    } finally {
      this.readings.delete(owner);
    }
  }

  /** Takes the latest fold of the owner before `position`, or makes one; a failed question loses the one it has taken. */
  #take(owner: string, position: Position): Replay {
    const usable = this.#kept
      .filter((kept) => kept.owner === owner && kept.replay.position <= position)
      .toSorted((a, b) => a.replay.position - b.replay.position)
      .at(-1);
    this.#kept = this.#kept.filter((kept) => kept !== usable);
    return usable?.replay ?? startReplay(this.parts);
  }
}
