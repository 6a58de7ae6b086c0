/**
 * The Merkle tree of RFC 6962 over leaves of a log: hashes, roots and proofs. A leaf and a node are hashed differently, so
 * that no node can be shown as a leaf. The notary and the proofs of exports use it; the verifier has code of its own.
 */
import { hash } from 'node:crypto';

/** A SHA-256, 32 bytes. */
export type Hash = Buffer;

export const HASH_BYTES = 32;

/** Source: RFC 6962, section 2.1. */
export const leafHash = (leaf: string): Hash => hash('sha256', `\0${leaf}`, 'buffer');

/** A node before it is hashed; used again, because a proof hashes hundreds. */
const node = Buffer.alloc(1 + 2 * HASH_BYTES, 1);

export const nodeHash = (left: Hash, right: Hash): Hash => {
  node.set(left, 1);
  node.set(right, 1 + HASH_BYTES);
  return hash('sha256', node, 'buffer');
};

/** The root of a tree without leaves. */
const EMPTY_ROOT = hash('sha256', '', 'buffer');

/** Returns the hash of the complete subtree of 2^level leaves that begins with leaf `index` * 2^level. */
export type Nodes = (level: number, index: number) => Hash;

/** The leaves from `from` up to `to` (exclusive): `from` is a multiple of the largest power of two in the range. */
type Range = { from: number; to: number };

/** The largest power of two below a number of leaves, which is at least 2: where RFC 6962 divides a tree. */
const splitOf = (leaves: number): number => 2 ** Math.ceil(Math.log2(leaves) - 1);

const halvesOf = ({ from, to }: Range): [left: Range, right: Range] => {
  const middle = from + splitOf(to - from);
  return [
    { from, to: middle },
    { from: middle, to },
  ];
};

/** Returns the root of a range, in as many hashes as its size has bits. */
export const rootOf = (nodes: Nodes, range: Range): Hash => {
  const leaves = range.to - range.from;
  if (leaves === 0) return EMPTY_ROOT;
  const level = Math.log2(leaves);
  if (Number.isInteger(level)) return nodes(level, range.from / leaves);
  const [left, right] = halvesOf(range);
  return nodeHash(rootOf(nodes, left), rootOf(nodes, right));
};

/**
 * Returns the hashes that lead from a leaf to the root of the tree of `size` leaves, from the leaf up (RFC 6962, section
 * 2.1.1).
 */
export const inclusionProof = (nodes: Nodes, leaf: number, size: number): Hash[] => {
  const path = (range: Range): Hash[] => {
    if (range.to - range.from === 1) return [];
    const [left, right] = halvesOf(range);
    return leaf < right.from
      ? [...path(left), rootOf(nodes, right)]
      : [...path(right), rootOf(nodes, left)];
  };
  return path({ from: 0, to: size });
};

/** Returns the hashes that show that a tree begins with the first `first` leaves (RFC 6962, section 2.1.2). */
export const consistencyProof = (nodes: Nodes, first: number, size: number): Hash[] => {
  const path = (range: Range, isOldTree: boolean): Hash[] => {
    if (range.to === first) return isOldTree ? [] : [rootOf(nodes, range)];
    const [left, right] = halvesOf(range);
    return first <= right.from
      ? [...path(left, isOldTree), rootOf(nodes, right)]
      : [...path(right, false), rootOf(nodes, left)];
  };
  return first === 0 ? [] : path({ from: 0, to: size }, true);
};

/**
 * A tree in memory whose leaves can change, in the order of their names: the newest leaf of each owner. A changed leaf costs
 * the hashes above it; a new name costs one hash for each name, when the root is asked for next.
 */
export class NamedLeaves {
  #names: string[] = [];
  /** By level: the leaves, then each pair of the level below; an odd last one goes up as it is. */
  #levels: Hash[][] = [[]];
  readonly #changed = new Map<string, Hash>();

  get size(): number {
    return this.#names.length;
  }

  set(name: string, leaf: Hash): void {
    this.#changed.set(name, leaf);
  }

  root(): Hash {
    this.#update();
    return this.#levels.at(-1)?.[0] ?? EMPTY_ROOT;
  }

  /** Returns the place of a name among all, and its inclusion proof; undefined for an unknown name. */
  proof(name: string): { index: number; proof: Hash[] } | undefined {
    this.#update();
    const index = this.#placeOf(name);
    if (this.#names[index] !== name) return undefined;
    const nodes: Nodes = (level, at) => this.#levels[level]?.[at] ?? EMPTY_ROOT;
    return { index, proof: inclusionProof(nodes, index, this.size) };
  }

  #placeOf(name: string): number {
    let from = 0;
    let to = this.#names.length;
    while (from < to) {
      const place = (from + to) >>> 1;
      if ((this.#names[place] ?? '') < name) from = place + 1;
      else to = place;
    }
    return from;
  }

  #update(): void {
    const places: number[] = [];
    for (const [name, leaf] of this.#changed) {
      const place = this.#placeOf(name);
      if (this.#names[place] !== name) return this.#insert();
      (this.#levels[0] ??= [])[place] = leaf;
      places.push(place);
    }
    this.#changed.clear();
    this.#hashAbove(new Set(places));
  }

  #insert(): void {
    const leaves = new Map(this.#names.map((name, place) => [name, this.#levels[0]?.[place]]));
    for (const [name, leaf] of this.#changed) leaves.set(name, leaf);
    this.#changed.clear();
    this.#names = [...leaves.keys()].toSorted((one, other) => (one < other ? -1 : 1));
    this.#levels = [this.#names.map((name) => leaves.get(name) ?? EMPTY_ROOT)];
    this.#hashAbove(new Set(this.#names.keys()));
  }

  #hashAbove(places: ReadonlySet<number>): void {
    for (let level = 0, changed = places; (this.#levels[level]?.length ?? 0) > 1; level += 1) {
      const below = this.#levels[level] ?? [];
      const above = (this.#levels[level + 1] ??= []);
      changed = new Set([...changed].map((place) => place >>> 1));
      for (const place of changed) {
        const [left = EMPTY_ROOT, right] = below.slice(2 * place, 2 * place + 2);
        above[place] = right ? nodeHash(left, right) : left;
      }
    }
  }
}
