import type { Position } from '#src/ports/event-log.ts';
import type { ReadModels } from '#src/ports/read-model.ts';
import { type PackedNumbers, unpackNumbers } from '#src/ports/packed-numbers.ts';
import {
  FACTS_PER_BLOCK,
  CHUNKS_PER_BLOCK,
  FACTS_PER_CHUNK,
  FIRST_SET_SORT,
  type PerformanceBlock,
  type PerformanceChunk,
  type PerformanceFacts,
  type PerformanceSets,
  type PerformanceTail,
  SETS_PER_GROUP,
  TAIL_KEY,
  VALUES_PER_FACT,
} from '#src/ports/performance-rows.ts';
import { lowerBound } from '#src/ports/lower-bound.ts';
import { KeyedQueue } from '#src/shared/keyed-queue.ts';
import { eventLoopTurns } from '#src/shared/turns.ts';
import { Columns, FactChains } from './columns.ts';
import { RollUps } from './roll-ups.ts';

/** Groups of sets that are read at once: a remote store answers most questions in one round trip. */
const GROUPS_PER_READ = 64;
/** Chunks that are read at once. Six blocks of up to 100 kB each delay no other request for long. */
const CHUNKS_PER_READ = 6 * CHUNKS_PER_BLOCK;
/** Facts that a process keeps in memory, in bytes: evicts the owner asked for least recently, and never the last one. */
const CACHE_BYTES_MAX = 134_217_728;
const BYTES_PER_FACT = 20;
const BYTES_PER_SET = 600;

/** The positions of the facts from number `first` on, less `least`. Few questions need them, so those of a block stay packed. */
type Positions = { first: number; least: Position; numbers: number[]; packed?: PackedNumbers };

/**
 * The counted events of an owner, in log order; their times are quarter hours. Facts are only ever added, so a reader that
 * took `length` may continue after others have been added.
 */
export class OwnerFacts extends Columns {
  readonly chains = new FactChains(this);
  /** Names of countries; the first one is empty. */
  readonly countryNames: string[] = [''];
  readonly rollUps = new RollUps(this);
  readonly #countryIds = new Map<string, number>([['', 0]]);
  /** In log order, a part for each block. */
  readonly #positions: Positions[] = [];

  get bytes(): number {
    return this.capacity * BYTES_PER_FACT + this.dims.length * BYTES_PER_SET + this.rollUps.bytes;
  }

  upTo(position: Position): number {
    const parts = this.#positions;
    const part = parts[lowerBound(parts.length, (n) => (parts[n]?.least ?? 0) <= position) - 1];
    if (!part) return 0;
    const { first, least, packed } = part;
    const numbers = packed === undefined ? part.numbers : unpackNumbers(packed);
    return first + lowerBound(numbers.length, (n) => least + (numbers[n] ?? 0) <= position);
  }

  addSets({ group, dims }: PerformanceSets): void {
    for (const [n, one] of dims.entries()) this.dims[group * SETS_PER_GROUP + n] = one;
  }

