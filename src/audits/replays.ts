/** Owners as they were: their events, folded in memory by the projections of the read models and kept for the next question. */
import { LIMITS } from '#contracts/limits.ts';
import type { PeopleDeps } from '#src/access/independence.ts';
import type { PerformanceDeps } from '#src/performance/get-performance.ts';
import type { ProofDeps } from '#src/proof/notary.ts';
import type { Witnesses } from '#src/proof/witnesses.ts';
import type { OperatorDeps } from '#src/reading/projections.ts';
import { AUDIT_PAGE } from '#src/reading/read-back.ts';
import type { EventLog, FoldEvent, Position, StoredEvent } from '#src/ports/event-log.ts';
import type { OwnerFold } from '#src/ports/read-model.ts';
import { FactsCache } from '#src/performance/facts.ts';
import { Refused, refuse } from '#src/shared/outcome.ts';
import { KeyedQueue, eventLoopTurns } from '#src/shared/work.ts';
import { mayActFor } from '#src/calls/desk-handler.ts';
import type { DeskCall } from '#src/shared/call.ts';
import type { OwnerLog } from './moments.ts';

/** An owner folded up to a position. Valid until the question that it was made for is answered. */
export type Replay = OwnerFold & { position: Position; facts: FactsCache; bytes: number };

/** What audits need. */
export type AuditingDeps = PeopleDeps &
  OperatorDeps &
  PerformanceDeps & {
    replays: Replays;
    /** Opens the tree of the log and the notary's keys, once. Throws StartupError if they cannot be used. */
    proof(): ProofDeps & { witnesses: Witnesses };
  };

/** Folds in memory at a time: the next page, or the next question about a later position, continues one of them. */
const REPLAYS_MAX = 2;

const OWNERS_MAX = 1_000;

type Range = { after: Position; upTo: Position };

const RETRY_AFTER_S = 5;
const TOO_MANY = refuse(
  'rate_limited',
  'Other audits are under way, and as many as may wait for them do. An exported file answers without a wait.',
  { retryAfterS: RETRY_AFTER_S },
);
const TOO_LARGE = refuse(
  'parameter_invalid',
  'The records of the owner at this moment need more memory than one audit may use. Ask for an earlier moment, or export the ' +
    'owner with audit export, and ask the file, which another machine reads.',
);

/** What a value in memory takes, beside the characters of a text. */
const VALUE_BYTES = 64;
/** Smaller events, except for the first of a record, change what is there, or become a number. */
const SMALL_BYTES = 4_096;

/** About what a value takes in memory. */
const bytesOf = (value: unknown): number => {
  if (typeof value === 'string') return VALUE_BYTES + value.length;
  if (typeof value !== 'object' || value === null) return VALUE_BYTES;
  let bytes = VALUE_BYTES;
  for (const member of Object.values(value)) bytes += bytesOf(member);
  return bytes;
};

/** Events of a page at first, and what a page may take: its events are read within a turn of the event loop. */
const FIRST_PAGE = 8;
const PAGE_BYTES = 1_048_576;

/**
 * Reads an owner's events in pages, `after` exclusive and `upTo` inclusive. A page has as many events as the size of those
 * before permits, because a thousand large ones would take hundreds of megabytes and stall all others.
 */
export async function* pagesOf<Event extends { position: Position; data: unknown }>(
  read: (range: Range & { limit: number }) => Promise<readonly Event[]>,
  { after, upTo }: Range,
): AsyncGenerator<readonly Event[], void> {
  let limit = FIRST_PAGE;
  for (let last = after; last < upTo; ) {
    await eventLoopTurns.pause();
    const page = await read({ after: last, upTo, limit });
    yield page;
    last = page.at(-1)?.position ?? upTo;
    const growth = Math.min(FIRST_PAGE, PAGE_BYTES / bytesOf(page.map(({ data }) => data)));
    limit = Math.max(1, Math.min(AUDIT_PAGE, Math.floor(limit * growth)));
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

/** Starts a fold, which refuses an event with which it would take more than `bytesMax`. */
export const startReplay = (
  { audited }: Pick<ReplayParts, 'audited'>,
  bytesMax = Infinity,
): Replay => {
  const fold = audited();
  const replay: Replay = {
    ...fold,
    position: 0,
    facts: new FactsCache(),
    bytes: 0,
    add(event) {
      const bytes = bytesOf(event.data);
      replay.bytes += event.revision === 0 || bytes > SMALL_BYTES ? bytes : VALUE_BYTES;
      if (replay.bytes > bytesMax) throw new Refused(TOO_LARGE);
      fold.add(event);
    },
  };
  return replay;
};

/** Runs at most LIMITS.AUDITS_AT_ONCE tasks at a time; the others wait in the order of the calls. */
class Places {
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  async run<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.#taken < LIMITS.AUDITS_AT_ONCE) this.#taken += 1;
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#taken -= 1;
    }
  }
}

