/** Directories of this run, below one that is removed at the end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let root: string | undefined;

export const temporaryDirectory = (): string => {
  root ??= mkdtempSync(join(tmpdir(), 'tributary-bench-'));
  return mkdtempSync(join(root, 'd-'));
};

export const removeTemporary = (): void => {
  if (root !== undefined) rmSync(root, { recursive: true, force: true });
};
