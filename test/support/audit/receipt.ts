/** Verifies receipts as a stranger with the key does. */
import { expect } from 'vitest';
import { leafHash } from '#src/proof/merkle.ts';
import { openNote, openVerifier, readCheckpoint } from '#src/proof/note.ts';
import { rootFromLeaf } from '#src/proof/verifier.ts';

/** Verifies a file of C2SP tlog-proof. Returns the leaf. */
export const verifiedLeaf = (file: string, key: string): Record<string, unknown> => {
  const [, extra = '', index = '', path = '', note = ''] =
    /^c2sp\.org\/tlog-proof@v1\nextra (\S+)\nindex (\d+)\n((?:\S{44}\n)*)\n([^]+)$/.exec(file) ??
    [];
  const opened = openNote(note, [openVerifier(key)]);
  expect(opened?.signed).toHaveLength(1);
  const { size = 0, root } = readCheckpoint(opened?.text ?? '') ?? {};
  const leaf = Buffer.from(extra, 'base64').toString();
  const proof = path.split('\n').slice(0, -1);
  const found = rootFromLeaf(leafHash(leaf), { index: Number(index), size, proof });
  expect(Buffer.from(found ?? []).equals(root ?? Buffer.alloc(0))).toBe(true);
  return JSON.parse(leaf) as Record<string, unknown>;
};