  /** Adds those facts of a list that come after the ones that are here. `first` is the number of its first fact. */
  add(facts: PerformanceFacts, first: number): void {
    let position = 0;
    let time = 0;
    let part = this.#positions.at(-1);
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
      if (!part || part.packed !== undefined)
        this.#positions.push((part = { first: index, least: position, numbers: [] }));
      part.numbers.push(position - part.least);
      if (typeof detail !== 'string' && detail !== 0) this.details.set(index, detail);
    }
  }

  /**
   * Adds those facts of a block that come after the ones that are here. Copies whole columns, because loops over arrays of
   * several types are slow.
   */
  addBlock(block: PerformanceBlock): void {
    const first = firstOf(block);
    const start = this.length;
    const column = (packed: string) => unpackNumbers(packed).subarray(start - first);
    const sets = column(block.sets);
    const end = start + sets.length;
    this.reserve(sets.length);
    this.sets.set(sets, start);
    this.metrics.set(column(block.metrics), start);
    this.times.set(column(block.quarters), start);
    this.countries.set(column(block.countries), start);
    const countryIds = Uint16Array.from(block.names, (name) => this.#countryId(name));
    // The facts that are here already were added one by one.
    if (this.#positions.at(-1)?.first === first) this.#positions.pop();
    const { position: least, positions: packed, quarter } = block;
    this.#positions.push({ first, least, numbers: [], packed });
    const { times, countries } = this;
    for (let index = start; index < end; index += 1) {
      times[index] = (times[index] ?? 0) + quarter;
      countries[index] = countryIds[countries[index] ?? 0] ?? 0;
    }
    for (const [at, detail] of block.details)
      if (first + at >= start) this.details.set(first + at, detail);
    this.length = end;
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

type ChunkRow = PerformanceChunk | PerformanceBlock;

const firstOf = (row: ChunkRow): number =>
  'last' in row ? FACTS_PER_CHUNK * (row.last + 1) - FACTS_PER_BLOCK : FACTS_PER_CHUNK * row.chunk;

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
      return this.#readNew(readModels, ownerId);
    });
    this.#next.set(ownerId, reading);
    return reading;
  }

  /**
   * Reads the tail, and then what it refers to, which was stored before it. Its members are taken at once, because a local
   * store changes the row itself with the next event. A read that fails keeps what it has read, for the next one.
   */
  async #readNew(readModels: ReadModels, ownerId: string): Promise<OwnerFacts> {
    const tail = await readModels.get<PerformanceTail>('performance', ownerId, TAIL_KEY);
    const { chunks, sets, facts: newest } = tail ?? { chunks: 0, sets: 0, facts: [] };
    const total = chunks * FACTS_PER_CHUNK + newest.length / VALUES_PER_FACT;
    let facts = this.#byOwner.get(ownerId) ?? new OwnerFacts();
    // The read model was built anew and has not reached what was read before.
    if (total < facts.length) facts = new OwnerFacts();
    this.#keep(ownerId, facts);
    await readSets(readModels, ownerId, { facts, to: sets });
    facts.reserve(total - facts.length);
    const isWhole = await readChunks(readModels, ownerId, { facts, to: chunks });
    if (!isWhole) return this.#readNew(readModels, ownerId);
    facts.add(newest, chunks * FACTS_PER_CHUNK);
    this.#keep(ownerId, facts);
    return facts;
  }

  /** Makes the owner the last one, and evicts the first ones beyond the limit. */
  #keep(ownerId: string, kept: OwnerFacts): void {
    // A Map keeps the order of insertion.
    this.#byOwner.delete(ownerId);
    this.#byOwner.set(ownerId, kept);
    let bytes = 0;
    for (const facts of this.#byOwner.values()) bytes += facts.bytes;
    for (const [owner, facts] of this.#byOwner) {
      if (bytes <= this.#bytesMax || this.#byOwner.size === 1) return;
      bytes -= facts.bytes;
      this.#byOwner.delete(owner);
    }
  }
}

/** What a read adds to: the sets or chunks below number `to`. */
type Reading = { facts: OwnerFacts; to: number };

/** Reads the rows with sort keys from `from` to `to` in parts of `step`, oldest first. */
const readRange = async function* <R extends object>(
  readModels: ReadModels,
  scope: string,
  { from, to, step }: { from: number; to: number; step: number },
): AsyncGenerator<R, void> {
  for (let downTo = from; downTo < to; downTo += step) {
    const before = Math.min(downTo + step, to);
    const query = { scope, before, downTo, limit: step };
    const page = await readModels.list<R>('performance', query);
    for (const { row } of page.reverse()) {
      const pause = eventLoopTurns.pause();
      if (pause) await pause;
      yield row;
    }
  }
};

const readSets = async (
  readModels: ReadModels,
  ownerId: string,
  { facts, to }: Reading,
): Promise<void> => {
  if (to <= facts.dims.length) return;
  const groups = {
    from: FIRST_SET_SORT + Math.floor(facts.dims.length / SETS_PER_GROUP),
    to: FIRST_SET_SORT + Math.ceil(to / SETS_PER_GROUP),
    step: GROUPS_PER_READ,
  };
  for await (const group of readRange<PerformanceSets>(readModels, ownerId, groups))
    facts.addSets(group);
};

/** Adds the facts of the chunks and blocks that are not here yet. Returns false if chunks became a block meanwhile. */
const readChunks = async (
  readModels: ReadModels,
  ownerId: string,
  { facts, to }: Reading,
): Promise<boolean> => {
  const from = Math.floor(facts.length / FACTS_PER_CHUNK);
  const chunks = { from, to, step: CHUNKS_PER_READ };
  for await (const row of readRange<ChunkRow>(readModels, ownerId, chunks)) {
    if (firstOf(row) > facts.length) return false;
    if ('last' in row) facts.addBlock(row);
    else facts.add(row.facts, firstOf(row));
  }
  return facts.length >= to * FACTS_PER_CHUNK;
};
