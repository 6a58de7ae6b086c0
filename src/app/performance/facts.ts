import type { Position } from '#src/ports/event-log.ts';
import type { ReadModels } from '#src/ports/read-model.ts';
import {
  FACTS_PER_CHUNK,
  FIRST_SET_SORT,
  type PerformanceChunk,
  type PerformanceFacts,
  type PerformanceSet,
  type PerformanceTail,
  TAIL_SORT,
  VALUES_PER_FACT,
} from '#src/ports/rows.ts';
import { lowerBound } from '#src/ports/lower-bound.ts';
import { listing } from '../read-models/listing.ts';
import { KeyedQueue } from '../shared/keyed-queue.ts';
import { eventLoopTurns } from '../shared/turns.ts';
import { Columns, grown, FactChains } from './columns.ts';
import { RollUps } from './roll-ups.ts';

/**
 * Large enough that a remote store answers most questions in one round trip; small enough that reading and parsing a page,
 * which takes about 60 microseconds a row, delays no other request for long.
 */
const PAGE_ROWS = 250;
/** Facts that a process keeps in memory, in bytes: evicts the owner asked for least recently, and never the last one. */
const CACHE_BYTES_MAX = 134_217_728;
const BYTES_PER_FACT = 24;
const BYTES_PER_SET = 600;

/**
 * The counted events of an owner, in log order; their times are quarter hours. Facts are only ever added, so a reader that
 * took `length` may continue after others have been added.
 */
export class OwnerFacts extends Columns {
  positions = new Float64Array(this.capacity);
  readonly chains = new FactChains();
  /** Names of countries; the first one is empty. */
  readonly countryNames: string[] = [''];
  readonly rollUps = new RollUps(this);
  readonly #countryIds = new Map<string, number>([['', 0]]);

  get bytes(): number {
    return this.capacity * BYTES_PER_FACT + this.dims.length * BYTES_PER_SET + this.rollUps.bytes;
  }

  /** The number of facts up to a position. */
  upTo(position: Position): number {
    return lowerBound(this.length, (index) => (this.positions[index] ?? 0) <= position);
  }

  /** Adds those facts of a chunk that come after the ones that are here. `first` is the number of its first fact. */
  add(facts: PerformanceFacts, first: number): void {
    let position = 0;
    let time = 0;
    for (let at = 0, number = first; at < facts.length; at += VALUES_PER_FACT, number += 1) {
      position += facts[at] as number;
      time += facts[at + 1] as number;
      if (number < this.length) continue;
      const detail = facts[at + 4] ?? 0;
      const index = this.push({
        time,
        set: facts[at + 2] as number,
        metric: facts[at + 3] as number,
        country: typeof detail === 'string' ? this.#countryId(detail) : 0,
      });
      if (this.positions.length < this.capacity)
        this.positions = grown(this.positions, this.capacity);
      this.positions[index] = position;
      this.chains.add(index, facts[at + 2] as number);
      if (typeof detail !== 'string' && detail !== 0) this.details.set(index, detail);
    }
  }

  #countryId(name: string): number {
    let id = this.#countryIds.get(name);
    if (id === undefined) {
      id = this.countryNames.push(name) - 1;
      this.#countryIds.set(name, id);
    }
    return id;
  }
}

/** The facts of the owners that were asked for last; each question reads only those that are new. */
export class FactsCache {
  readonly #byOwner = new Map<string, OwnerFacts>();
  readonly #queue = new KeyedQueue();
  /** By owner: the read that is queued and has not begun. */
  readonly #next = new Map<string, Promise<OwnerFacts>>();
  readonly #bytesMax: number;

  constructor(bytesMax = CACHE_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /**
   * Reads the new facts of an owner. Costs by their number, and by all facts the first time. Calls that come while a read
   * is under way share the next one, so none waits for more than two.
   */
  read(readModels: ReadModels, ownerId: string): Promise<OwnerFacts> {
    const next = this.#next.get(ownerId);
    if (next) return next;
    const reading = this.#queue.run(ownerId, async () => {
      this.#next.delete(ownerId);
      const facts = await readNewFacts(readModels, ownerId, this.#byOwner.get(ownerId));
      // Moves the owner to the end, because a Map keeps the order of insertion.
      this.#byOwner.delete(ownerId);
      this.#byOwner.set(ownerId, facts);
      this.#evict();
      return facts;
    });
    this.#next.set(ownerId, reading);
    return reading;
  }

  #evict(): void {
    let bytes = 0;
    for (const facts of this.#byOwner.values()) bytes += facts.bytes;
    for (const [owner, facts] of this.#byOwner) {
      if (bytes <= this.#bytesMax || this.#byOwner.size === 1) return;
      bytes -= facts.bytes;
      this.#byOwner.delete(owner);
    }
  }
}

/** The list has the tail first, then sets, then chunks: what the tail refers to was stored before it. */
const readNewFacts = async (
  readModels: ReadModels,
  ownerId: string,
  known: OwnerFacts | undefined,
): Promise<OwnerFacts> => {
  const facts = known ?? new OwnerFacts();
  const newest = { scope: ownerId, downTo: FIRST_SET_SORT + facts.dims.length, limit: PAGE_ROWS };
  let tail: PerformanceTail | undefined;
  const sets: PerformanceSet[] = [];
  for await (const page of listing(readModels, 'performance', newest))
    for (const { row, sort } of page)
      if (sort === TAIL_SORT) tail = row as PerformanceTail;
      else sets.push(row as PerformanceSet);
  if (!tail) return facts.length === 0 ? facts : readNewFacts(readModels, ownerId, undefined);
  for (const { set, dims } of sets) facts.dims[set] = dims;
  const total = tail.chunks * FACTS_PER_CHUNK + tail.facts.length / VALUES_PER_FACT;
  // The read model was built anew and has not reached what was read before.
  if (total < facts.length) return readNewFacts(readModels, ownerId, undefined);
  const first = Math.floor(facts.length / FACTS_PER_CHUNK);
  const chunks = await readChunks(readModels, ownerId, { from: first, to: tail.chunks });
  for (const { chunk, facts: added } of chunks) {
    facts.add(added, chunk * FACTS_PER_CHUNK);
    const pause = eventLoopTurns.pause();
    if (pause) await pause;
  }
  facts.add(tail.facts, tail.chunks * FACTS_PER_CHUNK);
  return facts;
};

/** Reads chunks in ascending order, `to` exclusive. */
const readChunks = async (
  readModels: ReadModels,
  ownerId: string,
  { from, to }: { from: number; to: number },
): Promise<PerformanceChunk[]> => {
  if (from >= to) return [];
  const chunks: PerformanceChunk[] = [];
  const query = { scope: ownerId, before: to, downTo: from, limit: PAGE_ROWS };
  for await (const page of listing<PerformanceChunk>(readModels, 'performance', query))
    for (const { row } of page) chunks.push(row);
  return chunks.reverse();
};