/**
 * The folds that were made last. One audit of an owner at a time runs, and two of all owners; further ones wait, and
 * beyond a number are refused. Each takes `bytesMax`, and so do those together that are kept: no owner can take
 * the memory of the process.
 */
export class Replays {
  readonly parts: ReplayParts;
  /** How far each owner's events are read, while a question about it reads them. */
  readonly readings = new Map<string, { position: Position; upTo: Position }>();
  readonly #queue = new KeyedQueue();
  readonly #places = new Places();
  readonly #pending = new Map<string, number>();
  readonly #bytesMax: number;
  #kept: { owner: string; replay: Replay }[] = [];
  /** By owner: the moment at which its fold was too large, which another question need not find out again. */
  readonly #tooLarge = new Map<string, Position>();

  constructor(parts: ReplayParts, bytesMax = Infinity) {
    this.parts = parts;
    this.#bytesMax = bytesMax;
  }

  /** Runs an audit of an owner, or of all, once it is its turn. Throws Refused if too many wait. */
  async inPlace<Result>(owner: string, audit: () => Promise<Result>): Promise<Result> {
    const pending = this.#pending.get(owner) ?? 0;
    const ofAll = [...this.#pending.values()].reduce((sum, count) => sum + count, 0);
    if (pending >= LIMITS.AUDITS_PER_OWNER_MAX || ofAll >= LIMITS.AUDITS_PENDING_MAX)
      throw new Refused(TOO_MANY);
    this.#pending.set(owner, pending + 1);
    try {
      return await this.#queue.run(owner, () => this.#places.run(audit));
    } finally {
      const left = (this.#pending.get(owner) ?? 1) - 1;
      if (left === 0) this.#pending.delete(owner);
      else this.#pending.set(owner, left);
    }
  }

  /**
   * Calls `ask` with the owner folded up to `position`. `ask` may advance the fold. Costs by the owner's events since the
   * latest fold before `position` that is still here, otherwise by all of them.
   */
  async at<Result>(
    log: FoldLog,
    { owner, position }: { owner: string; position: Position },
    ask: (replay: Replay) => Promise<Result>,
  ): Promise<Result> {
    if (position >= (this.#tooLarge.get(owner) ?? Infinity)) throw new Refused(TOO_LARGE);
    const replay = this.#take(owner, position);
    const range = { after: replay.position, upTo: position };
    for await (const page of this.#followed(owner, range, foldPages(log, owner, range)))
      for (const event of page) this.#add(replay, event);
    replay.position = position;
    const result = await ask(replay);
    this.keep(owner, replay);
    return result;
  }

  #add(replay: Replay, event: FoldEvent): void {
    try {
      replay.add(event);
    } catch (error) {
      if (this.#tooLarge.size >= OWNERS_MAX) this.#tooLarge.clear();
      if (error instanceof Refused && error.refusal === TOO_LARGE)
        this.#tooLarge.set(event.owner, event.position);
      throw error;
    }
  }

  /** Keeps the fold of an owner for the next questions. */
  keep(owner: string, replay: Replay): void {
    this.#kept.push({ owner, replay });
    this.#kept = this.#kept.slice(-REPLAYS_MAX);
    const bytes = this.#kept.reduce((sum, kept) => sum + kept.replay.bytes, 0);
    if (bytes > this.#bytesMax) this.#kept = this.#kept.slice(-1);
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
    return usable?.replay ?? startReplay(this.parts, this.#bytesMax);
  }
}

type Audit<D, Input, Answer> = (deps: D, input: Input, call: DeskCall) => Promise<Answer>;

/**
 * Makes an audit wait for its turn, because it reads as many events as an owner has: of an owner, or of all that its caller may
 * read. A call that its audit refuses anyway takes no place from others.
 */
export const inTurn =
  <D extends { replays: Replays }, Input extends { owner_id?: string | undefined }, Answer>(
    audit: Audit<D, Input, Answer>,
  ): Audit<D, Input, Answer> =>
  (deps, input, call) => {
    const { owner_id: owner } = input;
    const ask = () => audit(deps, input, call);
    const isRefused = owner !== undefined && !mayActFor(call, owner);
    return isRefused ? ask() : deps.replays.inPlace(owner ?? call.ownerId, ask);
  };
