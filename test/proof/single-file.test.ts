/** The verifier as a single file, run as a program by what a stranger has. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exported } from '../support/audit/export.ts';
import { directories } from '../support/processes/directories.ts';
import { testApp, type TestApp } from '../support/world/app.ts';

const { fresh, removeAll } = directories('tributary-verifier-');
const directory = fresh();
const verifier = join(directory, 'verifier.js');

let app: TestApp;
let file: string;
let key: string;
beforeAll(async () => {
  app = await testApp();
  await app.agent('acme');
  file = await exported(app, 'acme');
  const get = async (url: string) => (await app.send({ method: 'GET', url })).text;
  key = (await get('/proof/key')).trim();
  writeFileSync(verifier, await get('/proof/verifier.js'));
});
afterAll(async () => {
  await app.close();
  removeAll();
});

const hasDeno = spawnSync('deno', ['--version']).status === 0;
const RUNTIMES = [
  { name: 'Node', command: [process.execPath], isHere: true },
  {
    name: hasDeno ? 'Deno' : 'Deno (skipped: deno is not installed)',
    command: ['deno', 'run', '--allow-read'],
    isHere: hasDeno,
  },
];

describe.each(RUNTIMES)('The single file, with $name,', ({ command, isHere }) => {
  const verified = (path: string, ...more: string[]) => {
    const [program = '', ...options] = command;
    const words = [...options, verifier, path, ...more];
    return spawnSync(program, words, { cwd: directory, encoding: 'utf8' });
  };

  it.skipIf(!isHere)(
    'The single file says of an export what it is, in its exit status and its first line',
    () => {
      const intact = verified(file, '--key', key);
      expect(intact, intact.stderr).toMatchObject({ status: 0 });
      expect(intact.stdout).toMatch(/^Intact: \d+ records of acme/);
      expect(verified(file).stdout).toMatch(/^The key was not checked/);
      const bytes = readFileSync(file);
      const altered = join(directory, 'altered.audit');
      bytes[bytes.length - 40] = (bytes[bytes.length - 40] ?? 0) ^ 1;
      writeFileSync(altered, bytes);
      const found = verified(altered, '--key', key);
      expect(found).toMatchObject({ status: 1 });
      expect(found.stdout).toMatch(/^Altered: line \d+: /);
      writeFileSync(altered, 'no export\n');
      expect(verified(altered, '--key', key)).toMatchObject({ status: 2 });
    },
  );
});
