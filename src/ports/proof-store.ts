/** What the tree of the log keeps: a cache of the log, which can be built again from it. */
import type { Position } from './event-log.ts';

/** The newest leaf of an owner: its number among the owner's leaves, from 1, and its hash. */
export type OwnerHead = { sequence: number; leaf: Buffer };

/** A leaf of an owner: its event, its number among the owner's leaves, from 1, and its place in the tree. */
export type OwnerLeaf = { position: Position; sequence: number; index: number };

/** A size of the tree that was marked, and the position of its mark in the log. */
export type TreeMark = { size: number; position: Position };

/** How far the log was read: the last event, so that another log is noticed. */
export type TreeProgress = { size: number; position: Position; eventId: string };

/** A row of 256 hashes of one level; the last one of a level can have fewer. */
export type Tile = { level: number; number: number; hashes: Buffer };

export type StoredOwnerHead = OwnerHead & { owner: string };

/** What one commit adds. */
export type TreeChange = {
  progress: TreeProgress;
  tiles: readonly Tile[];
  /** The place in the tree of each new leaf of an owner. */
  leaves: readonly (OwnerLeaf & { owner: string })[];
  /** Owners whose newest leaf changed. */
  heads: readonly StoredOwnerHead[];
  marks: readonly TreeMark[];
  /** Owners whose newest leaf as of the newest mark changed. */
  markedHeads: readonly StoredOwnerHead[];
};

/** The newest checkpoint that a witness cosigned: its text, and the line with the signature. */
export type Cosigned = { witness: string; size: number; text: string; line: string };

/** A stored part of the tree has another checksum; the tree is built again. */
export class TreeDamaged extends Error {
  override readonly name = 'TreeDamaged';
}

export type ProofStore = {
  progress(): TreeProgress;
  /** The hash of one leaf, without those beside it in its tile; empty if there is none. */
  leaf(index: number): Buffer;
  tile(level: number, number: number): Buffer | undefined;
  /** The newest leaf of each owner, as of the progress. */
  heads(): StoredOwnerHead[];
  /** The newest leaf of each owner, as of the newest mark. */
  markedHeads(): StoredOwnerHead[];
  /** The newest mark; undefined if there is none. */
  lastMark(): TreeMark | undefined;
  firstMark(): TreeMark | undefined;
  /** The mark of a size of the tree. */
  markOf(size: number): TreeMark | undefined;
  /** How many marks there are. */
  marks(): number;
  /** An owner's leaves of events after `after` (exclusive) up to `upTo` (inclusive), in order. */
  leavesOf(owner: string, range: { after: Position; upTo: Position }): OwnerLeaf[];
  /** An owner's leaf of the last event up to this position. */
  leafUpTo(owner: string, position: Position): OwnerLeaf | undefined;
  commit(change: TreeChange): void;
  /** By witness, the text of its key. The log does not have them, so they stay when the tree is removed. */
  cosigned(): Cosigned[];
  /** Replaces what the same witness cosigned before. */
  keepCosigned(cosigned: Cosigned): void;
  /** Removes the tree, so that it is built again. */
  clear(): void;
  close(): void;
};
