import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  consistencyProof,
  type Hash,
  inclusionProof,
  leafHash,
  NamedLeaves,
  nodeHash,
  type Nodes,
  rootOf,
} from '#src/proof/merkle.ts';
import { isConsistent, rootFromLeaf } from '#src/proof/verifier.ts';

/** The leaves and roots of the reference implementation of Certificate Transparency. */
const VECTORS = {
  leaves: [
    '',
    '00',
    '10',
    '2021',
    '3031',
    '40414243',
    '5051525354555657',
    '606162636465666768696a6b6c6d6e6f',
  ],
  roots: [
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
    '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
    'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  ],
};

const treeOf = (leaves: readonly string[]): Nodes => {
  const hashes = leaves.map((leaf) => leafHash(leaf));
  const node: Nodes = (level, index) =>
    level === 0
      ? (hashes[index] as Hash)
      : nodeHash(node(level - 1, 2 * index), node(level - 1, 2 * index + 1));
  return node;
};

const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_none, at) => `leaf ${at}`);
const base64 = (hashes: readonly Hash[]): string[] => hashes.map((one) => one.toString('base64'));
const hex = (bytes: Uint8Array | undefined): string | undefined =>
  bytes && Buffer.from(bytes).toString('hex');

it('Roots are those of the reference implementation of Certificate Transparency', () => {
  const nodes = treeOf(VECTORS.leaves.map((leaf) => Buffer.from(leaf, 'hex').toString('latin1')));
  const roots = VECTORS.roots.map((_root, size) => hex(rootOf(nodes, { from: 0, to: size })));
  expect(roots).toEqual(VECTORS.roots);
});

it('Each leaf of trees of 1 to 70 leaves is proved to the verifier, and to it alone', () => {
  for (let size = 1; size <= 70; size += 1) {
    const leaves = numbered(size);
    const nodes = treeOf(leaves);
    const root = hex(rootOf(nodes, { from: 0, to: size }));
    for (let index = 0; index < size; index += 1) {
      const proof = base64(inclusionProof(nodes, index, size));
      const led = (leaf: string, at = index) =>
        hex(rootFromLeaf(leafHash(leaf), { index: at, size, proof }));
      expect(led(`leaf ${index}`)).toBe(root);
      expect(led('another leaf')).not.toBe(root);
      if (size > 1) expect(led(`leaf ${index}`, (index + 1) % size)).not.toBe(root);
    }
  }
});

it('Each tree of 1 to 70 leaves is proved to begin with each smaller one, and with no other', () => {
  const nodes = treeOf(numbered(70));
  const other = treeOf(['another leaf', ...numbered(70).slice(1)]);
  for (let size = 1; size <= 70; size += 1)
    for (let first = 1; first <= size; first += 1) {
      const proof = base64(consistencyProof(nodes, first, size));
      const next = { size, root: rootOf(nodes, { from: 0, to: size }) };
      const range = { from: 0, to: first };
      expect(isConsistent({ size: first, root: rootOf(nodes, range) }, next, proof)).toBe(true);
      expect(isConsistent({ size: first, root: rootOf(other, range) }, next, proof)).toBe(false);
    }
});

it('The newest leaves of owners are one tree in the order of their names, whatever changed when', () => {
  const name = fc.string({ minLength: 1, maxLength: 3 });
  const changes = fc.array(fc.array(fc.tuple(name, fc.string()), { maxLength: 5 }), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(changes, (rounds) => {
      const tree = new NamedLeaves();
      const all = new Map<string, string>();
      for (const round of rounds) {
        for (const [owner, leaf] of round) {
          tree.set(owner, leafHash(leaf));
          all.set(owner, leaf);
        }
        const names = [...all.keys()].toSorted((one, other) => (one < other ? -1 : 1));
        const nodes = treeOf(names.map((owner) => all.get(owner) ?? ''));
        const root = rootOf(nodes, { from: 0, to: names.length });
        expect(hex(tree.root())).toBe(hex(root));
        for (const [index, owner] of names.entries())
          expect(tree.proof(owner)).toEqual({
            index,
            proof: inclusionProof(nodes, index, names.length),
          });
      }
      expect(tree.proof('nobody of this name')).toBeUndefined();
    }),
  );
});
