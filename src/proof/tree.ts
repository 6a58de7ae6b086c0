/**
 * The tree of the log: a leaf for each event, in log order, and one for each mark. What it holds follows from the log alone, so
 * every process builds the same tree, and can build it again.
 */
import {
  type EventLog,
  LogCorrupted,
  type Position,
  type StoredEvent,
  storedOf,
  UnknownEventType,
} from '#src/ports/event-log.ts';
import {
  type OwnerHead,
  type OwnerLeaf,
  type ProofStore,
  type StoredOwnerHead,
  TreeDamaged,
  type TreeMark,
} from '#src/ports/proof-store.ts';
import { canonicalJson } from '#src/shared/json.ts';
import {
  consistencyProof,
  inclusionProof,
  type Hash,
  HASH_BYTES,
  leafHash,
  NamedLeaves,
  nodeHash,
  type Nodes,
  rootOf,
} from './merkle.ts';

/** The owner of the stream of marks, which are no leaves by themselves. */
export const NOTARY = 'notary';
export const MARKS_STREAM = `${NOTARY}-tree_1`;

/** Keys of personal data are events of a log on a server, and an erasure deletes them. */
export const KEYS = 'tributary_keys';

const NO_HASH = Buffer.alloc(0);
const TILE_BITS = 8;
const TILE_HASHES = 2 ** TILE_BITS;
const PAGE_EVENTS = 100;

/** The first `previous` of an owner. */
const NO_LEAF = '';

/**
 * Returns the text of an event's leaf: what the log has of it except the position, in canonical JSON (RFC 8785), with the number
 * of the leaf among the owner's, from 1, and the hash of the owner's leaf before. So an owner's leaves are a chain, and the
 * newest one proves all.
 */
export const leafText = (
  event: StoredEvent,
  { sequence, previous }: { sequence: number; previous: string },
): string => {
  const { stream, owner, revision, id, meta } = event;
  const { type, data } = storedOf(event);
  return canonicalJson({ data, id, meta, owner, previous, revision, sequence, stream, type });
};

/** Returns the text of the leaf that is last under a checkpoint: which leaf is the newest of each owner. */
export const headsText = (root: Hash, owners: number): string =>
  canonicalJson({ heads: root.toString('base64'), owners });

/** Returns the leaf of an owner in the tree of heads. */
export const headText = ({ owner, sequence, leaf }: StoredOwnerHead): string =>
  canonicalJson({ leaf: leaf.toString('base64'), owner, sequence });

/** The log differs from what was marked: it was rewritten, or this is not the log that it was. */
export class LogRewritten extends LogCorrupted {
  override readonly name = 'LogRewritten';
}

/** The data of a mark: the mark before, whose root it repeats. */
type MarkData = { before?: { size: number; root: string } };

/** A mark, and the root of the tree up to it, which the checkpoint of this size has. */
export type MarkedTree = TreeMark & { root: Hash };

export type OwnerProof = {
  head: OwnerHead;
  /** Of the owner in the tree of heads. */
  index: number;
  owners: number;
  proof: Hash[];
};

type Log = Pick<EventLog, 'readAll' | 'readBack'>;

export class LogTree {
  readonly #log: Log;
  readonly #store: ProofStore;
  #size = 0;
  #position: Position = 0;
  #eventId = '';
  #marks = 0;
  /** The mark that the newest mark repeats must be this one. */
  #marked: MarkedTree | undefined;
  #heads = new Map<string, OwnerHead>();
  /** As of the newest mark. */
  #markedHeads = new Map<string, OwnerHead>();
  #headLeaves = new NamedLeaves();
  /** Owners whose newest leaf changed after the newest mark. */
  #sinceMark = new Set<string>();
  /** The last tile of each level, which can grow. */
  #edges: Edge[] = [];
  /** Tiles that have grown and are not stored. */
  readonly #grown = new Set<Edge>();
  #advancing: Promise<void> = Promise.resolve();

  constructor(log: Log, store: ProofStore) {
    this.#log = log;
    this.#store = store;
    this.#load();
  }

  get size(): number {
    return this.#size;
  }

  /** How many leaves there are after the newest mark. */
  get unmarked(): number {
    return this.#size - (this.#marked?.size ?? 0);
  }

  /** How many marks there are: the revision of the next one. */
  get marks(): number {
    return this.#marks;
  }

  get newest(): MarkedTree | undefined {
    return this.#marked;
  }

  /**
   * Reads the log up to its end, in pages of a few milliseconds each; a call while another one reads waits for both. Throws
   * LogRewritten if a mark does not fit the tree, UnknownEventType if it is a newer version's, and whatever the log throws.
   */
  advance(): Promise<void> {
    this.#advancing = this.#advancing.catch(() => {}).then(() => this.#advance());
    return this.#advancing;
  }

