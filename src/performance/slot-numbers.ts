import { NONE } from './columns.ts';

/** A question of more buckets and groups than this is counted with a Map, which is slower and takes no empty space. */
const SLOTS_IN_ARRAY_MAX = 8_388_608;

/** Numbers the slots that occur, in the order of their first use. */
export class SlotNumbers {
  readonly #dense: Int32Array | undefined;
  readonly #sparse = new Map<number, number>();
  readonly slots: number[] = [];

  constructor(slots: number) {
    if (slots <= SLOTS_IN_ARRAY_MAX) this.#dense = new Int32Array(slots).fill(NONE);
  }

  find(slot: number): number {
    return (this.#dense ? this.#dense[slot] : this.#sparse.get(slot)) ?? NONE;
  }

  of(slot: number): number {
    const known = this.find(slot);
    if (known >= 0) return known;
    const number = this.slots.push(slot) - 1;
    if (this.#dense) this.#dense[slot] = number;
    else this.#sparse.set(slot, number);
    return number;
  }
}
