/** Rows of the read model `performance`: the counted events of each owner, as facts. */
import type { EventData } from '#contracts/registries/events.ts';
import type { PackedNumbers } from './packed-numbers.ts';

type Dims = EventData<'LinkCreated'>['dims'];

/** The number, from 0, of a set of dimensions in an owner's facts. */
export type PerformanceSet = { set: number };

/** The values of up to SETS_PER_GROUP sets, by number; `group`, from 0, is that of the group. */
export type PerformanceSets = {
  group: number;
  dims: (Dims & { agent_id?: string; link_id?: string; handoff_id?: string })[];
};
export const SETS_PER_GROUP = 32;

/**
 * What the lines of an RFQ count in one fact, in a row of its own, because they can be many: how many RFQs, -1 if a correction ends
 * one, and an entry for each product and category of its lines. `number`, from 0, is that of the row.
 */
export type PerformanceLines = { number: number; by: number; entries: LineEntry[] };

/** Product and category, null if there is none; the number of lines; amounts and currencies in turn. */
export type LineEntry = [
  product: string | null,
  category: string | null,
  lines: number,
  ...amounts: (number | string)[],
];

/** When the attribution window of a link's last valid click ends, in epoch milliseconds. */
export type LastClick = { until: number };
export const clickKey = (linkId: string): string => `click/${linkId}`;

/** Values of one fact in a list of facts: see `PerformanceChunk`. */
export const VALUES_PER_FACT = 5;
export const FACTS_PER_CHUNK = 100;

/**
 * Facts of an owner in log order; each has VALUES_PER_FACT values:
 *  - position in the log, less that of the fact before (0 for the first one),
 *  - quarter hour since the epoch, less that of the fact before (0 for the first one),
 *  - number of the set of dimensions,
 *  - index of the metric; one of the first three also counts those before it,
 *  - the country of a visit, or empty; the number of surplus visits, or -1 for an RFQ that is no longer unconfirmed; amounts
 *    and currencies in turn, after the change of the number in a correction; the number of a row of lines; otherwise 0.
 */
export type PerformanceChunk = { chunk: number; facts: PerformanceFacts };
export type PerformanceFacts = (number | string | (number | string)[] | { lines: number })[];

/** The chunks that a block replaces. */
export const CHUNKS_PER_BLOCK = 64;
export const FACTS_PER_BLOCK = CHUNKS_PER_BLOCK * FACTS_PER_CHUNK;

/** The facts of the CHUNKS_PER_BLOCK chunks that end with number `last`, in columns: a chunk takes as long to read as a block. */
export type PerformanceBlock = {
  last: number;
  /** Position and quarter hour of each fact, less the least ones. */
  position: number;
  positions: PackedNumbers;
  quarter: number;
  quarters: PackedNumbers;
  sets: PackedNumbers;
  metrics: PackedNumbers;
  /** The names of the countries, and the index of each fact's country among them. */
  names: string[];
  countries: PackedNumbers;
  /** Index and detail of each fact whose detail is neither a country nor 0. */
  details: [index: number, detail: PerformanceFacts[number]][];
};

/** The newest facts of an owner, less than a chunk; the numbers of chunks, sets and rows of lines; the last fact's position and quarter. */
export type PerformanceTail = {
  chunks: number;
  sets: number;
  lines: number;
  position: number;
  quarter: number;
  facts: PerformanceFacts;
};

export const TAIL_KEY = 'tail';

/** Sort keys in the list of an owner: chunks by number, blocks by that of their last chunk, groups of sets and rows of lines from here on, and the tail as the newest. */
export const FIRST_SET_SORT = 2 ** 51;
export const FIRST_LINES_SORT = 2 ** 51 + 2 ** 50;
export const TAIL_SORT = 2 ** 52;
