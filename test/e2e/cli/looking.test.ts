/** Commands that read change nothing, and refuse a data directory that is incomplete or damaged. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { program } from '#src/cli/program.ts';
import {
  ended,
  feed,
  HEADER,
  json,
  lastLine,
  run,
  serve,
  start,
} from '../../support/clients/cli.ts';
import { runHere } from '../../support/clients/cli-here.ts';
import { directories } from '../../support/processes/directories.ts';

const directory = directories('tributary-looking-');
const medium = directory.fresh();
const isMounted = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', medium]).status === 0;
afterAll(() => {
  if (isMounted) spawnSync('umount', [medium]);
  directory.removeAll();
});

/** The files of a complete backup. */
const BACKUP = ['log.db', 'streams.db', 'log.mark', 'root.key', 'keys.db'];

/** Commands that read, with their arguments. */
const READS: Record<string, string[]> = {
  backup: [join(directory.fresh(), 'backup')],
  'access list': ['--owner', 'northwind'],
  'access requests': [],
  'key list': ['--owner', 'northwind'],
  'approvals list': [],
  'approvals show': ['out_000000000000000000000000'],
  'outreach show': ['--owner', 'northwind'],
  'plan show': ['led_000000000000000000000000'],
  'link list': ['--owner', 'northwind'],
  'record show': ['lnk_000000000000000000000000', '--owner', 'northwind'],
  'inbox list': [],
  'inbox counts': [],
  search: ['mug'],
  'handoff list': ['--owner', 'northwind'],
  'rfq show': ['hnd_000000000000000000000000', '--owner', 'northwind'],
  'rfq list': [],
  performance: ['--owner', 'northwind'],
  'lead list': [],
  'lead read': ['led_000000000000000000000000'],
  'mail list': [],
  'mail show': ['mal_0'],
  'owner show': ['--owner', 'northwind'],
  'events history': ['--owner', 'northwind'],
  'audit state': ['--owner', 'northwind'],
  'audit performance': ['--owner', 'northwind'],
  'audit diff': ['--owner', 'northwind', '--from', '1'],
  'audit progress': ['--owner', 'northwind'],
  'audit history': ['--owner', 'northwind'],
  'audit trace': ['lnk_000000000000000000000000'],
  'audit receipt': ['0197f2a1-6c3e-7000-8000-000000000001'],
  'audit replay': ['0197f2a1-6c3e-7000-8000-000000000001'],
  'audit check': ['--all'],
  'events changes': ['--owner', 'northwind'],
  'events tail': ['--limit', '3'],
  'events show': ['northwind'],
  'projections status': [],
  'projections watch': [],
  'projections parked': [],
  'projections verify': ['codes'],
  'log verify': [],
  status: [],
  whoami: [],
  'people list': [],
  'people show': ['per_000000000000000000000000'],
  'session list': [],
};
/** Exit codes other than 0: there is no such record, and no server. */
const ENDS: Record<string, number> = {
  'approvals show': 1,
  'record show': 1,
  'rfq show': 1,
  'lead read': 1,
  'audit trace': 1,
  'audit receipt': 1,
  'audit replay': 1,
  'mail show': 1,
  'plan show': 1,
  'people show': 1,
  'projections watch': 1,
  status: 3,
};
/** Commands that write, or that other tests cover. */
const WRITES =
  /^(serve|demo-reset|erase|help.*|catalog .*|access (?!list|requests).*|key (?!list).*|token .*|lead (?!list|read).*|handoff (?!list).*|rfq (?!list|show).*|link (?!list).*|plan (?!show).*|approvals (?!list|show).*|outreach (?!show).*|owner (?!show).*|privacy .*|projections (?!status|verify|watch|parked).*|clock .*|login|logout|context .*|people (?!list|show).*|session (?!list).*|passkey .*|account .*|audit (?:export|verify)|notary rotate|root-key rotate|witness|restore|log (?:copy|adopt))$/;

const namesIn = (command: Command, before = ''): string[] =>
  command.commands.flatMap((each) => {
    const name = `${before}${each.name()}`;
    return each.commands.length === 0 ? [name] : namesIn(each, `${name} `);
  });

let demo: string;
/** Copies files of a stopped service to a new directory. */
const restore = (...files: string[]): string => {
  const fresh = directory.fresh();
  for (const name of files) cpSync(join(demo, name), join(fresh, name));
  return fresh;
};
const digestOf = (data: string): string =>
  createHash('sha256')
    .update(readFileSync(join(data, 'log.db')))
    .digest('hex');

const tokensIn = (data: string): number => {
  const db = new DatabaseSync(join(data, 'log.db'), { readOnly: true });
  const row = db.prepare("SELECT count(*) AS n FROM events WHERE type = 'DeskTokenIssued'").get();
  db.close();
  return Number(row?.['n']);
};

