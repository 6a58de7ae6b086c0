/**
 * The notary: marks the tree of the log when it has grown, and signs the checkpoint of each mark. Who reads a checkpoint can
 * check that a later one continues it, and that an export is what was in the log under it.
 */
import type { AppendResult, EventLog, Position } from '#src/ports/event-log.ts';
import type { TreeMark } from '#src/ports/proof-store.ts';
import type { Clock, Ids } from '#src/ports/system.ts';
import { systemCall } from '#src/calls/handlers.ts';
import { attribute } from '#src/writing/attribution.ts';
import type { Hash } from './merkle.ts';
import { checkpointText, signNote, type Signer, type Verifier } from './note.ts';
import { type LogTree, MARKS_STREAM, type MarkedTree, NOTARY, type OwnerProof } from './tree.ts';

export type ProofDeps = {
  log: Pick<EventLog, 'append'>;
  tree: LogTree;
  /** The newest key, and after it former ones, which sign as well for a time. */
  signers: readonly [Signer, ...Signer[]];
  /** Who cosigns; none in tests of the tree. */
  witnesses?: { all: readonly { key: Verifier }[]; newest(): Cosigned | undefined };
};

/** The newest checkpoint that a witness cosigned: its text, and the lines of all that cosigned it. */
type Cosigned = { size: number; text: string; lines: string };

export type NotaryDeps = ProofDeps & { clock: Clock; ids: Ids };

/**
 * Marks the tree if it has grown since the newest mark. Of two notaries that do so at once, the log accepts one: both sign the
 * same tree, because a mark's place in the log decides what is under it. Throws LogRewritten, and what the log throws.
 */
export const markTree = async (
  deps: NotaryDeps,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> => {
  const { log, tree, ids } = deps;
  await tree.advance();
  if (tree.unmarked === 0) return;
  const { newest } = tree;
  const before = newest && { size: newest.size, root: newest.root.toString('base64') };
  const call = systemCall(deps, 'markTree', { ownerId: NOTARY, signal });
  const events = attribute(call, [{ type: 'TreeMarked', data: before ? { before } : {} }], ids);
  const { outcome }: AppendResult = await log.append(MARKS_STREAM, tree.marks - 1, events);
  // What another notary appended is read like our own.
  if (outcome === 'appended' || outcome === 'conflict') await tree.advance();
};

/** The signed checkpoint of a marked tree. Signatures of Ed25519 are the same each time. */
export const checkpointOf = (
  { signers, witnesses }: Pick<ProofDeps, 'signers' | 'witnesses'>,
  { size, root }: Pick<MarkedTree, 'size' | 'root'>,
): string => {
  const text = checkpointText({ origin: signers[0].name, size, root });
  const cosigned = witnesses?.newest();
  return signNote(text, signers) + (cosigned?.text === text ? cosigned.lines : '');
};

type Leaf = { sequence: number; leaf: string };
type Path = { index: number; proof: string[] };

/** What a file needs so that a stranger can verify an owner's records up to a mark. */
export type ExportProof = {
  /** An earlier checkpoint (that was kept, that witnesses cosigned, or the first one) and the newest one, and the hashes that show that the newest tree begins with the earlier one. */
  checkpoints: [first: string, newest: string];
  consistency: string[];
  keys: string[];
  /** The newest leaf of the owner, and what leads from it to the root of the tree of owners. */
  head: Leaf;
  owners: Path & { count: number };
  /** Leads from the last leaf of the tree, which has that root, to its root. */
  last: string[];
  /** Before the first record of the file: 0 and an empty text if it has all. */
  before: Leaf;
  /** Leads from the last record of a file that ends before the newest one to the root of the tree. */
  end?: Path;
};

/**
 * What an export is proved under: the newest checkpoint, an earlier one that it continues, and the owner's newest leaf. All
 * are of one moment, because the tree can get another mark while the records are read.
 */
export type ExportMark = OwnerProof & { first: TreeMark; newest: MarkedTree };

/** An export: the positions before its first record and of its last one. */
export type Exported = { owner: string; after: Position; upTo: Position };

const texts = (hashes: readonly Hash[]): string[] => hashes.map((one) => one.toString('base64'));

/**
 * Returns the newest checkpoint, to prove an export under it that continues the checkpoint of size `since`. Undefined while
 * there is no checkpoint with a record of the owner, or if there was none of this size.
 */
export const exportMark = (
  { tree, witnesses }: Pick<ProofDeps, 'tree' | 'witnesses'>,
  owner: string,
  since: number | undefined,
): ExportMark | undefined => {
  const { newest } = tree;
  const first = tree.markAt(since ?? witnesses?.newest()?.size) ?? tree.markAt();
  const found = tree.ownerProof(owner);
  return newest && first && found && { ...found, first, newest };
};

/** Proves which records an owner has under a checkpoint, in as many hashes as the tree has levels. */
export const proveExport = (
  deps: Pick<ProofDeps, 'tree' | 'signers' | 'witnesses'>,
  { first, newest, head, index, owners, proof }: ExportMark,
  { owner, after, upTo }: Exported,
): ExportProof => {
  const { tree, signers, witnesses } = deps;
  const notes = [{ size: first.size, root: tree.rootAt(first.size) }, newest].map((each) =>
    checkpointOf(deps, each),
  ) as ExportProof['checkpoints'];
  const before = tree.leafUpTo(owner, after);
  const end = tree.leafUpTo(owner, upTo);
  return {
    checkpoints: notes,
    consistency: texts(tree.consistency(first.size, newest.size)),
    keys: [...signers, ...(witnesses?.all ?? []).map(({ key }) => key)].map(({ text }) => text),
    head: { sequence: head.sequence, leaf: head.leaf.toString('base64') },
    owners: { index, count: owners, proof: texts(proof) },
    last: texts(tree.inclusion(newest.size - 1, newest.size)),
    before: { sequence: before?.sequence ?? 0, leaf: before?.leaf.toString('base64') ?? '' },
    ...(end &&
      end.sequence < head.sequence && {
        end: { index: end.index, proof: texts(tree.inclusion(end.index, newest.size)) },
      }),
  };
};
