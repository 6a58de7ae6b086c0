/**
 * Shows that a change moved code and did nothing else: compares the top-level statements and the comments of all source
 * files at a revision with those of the working tree, wherever they are. Imports, `export` and paths do not count.
 * `node infra/scripts/compare-code.ts REVISION` exits with 1 and prints the first differences if there are any.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseSync } from 'oxc-parser';

const FOLDERS = ['contracts', 'projections', 'src'];
const DIFFERENCES_SHOWN = 20;

const git = (...args: string[]): string =>
  execFileSync('git', args, { encoding: 'utf8', maxBuffer: 2 ** 28 });

/** Removes where the node is, and what names a file: both change when code moves. */
const withoutPlaces = (key: string, value: unknown): unknown => {
  if (key === 'start' || key === 'end' || key === 'raw') return undefined;
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'string') return value;
  return /^\.{1,2}\//.test(value) ? 'PATH' : withoutPaths(value);
};

const withoutPaths = (text: string): string =>
  text.replaceAll(
    /(?:#|\.{1,2}\/)?(?:(?:contracts|projections|src|\.\.)\/)?[\w./{},-]*\.ts\b/g,
    'FILE.ts',
  );

/** The statements of a file without its imports, and its comments, each as one line of text. */
const partsOf = (path: string, text: string): string[] => {
  const { program, comments } = parseSync(path, text);
  const statements = program.body
    .filter(({ type }) => type !== 'ImportDeclaration')
    .map((node) => ('declaration' in node && node.declaration ? node.declaration : node))
    .map((node) => JSON.stringify(node, withoutPlaces));
  const remarks = comments.map(({ value }) =>
    withoutPaths(value.replaceAll(/\s*\n\s*\*?\s*/g, ' ').trim()),
  );
  return [...statements, ...remarks];
};

const countParts = (paths: readonly string[], read: (path: string) => string) => {
  const counts = new Map<string, number>();
  for (const path of paths)
    for (const part of partsOf(path, read(path))) counts.set(part, (counts.get(part) ?? 0) + 1);
  return counts;
};

const isSource = (path: string): boolean => path.endsWith('.ts');
const [revision = 'HEAD'] = process.argv.slice(2);
const before = countParts(
  git('ls-tree', '-r', '--name-only', revision, ...FOLDERS)
    .trim()
    .split('\n')
    .filter(isSource),
  (path) => git('show', `${revision}:${path}`),
);
const after = countParts(
  git('ls-files', '--cached', '--others', '--exclude-standard', ...FOLDERS)
    .trim()
    .split('\n')
    .filter(isSource),
  (path) => readFileSync(path, 'utf8'),
);

const differences = [...new Set([...before.keys(), ...after.keys()])]
  .filter((part) => (before.get(part) ?? 0) !== (after.get(part) ?? 0))
  .map(
    (part) =>
      `${(before.get(part) ?? 0) > (after.get(part) ?? 0) ? '-' : '+'} ${part.slice(0, 300)}`,
  );
const total = [...before.values()].reduce((sum, count) => sum + count, 0);
process.stdout.write(
  differences.length === 0
    ? `${total} statements and comments: the same as at ${revision}\n`
    : `${differences.length} differences from ${revision}:\n${differences.slice(0, DIFFERENCES_SHOWN).join('\n')}\n`,
);
process.exitCode = differences.length === 0 ? 0 : 1;
