/** The files of a data directory are readable by their owner only, even if the directory is not. */
import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { prepareDirectory } from '#src/system/directory.ts';
import { feed, HEADER, json, run } from '../../support/clients/cli.ts';
import { testApp } from '../../support/world/app.ts';
import { directories } from '../../support/processes/directories.ts';

const { fresh, removeAll } = directories('own-files-');
afterAll(removeAll);

const modesIn = (directory: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => [name, (statSync(join(directory, name)).mode & 0o777).toString(8)]),
  );

it('A service creates all its files readable by their owner only', async () => {
  const app = await testApp();
  await app.agent('acme');
  const made = modesIn(app.directory);
  const some = ['keys.db', 'lock', 'log.db', 'log.db-wal', 'root.key', 'streams.db', 'views.db'];
  expect(Object.keys(made)).toEqual(expect.arrayContaining(some));
  expect(Object.keys(made).some((name) => name.startsWith('catalog-'))).toBe(true);
  expect(Object.entries(made).filter(([, mode]) => mode !== '600')).toEqual([]);
  await app.close();
});

it('A start closes files of the service to others, and changes no other file', () => {
  const directory = fresh();
  const elsewhere = join(fresh(), 'feed.csv');
  writeFileSync(elsewhere, '', { mode: 0o644 });
  for (const name of ['keys.db', 'catalog-0a1b2c3d.1.db-wal', 'root.key', 'run.sh'])
    writeFileSync(join(directory, name), '', { mode: 0o644 });
  symlinkSync(elsewhere, join(directory, 'feed.csv'));
  mkdirSync(join(directory, 'outbox'), { mode: 0o755 });
  prepareDirectory(directory);
  expect(modesIn(directory)).toEqual({
    'keys.db': '600',
    'catalog-0a1b2c3d.1.db-wal': '600',
    'root.key': '600',
    'run.sh': '644',
  });
  expect(statSync(elsewhere).mode & 0o777).toBe(0o644);
  expect(statSync(join(directory, 'outbox')).mode & 0o777).toBe(0o755);
});

it('A start accepts a directory with any one file of the service and other files', async () => {
  const app = await testApp();
  await app.agent('acme');
  for (const name of readdirSync(app.directory)) {
    const alone = fresh();
    writeFileSync(join(alone, name), '');
    writeFileSync(join(alone, 'feed.csv'), '');
    expect(() => prepareDirectory(alone), name).not.toThrow();
  }
  await app.close();
});

describe('A directory with other files', () => {
  it.each([
    [['lost+found', '.snapshot', '.nfs0001'], true],
    [['notes.txt', 'log.db'], true],
    [['outbox'], true],
    [['notes.txt'], false],
    [['log.db.txt', '.git'], false],
    [['alog.db'], false],
  ])(
    'A directory with other files such as %j can become a data directory: %s',
    (names, mayBegin) => {
      const directory = fresh();
      for (const name of names) writeFileSync(join(directory, name), '');
      const begin = () => prepareDirectory(directory);
      if (mayBegin) expect(begin).not.toThrow();
      else expect(begin).toThrow(/contains other files .*Nothing was written/);
    },
  );

  it('A directory with other files is not changed by any command, and status --check reports it', async () => {
    const directory = fresh();
    const script = join(directory, 'run.sh');
    writeFileSync(script, '', { mode: 0o755 });
    const file = feed(fresh(), 'one.csv', `${HEADER}L-1,One,1.00 GBP,in_stock\n`);
    const source = fresh();
    await json('catalog', 'import', file, '--data', source);
    const commands = [
      run('serve', '--port', '0', '--data', directory),
      run('catalog', 'import', file, '--data', directory),
      run('log', 'copy', `sqlite:${source}`, `sqlite:${directory}`),
    ];
    for (const { code, stderr } of await Promise.all(commands))
      expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('(run.sh)') });
    expect(modesIn(directory)).toEqual({ 'run.sh': '755' });
    expect((await run('status', '--check', '--data', directory)).stdout).toMatch(
      /✗ +data directory .*contains other files/,
    );
    expect((await run('serve', '--port', '0', '--data', script)).stderr).toBe(
      `tributary: ${script} is a file. The data directory must be a directory.\n`,
    );
  });
});

it('`status --check` reports files that other users can read', async () => {
  const directory = fresh();
  const permissionsLine = async (): Promise<string> => {
    const { stdout } = await run('status', '--check', '--data', directory);
    return /^.*permissions.*$/m.exec(stdout)?.[0] ?? '';
  };
  expect(await permissionsLine()).toContain('✓');
  chmodSync(directory, 0o755);
  expect(await permissionsLine()).toContain(
    `other users can list ${directory}: chmod 700 ${directory}`,
  );
  writeFileSync(join(directory, 'log.db-wal'), '', { mode: 0o644 });
  expect(await permissionsLine()).toContain(
    `other users can read ${join(directory, 'log.db-wal')}`,
  );
});

it('A file that cannot be used ends a command with the way forward instead of a stack trace', async () => {
  const directory = fresh();
  writeFileSync(join(directory, 'mail'), '');
  mkdirSync(join(directory, 'root.key'));
  for (const command of [
    ['mail', 'list'],
    ['serve', '--port', '0'],
  ]) {
    const { code, stderr } = await run(...command, '--data', directory);
    expect(code).toBe(3);
    expect(stderr).toMatch(/^tributary: E(?:IS|NOT)DIR: .*: move it away\.\n$/);
  }
});
