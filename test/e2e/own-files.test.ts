/** What lies in a data directory is its owner's alone, also where the directory is not. */
import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { prepareDirectory } from '#src/adapters/system/directory.ts';
import { run } from '../support/cli.ts';
import { testApp } from '../support/app.ts';
import { directories } from '../support/directories.ts';

const { fresh, removeAll } = directories('own-files-');
afterAll(removeAll);

const modesIn = (directory: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => [name, (statSync(join(directory, name)).mode & 0o777).toString(8)]),
  );

it('is made for its owner alone, every file of it', async () => {
  const app = await testApp();
  await app.agent('acme');
  const made = modesIn(app.directory);
  const some = ['keys.db', 'lock', 'log.db', 'log.db-wal', 'root.key', 'streams.db', 'views.db'];
  expect(Object.keys(made)).toEqual(expect.arrayContaining(some));
  expect(Object.keys(made).some((name) => name.startsWith('catalog-'))).toBe(true);
  expect(Object.entries(made).filter(([, mode]) => mode !== '600')).toEqual([]);
  await app.close();
});

it('is closed at the next start where it was left open, and nothing beyond it', () => {
  const directory = fresh();
  const elsewhere = join(fresh(), 'feed.csv');
  writeFileSync(elsewhere, '', { mode: 0o644 });
  writeFileSync(join(directory, 'keys.db'), '', { mode: 0o644 });
  symlinkSync(elsewhere, join(directory, 'feed.csv'));
  mkdirSync(join(directory, 'outbox'), { mode: 0o755 });
  prepareDirectory(directory);
  expect(modesIn(directory)).toEqual({ 'keys.db': '600' });
  expect(statSync(elsewhere).mode & 0o777).toBe(0o644);
  expect(statSync(join(directory, 'outbox')).mode & 0o777).toBe(0o755);
});

it('is told by doctor where others can get at it', async () => {
  const directory = fresh();
  const told = async (): Promise<string> => {
    const { stdout } = await run('doctor', '--data', directory);
    return /^.*permissions.*$/m.exec(stdout)?.[0] ?? '';
  };
  expect(await told()).toContain('✓');
  chmodSync(directory, 0o755);
  expect(await told()).toContain(`others can look into ${directory}: chmod 700 ${directory}`);
  writeFileSync(join(directory, 'log.db-wal'), '', { mode: 0o644 });
  expect(await told()).toContain(`others can get at ${join(directory, 'log.db-wal')}`);
});
