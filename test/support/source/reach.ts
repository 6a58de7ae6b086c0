import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importsOf, ROOT, type SourceFile } from './tree.ts';

const isOurs = (path: string): boolean => /^(contracts|src|projections)\/.*\.ts$/.test(path);

const fileOf = (path: string): SourceFile => ({
  path,
  text: readFileSync(join(ROOT, path), 'utf8'),
});

/** Returns every file that `entries` load: imports of values, followed transitively. */
export const reachedFrom = (entries: readonly string[]): SourceFile[] => {
  const reached = new Map<string, SourceFile>();
  const waiting = [...entries];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (reached.has(path)) continue;
    const file = fileOf(path);
    reached.set(path, file);
    waiting.push(
      ...importsOf(file)
        .filter(({ typeOnly, from }) => !typeOnly && isOurs(from))
        .map(({ from }) => from),
    );
  }
  return [...reached.values()];
};

/** Returns the packages, Node's included, that `entries` load, directly or through other files; sorted. */
export const packagesFrom = (entries: readonly string[]): string[] => {
  const packages = reachedFrom(entries).flatMap((file) =>
    importsOf(file).filter(({ typeOnly, from }) => !typeOnly && !isOurs(from)),
  );
  return [...new Set(packages.map(({ from }) => from))].toSorted();
};
