/** The last line of a run counts every kind of failure: each is planted in a project of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { text } from 'node:stream/consumers';
import { afterAll, expect, test } from 'vitest';
import { directories } from './support/processes/directories.ts';
import { ROOT } from './support/source/tree.ts';

const temporary = directories('tributary-reporter-');
afterAll(temporary.removeAll);

const PLANTED: Record<string, string> = {
  'mixed.test.ts': `
    test('passes', () => {});
    test('fails', () => { throw new Error('planted in a test', { cause: new Error('its cause') }); });
    test('is skipped', (context) => context.skip('planted reason'));`,
  'unloadable.test.ts': `throw new Error('planted while loading');`,
  'before.test.ts': `
    beforeAll(() => { throw new Error('planted before all'); });
    test('never runs', () => {});`,
  'after.test.ts': `
    describe('a group', () => {
      afterAll(() => { throw new Error('planted after all'); });
      test('passes', () => {});
    });`,
  'unhandled.test.ts': `
    test('passes', async () => {
      void Promise.reject(new Error('planted rejection'));
      await new Promise(setImmediate);
    });`,
};

/** Runs the files with the reporter, and returns its lines and the exit code. */
const run = async (files: Record<string, string>) => {
  const root = temporary.fresh();
  mkdirSync(root, { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  const imports = `import { afterAll, beforeAll, describe, test } from 'vitest';\n`;
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(root, name), imports + content);
  const reporter = join(ROOT, 'infra/scripts/plain-reporter.ts');
  const args = ['run', '--root', root, '--reporter', reporter];
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const child = spawn(execPath, [vitest, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return { lines: output.trim().split('\n'), code: code as number };
};

test('The last line counts failed tests, files and hooks as failed, and unhandled rejections apart', async () => {
  const { lines, code } = await run(PLANTED);
  expect(lines.at(-1)).toBe('3 passed, 4 failed, 2 skipped, 1 unhandled');
  const output = lines.join('\n');
  for (const expected of [
    'skipped: is skipped (planted reason)',
    'failed: mixed.test.ts > fails: planted in a test: its cause',
    'failed: unloadable.test.ts: planted while loading',
    'failed: before.test.ts: planted before all',
    'failed: after.test.ts > a group: planted after all',
    'unhandled: planted rejection',
  ])
    expect(output).toContain(expected);
  expect(code).toBe(1);
});

test('The last line of a run without a fault has three counts', async () => {
  const { lines, code } = await run({ 'good.test.ts': `test('passes', () => {});` });
  expect(lines.at(-1)).toBe('1 passed, 0 failed, 0 skipped');
  expect(code).toBe(0);
});