beforeAll(async () => {
  demo = directory.fresh();
  const server = await serve(demo, '--demo');
  const refused = await run('demo-reset', '--data', demo);
  expect(refused).toMatchObject({ code: 3, stdout: '' });
  expect(refused.stderr).toContain('in use by another Tributary process');
  await server.stop();
});

describe('A command that reads', () => {
  it('A command that reads is listed in this test, unless it writes', () => {
    const names = namesIn(program());
    for (const name of names) expect(WRITES.test(name) !== name in READS, name).toBe(true);
    for (const name of Object.keys(READS)) expect(names).toContain(name);
  });

  it('A command that reads leaves each byte of the log unchanged, and the first write issues one token', async () => {
    const data = restore(...BACKUP);
    const [before, tokens] = [digestOf(data), tokensIn(data)];
    for (const [name, asked] of Object.entries(READS)) {
      const { code, stderr } = await runHere(...name.split(' '), ...asked, '--data', data);
      const expected = ENDS[name] ?? 0;
      expect(code, `${name}: ${stderr}`).toBe(expected);
      expect(digestOf(data), name).toBe(before);
    }
    expect(await run('status', '--check', '--data', data)).toMatchObject({ code: 0 });
    expect(digestOf(data), 'status --check').toBe(before);
    expect(existsSync(join(data, 'desk.token'))).toBe(false);
    for (const sku of ['L-1', 'L-2']) {
      const file = feed(data, 'one.csv', `${HEADER}${sku},One,1.00 GBP,in_stock\n`);
      await json('catalog', 'import', file, '--data', data);
      expect(tokensIn(data)).toBe(tokens + 1);
    }
  });
});

describe('A data directory without its root.key', () => {
  it('A data directory without its root.key is refused before anything is written, and works once root.key is restored', async () => {
    const data = restore(...BACKUP.filter((name) => name !== 'root.key'));
    const files = (): string[] => readdirSync(data).toSorted();
    const before = files();
    const file = feed(directory.fresh(), 'one.csv', `${HEADER}L-1,One,1.00 GBP,in_stock\n`);
    for (const asked of [
      ['serve', '--port', '0'],
      ['events', 'tail'],
      ['catalog', 'import', file],
    ]) {
      const { code, stdout, stderr } = await run(...asked, '--data', data);
      expect({ code, stdout }, asked[0]).toEqual({ code: 3, stdout: '' });
      expect(stderr).toContain('Restore root.key');
      expect(files()).toEqual(before);
    }
    const checked = await ended(
      start(['status', '--check', '--data', data], ['APPROVAL_ABOVE=5 XXQ']),
    );
    expect(checked.code).toBe(4);
    expect(checked.stdout).toMatch(/✗ +settings +APPROVAL_ABOVE: 5 XXQ/);
    expect(checked.stdout).toMatch(/✗ +root key .* Restore root.key/);
    // Without its log the keys are still protected.
    rmSync(join(data, 'log.db'));
    expect((await run('serve', '--port', '0', '--data', data)).stderr).toContain(
      'Restore root.key',
    );
    const whole = restore(...BACKUP);
    expect((await run('events', 'tail', '--data', whole)).code).toBe(0);
  });
});

it('A data directory with a log.db of another program is refused, even without a root.key', async () => {
  const data = directory.fresh();
  const db = new DatabaseSync(join(data, 'log.db'));
  db.exec('CREATE TABLE notes (note TEXT)');
  db.close();
  for (const asked of [
    ['serve', '--port', '0'],
    ['serve', '--port', '0', '--demo'],
    ['events', 'tail'],
  ]) {
    const { code, stderr } = await run(...asked, '--data', data);
    expect({ code, left: readdirSync(data) }, asked.join()).toEqual({ code: 3, left: ['log.db'] });
    expect(stderr).toContain('log.db is not a Tributary event log.');
  }
});

describe('A data directory without its keys.db', () => {
  it('A data directory without its keys.db is refused until an empty keys.mark accepts the loss', async () => {
    const data = restore(...BACKUP.filter((name) => name !== 'keys.db'));
    for (const asked of [
      ['serve', '--port', '0'],
      ['events', 'tail'],
    ]) {
      const { code, stdout, stderr } = await run(...asked, '--data', data);
      expect({ code, stdout }, asked[0]).toEqual({ code: 3, stdout: '' });
      expect(stderr).toMatch(/keys\.db is gone.*Restore a keys\.db.*An empty file/s);
      expect(existsSync(join(data, 'keys.db'))).toBe(false);
    }
    writeFileSync(join(data, 'keys.mark'), '');
    expect((await run('events', 'tail', '--data', data)).code).toBe(0);
  });

  it('A data directory without its keys.db is a fault for status --check, and log verify counts the subjects whose keys are lost', async () => {
    const data = restore(...BACKUP.filter((name) => name !== 'keys.db'));
    const gone = await run('status', '--check', '--data', data);
    expect(gone).toMatchObject({ code: 4, stdout: expect.stringContaining('keys.db is gone') });
    const verify = () => json('log', 'verify', '--data', data);
    expect(await verify()).toMatchObject({ intact: true, unreadable_subjects: null });
    writeFileSync(join(data, 'keys.db'), '');
    const { unreadable_subjects } = await verify();
    expect(unreadable_subjects).toBeGreaterThan(10);
    const lost = await run('status', '--check', '--data', data);
    const warning = `personal data of ${String(unreadable_subjects)} subjects cannot be read`;
    expect(lost).toMatchObject({ code: 4, stdout: expect.stringContaining(warning) });
    expect(lost.stdout).toMatch(/✗ +root key .*lost its keyring.*Restore keys\.db/);
    const whole = restore(...BACKUP);
    expect(await json('log', 'verify', '--data', whole)).toMatchObject({ unreadable_subjects: 0 });
    const text = await run('log', 'verify', '--data', whole);
    expect(text.stdout).toMatch(/: no accidental damage found\. Deliberate changes/);
  });
});