  async #advance(): Promise<void> {
    if (!(await this.#isSameLog())) {
      this.#store.clear();
      this.#load();
    }
    for (;;) {
      const events = await this.#log.readAll({ after: this.#position, limit: PAGE_EVENTS });
      const last = events.at(-1);
      if (!last) return;
      this.#commit(events, last);
    }
  }

  /** Whether the log has the event that was read last: a copy or a backup can have another one there, or none. */
  async #isSameLog(): Promise<boolean> {
    if (this.#position === 0) return true;
    const [event] = await this.#log.readBack({ upTo: this.#position, limit: 1 });
    return event?.position === this.#position && event.id === this.#eventId;
  }

  /** Takes the state that is stored; a damaged one is removed. */
  #load(): void {
    try {
      this.#read();
    } catch (error) {
      if (!(error instanceof TreeDamaged)) throw error;
      this.#store.clear();
      this.#read();
    }
  }

  #read(): void {
    const { size, position, eventId } = this.#store.progress();
    this.#size = size;
    this.#position = position;
    this.#eventId = eventId;
    this.#marks = this.#store.marks();
    this.#heads = new Map(this.#store.heads().map(({ owner, ...head }) => [owner, head]));
    this.#markedHeads = new Map();
    this.#headLeaves = new NamedLeaves();
    for (const head of this.#store.markedHeads()) this.#mark(head);
    const isMarked = ([owner, { sequence }]: [string, OwnerHead]): boolean =>
      this.#markedHeads.get(owner)?.sequence === sequence;
    this.#sinceMark = new Set(
      [...this.#heads].filter((head) => !isMarked(head)).map(([owner]) => owner),
    );
    this.#edges = [];
    for (
      let level = 0, hashes = size;
      hashes > 0;
      level += 1, hashes = Math.floor(hashes / TILE_HASHES)
    ) {
      const number = Math.floor(hashes / TILE_HASHES);
      const stored = splitHashes(this.#store.tile(level, number));
      if (stored.length !== hashes % TILE_HASHES)
        throw new TreeDamaged(`tile ${number} of level ${level} has ${stored.length} hashes`);
      this.#edges[level] = { level, number, hashes: stored };
    }
    const mark = this.#store.lastMark();
    this.#marked = mark && { ...mark, root: this.rootAt(mark.size) };
  }

  #mark({ owner, ...head }: StoredOwnerHead): void {
    this.#markedHeads.set(owner, head);
    this.#headLeaves.set(owner, leafHash(headText({ owner, ...head })));
  }

  /** Adds a page of events. What it changed in memory is loaded again if it is not stored. */
  #commit(events: readonly StoredEvent[], last: StoredEvent): void {
    const leaves: (OwnerLeaf & { owner: string })[] = [];
    const changed = new Set<string>();
    const marks: TreeMark[] = [];
    const marked = new Map<string, StoredOwnerHead>();
    try {
      for (const event of events) {
        if (event.owner === KEYS) continue;
        if (event.owner === NOTARY) {
          marks.push(this.#addMark(event, marked));
          continue;
        }
        leaves.push(this.#addEvent(event));
        changed.add(event.owner);
      }
      this.#store.commit({
        progress: { size: this.#size, position: last.position, eventId: last.id },
        tiles: [...this.#grown].map(({ level, number, hashes }) => ({
          level,
          number,
          hashes: Buffer.concat(hashes),
        })),
        leaves,
        heads: [...changed].map((owner) => this.#headOf(owner)),
        marks,
        markedHeads: [...marked.values()],
      });
      this.#grown.clear();
    } catch (error) {
      this.#grown.clear();
      this.#load();
      throw error;
    }
    this.#position = last.position;
    this.#eventId = last.id;
  }

  #addEvent(event: StoredEvent): OwnerLeaf & { owner: string } {
    const { owner, position } = event;
    const before = this.#heads.get(owner);
    const sequence = (before?.sequence ?? 0) + 1;
    const previous = before?.leaf.toString('base64') ?? NO_LEAF;
    const leaf = leafHash(leafText(event, { sequence, previous }));
    this.#heads.set(owner, { sequence, leaf });
    this.#sinceMark.add(owner);
    return { owner, position, sequence, index: this.#push(leaf) };
  }

  #addMark({ type, data, position }: StoredEvent, marked: Map<string, StoredOwnerHead>): TreeMark {
    // A tree without it would be another one.
    if (type !== 'TreeMarked')
      throw new UnknownEventType(
        `the mark at position ${position} has the type ${type}: a newer version wrote it`,
      );
    this.#requireSame((data as MarkData).before);
    for (const owner of this.#sinceMark) {
      const head = this.#headOf(owner);
      this.#mark(head);
      marked.set(owner, head);
    }
    this.#sinceMark.clear();
    this.#push(leafHash(headsText(this.#headLeaves.root(), this.#headLeaves.size)));
    this.#marks += 1;
    const mark = { size: this.#size, position };
    this.#marked = { ...mark, root: this.rootAt(this.#size) };
    return mark;
  }

  #requireSame(before: MarkData['before']): void {
    const { size, root } = this.#marked ?? {};
    if (before?.size === size && before?.root === root?.toString('base64')) return;
    throw new LogRewritten(
      before
        ? `the log had a tree of ${before.size} events with the root ${before.root}, and has another one now: an event up to there was changed, removed or added`
        : 'the first mark of the log is missing',
    );
  }

  #headOf(owner: string): StoredOwnerHead {
    const head = this.#heads.get(owner);
    if (!head) throw new Error(`${owner} has no leaf`);
    return { owner, ...head };
  }

  /** Adds a leaf, and the root of each tile that it completes to the level above. Returns its place. */
  #push(leaf: Hash): number {
    let carried: Hash | undefined = leaf;
    for (let level = 0; carried; level += 1) {
      const edge: Edge = (this.#edges[level] ??= { level, number: 0, hashes: [] });
      edge.hashes.push(carried);
      this.#grown.add(edge);
      carried = undefined;
      if (edge.hashes.length < TILE_HASHES) continue;
      carried = rootOfTile(edge.hashes);
      this.#edges[level] = { level, number: edge.number + 1, hashes: [] };
    }
    this.#size += 1;
    return this.#size - 1;
  }

  /** The hash of a complete subtree, from the hashes of the tile that has them. */
  readonly #nodes: Nodes = (level, index) => {
    const row = Math.floor(level / TILE_BITS);
    const width = 2 ** (level % TILE_BITS);
    const first = index * width;
    const hashes = this.#tile(row, Math.floor(first / TILE_HASHES));
    const from = first % TILE_HASHES;
    return rootOfTile(hashes.slice(from, from + width));
  };

  #tile(level: number, number: number): readonly Hash[] {
    const edge = this.#edges[level];
    if (edge?.number === number) return edge.hashes;
    return splitHashes(this.#store.tile(level, number));
  }

  /** Returns the hashes of a tile in the form of C2SP tlog-tiles; undefined if it has fewer than `width`. */
  tile(level: number, number: number, width: number): Buffer | undefined {
    const hashes = this.#tile(level, number);
    return hashes.length < width ? undefined : Buffer.concat(hashes.slice(0, width));
  }

  /** The root of the first `size` leaves. */
  rootAt(size: number): Hash {
    return rootOf(this.#nodes, { from: 0, to: size });
  }

  /** The first mark, or the one of a size of the tree; undefined if there is none. */
  markAt(size?: number): TreeMark | undefined {
    return size === undefined ? this.#store.firstMark() : this.#store.markOf(size);
  }

  /** Proves that the tree of `size` leaves begins with the tree of the first `first` ones. */
  consistency(first: number, size: number): Hash[] {
    return consistencyProof(this.#nodes, first, size);
  }

  /** Proves that the last leaf under the newest mark names the newest leaf of an owner; undefined without one. */
  ownerProof(owner: string): OwnerProof | undefined {
    const head = this.#markedHeads.get(owner);
    const found = this.#headLeaves.proof(owner);
    return head && found && { head, owners: this.#headLeaves.size, ...found };
  }

  /** Proves that a leaf is in the tree of `size` leaves. */
  inclusion(index: number, size: number): Hash[] {
    return inclusionProof(this.#nodes, index, size);
  }

  /** The leaves of an owner's events after `after` (exclusive) up to `upTo` (inclusive), by position. */
  leavesOf(owner: string, range: { after: Position; upTo: Position }): Map<Position, Hash> {
    const leaves = this.#store.leavesOf(owner, range);
    return new Map(leaves.map(({ position, index }) => [position, this.#leaf(index)]));
  }

  /** The leaf of an owner's last event up to a position; undefined if there is none. */
  leafUpTo(owner: string, position: Position): (OwnerHead & OwnerLeaf) | undefined {
    const found = this.#store.leafUpTo(owner, position);
    return found && { ...found, leaf: this.#leaf(found.index) };
  }

  #leaf(index: number): Hash {
    const edge = this.#edges[0];
    const isAtEdge = edge?.number === Math.floor(index / TILE_HASHES);
    return isAtEdge ? (edge.hashes[index % TILE_HASHES] ?? NO_HASH) : this.#store.leaf(index);
  }
}

/** A tile as its hashes. */
type Edge = { level: number; number: number; hashes: Hash[] };

const rootOfTile = (hashes: readonly Hash[]): Hash => {
  const nodes: Nodes = (level, index) =>
    level === 0
      ? (hashes[index] ?? NO_HASH)
      : nodeHash(nodes(level - 1, 2 * index), nodes(level - 1, 2 * index + 1));
  return nodes(Math.log2(hashes.length), 0);
};

const splitHashes = (tile: Buffer = Buffer.alloc(0)): Hash[] =>
  Array.from({ length: tile.length / HASH_BYTES }, (_none, place) =>
    tile.subarray(place * HASH_BYTES, (place + 1) * HASH_BYTES),
  );
