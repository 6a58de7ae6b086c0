import type { Dimension } from '#contracts/performance/performance.records.ts';
import { KeyedQueue } from '#src/shared/keyed-queue.ts';
import type { Query } from './buckets.ts';
import type { FactSelection } from './columns.ts';
import { type FactSource, RollUp } from './roll-up.ts';
import { COUNTRIES_MAX, SETS_MAX } from './series.ts';

const ROLL_UPS_MAX = 12;
/** Fewer facts than this are counted one by one in about a millisecond. */
const FACTS_MIN = 20_000;
/** A roll-up subtracts newer facts than a position if they are at most this share of those up to it. */
const NEWER_SHARE_MAX = 0.25;

/** The roll-ups of an owner's facts: one for each time zone and set of dimensions that questions name repeatedly. */
export class RollUps {
  readonly #source: FactSource;
  readonly #factsMin: number;
  readonly #byName = new Map<string, RollUp | undefined>();
  readonly #queue = new KeyedQueue();

  /** With fewer than `factsMin` facts, nothing is rolled up. */
  constructor(source: FactSource, factsMin = FACTS_MIN) {
    this.#source = source;
    this.#factsMin = factsMin;
  }

  get bytes(): number {
    let bytes = 0;
    for (const rollUp of this.#byName.values()) bytes += rollUp?.bytes ?? 0;
    return bytes;
  }

  /** Selects the facts before `upTo` that a question is about, from the second question with its dimensions on from a roll-up. */
  async select(query: Query, upTo: number): Promise<FactSelection> {
    const facts = this.#source;
    const { length, countryNames, chains } = facts;
    const { timeZone, groupBy, filters } = query;
    const all: FactSelection = { facts, length: upTo, countryNames, chains, isByDay: false };
    const dimensions = [...new Set([...groupBy, ...(Object.keys(filters) as Dimension[])])].sort();
    if (
      length < this.#factsMin ||
      facts.dims.length > SETS_MAX ||
      countryNames.length > COUNTRIES_MAX
    )
      return all;
    const name = JSON.stringify([timeZone, dimensions]);
    const wasAsked = this.#byName.has(name);
    const rollUp =
      this.#byName.get(name) ?? (wasAsked ? new RollUp(facts, timeZone, dimensions) : undefined);
    this.#keep(name, rollUp);
    if (!rollUp || length - upTo > NEWER_SHARE_MAX * upTo) return all;
    // Facts that come meanwhile are not added before the selection is complete.
    return this.#queue.run(name, async () => {
      await rollUp.update();
      return rollUp.select(query, upTo);
    });
  }

  /** Moves the roll-up to the end, and drops the one that was asked for least recently. */
  #keep(name: string, rollUp: RollUp | undefined): void {
    this.#byName.delete(name);
    this.#byName.set(name, rollUp);
    const [oldest] = this.#byName.keys();
    if (this.#byName.size > ROLL_UPS_MAX && oldest !== undefined) this.#byName.delete(oldest);
  }
}