describe('A damaged log', () => {
  it('A damaged log is reported by log verify, and by status --check where the service would not start', async () => {
    const data = restore(...BACKUP);
    const db = new DatabaseSync(join(data, 'log.db'));
    db.exec(`UPDATE events SET data = replace(data, '"', ' "') WHERE position = 700`);
    db.close();
    const verify = await run('log', 'verify', '--json', '--data', data);
    expect(verify.code).toBe(4);
    expect(verify.stderr).toMatch(
      /position 700 .* from a backup\. No accidental damage was found in 699 events before that\./,
    );
    expect(lastLine(verify.stdout)).toMatchObject({ intact: false, events: 699 });
    const checked = await run('status', '--check', '--data', data);
    expect(checked.code).toBe(4);
    expect(checked.stdout).toMatch(/✗ +log +the record at position 700 /);
  });
});

describe('A data directory', () => {
  it('A data directory that cannot be read is not treated as an empty one', async () => {
    const loop = join(directory.fresh(), 'loop');
    symlinkSync(loop, loop);
    for (const asked of [
      ['events', 'tail'],
      ['log', 'verify'],
    ]) {
      const { code, stderr } = await run(...asked, '--data', loop);
      expect(code).toBe(3);
      expect(stderr).toMatch(/ELOOP: .*loop.* move it away/);
    }
    expect((await run('status', '--check', '--data', loop)).stdout).toMatch(/✗ +log +ELOOP/);
  });

  it.skipIf(!isMounted)(
    'A data directory that is read-only is not reported as damaged, and can be copied',
    async () => {
      for (const name of BACKUP) cpSync(join(demo, name), join(medium, name));
      spawnSync('mount', ['-o', 'remount,ro', medium]);
      for (const asked of [
        ['events', 'tail'],
        ['log', 'verify'],
        ['serve', '--port', '0'],
      ]) {
        const { code, stderr } = await run(...asked, '--data', medium);
        expect(code, asked.join()).toBe(3);
        expect(stderr).toContain('is read-only here (EROFS');
      }
      const { stdout } = await run('status', '--check', '--data', medium);
      expect(stdout).toMatch(/✗ +data directory +EROFS.*✓ +log .*✓ +keys /s);
      const copy = join(directory.fresh(), 'copy');
      cpSync(join(medium, 'root.key'), join(copy, 'root.key'));
      const copied = await json('log', 'copy', `sqlite:${medium}`, `sqlite:${copy}`);
      expect(copied).toMatchObject({ verified: true, behind: false });
      expect(copied['keys']).toBeGreaterThan(10);
    },
  );

  it('A data directory that does not exist is not created by log verify', async () => {
    const none = join(directory.fresh(), 'none');
    const { code, stderr } = await run('log', 'verify', '--data', none);
    expect({ code, there: existsSync(none) }).toEqual({ code: 3, there: false });
    expect(stderr).toContain('holds no Tributary data');
    expect(stderr).toContain(`./tributary serve --data ${none}`);
  });

  it('The data directory of a demo is removed by demo-reset, with no other file or directory', async () => {
    const real = restore(...BACKUP);
    const refused = await run('demo-reset', '--data', real);
    expect(refused.code).toBe(1);
    expect(readdirSync(real)).toHaveLength(BACKUP.length);
    const done = restore(...BACKUP, 'demo.json');
    expect(await json('demo-reset', '--data', done)).toMatchObject({ removed: true });
    expect(existsSync(done)).toBe(false);
    const mixed = restore(...BACKUP, 'demo.json');
    writeFileSync(join(mixed, '.profile'), '');
    expect(await json('demo-reset', '--data', mixed)).toMatchObject({ removed: true });
    expect(readdirSync(mixed)).toEqual(['.profile']);
    expect(await json('demo-reset', '--data', done)).toMatchObject({ removed: false });
  });
});
