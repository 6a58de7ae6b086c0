/** Who only looks changes nothing, and finds nothing where nobody knows what there is. */
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
import { feed, HEADER, json, lastLine, run, serve } from '../../support/clients/cli.ts';
import { directories } from '../../support/processes/directories.ts';

const directory = directories('tributary-looking-');
const medium = directory.fresh();
const isMounted = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', medium]).status === 0;
afterAll(() => {
  if (isMounted) spawnSync('umount', [medium]);
  directory.removeAll();
});

/** What a backup must have. */
const KEPT = ['log.db', 'streams.db', 'log.mark', 'root.key', 'keys.db'];
const LOOKING_MS = 120_000;

/** Commands that look, with what each needs to be told. */
const LOOKS: Record<string, string[]> = {
  doctor: [],
  'access list': ['--owner', 'northwind'],
  'key list': ['--owner', 'northwind'],
  'approvals list': [],
  'approvals show': ['out_000000000000000000000000'],
  'outreach show': ['--owner', 'northwind'],
  'events tail': ['--limit', '3'],
  'events show': ['northwind'],
  'projections status': [],
  'projections verify': ['codes'],
  'log verify': [],
  status: [],
};
/** They write, or are tried elsewhere. */
const ACTS =
  /^(serve|demo-reset|erase|help.*|catalog .*|access (?!list).*|key (?!list).*|token .*|lead .*|handoff .*|link .*|approvals (?!list|show).*|outreach (?!show).*|projections rebuild|log copy)$/;

const namesIn = (command: Command, before = ''): string[] =>
  command.commands.flatMap((each) => {
    const name = `${before}${each.name()}`;
    return each.commands.length === 0 ? [name] : namesIn(each, `${name} `);
  });

let demo: string;
/** The files of a service that was stopped, somewhere else. */
const restored = (...files: string[]): string => {
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

describe('a command that looks', () => {
  it('is every command that does not act', () => {
    const names = namesIn(program());
    for (const name of names) expect(ACTS.test(name) !== name in LOOKS, name).toBe(true);
    for (const name of Object.keys(LOOKS)) expect(names).toContain(name);
  });

  it(
    'leaves each byte of the log as it was, and the first write issues one token',
    async () => {
      const data = restored(...KEPT);
      const [before, tokens] = [digestOf(data), tokensIn(data)];
      for (const [name, asked] of Object.entries(LOOKS)) {
        const { code, stderr } = await run(...name.split(' '), ...asked, '--data', data);
        const expected = { 'approvals show': 1, status: 3 }[name] ?? 0;
        expect(code, `${name}: ${stderr}`).toBe(expected);
        expect(digestOf(data), name).toBe(before);
      }
      expect(existsSync(join(data, 'desk.token'))).toBe(false);
      for (const sku of ['L-1', 'L-2']) {
        const file = feed(data, 'one.csv', `${HEADER}${sku},One,1.00 GBP,in_stock\n`);
        await json('catalog', 'import', file, '--data', data);
        expect(tokensIn(data)).toBe(tokens + 1);
      }
    },
    LOOKING_MS,
  );
});

describe('a data directory without its root.key', () => {
  it('is refused before anything is written, and works again with it', async () => {
    const data = restored(...KEPT.filter((name) => name !== 'root.key'));
    const left = (): string[] => readdirSync(data).toSorted();
    const before = left();
    const file = feed(directory.fresh(), 'one.csv', `${HEADER}L-1,One,1.00 GBP,in_stock\n`);
    for (const asked of [
      ['serve', '--port', '0'],
      ['events', 'tail'],
      ['catalog', 'import', file],
    ]) {
      const { code, stdout, stderr } = await run(...asked, '--data', data);
      expect({ code, stdout }, asked[0]).toEqual({ code: 3, stdout: '' });
      expect(stderr).toContain('Restore root.key');
      expect(left()).toEqual(before);
    }
    // The keys alone are as much at stake as the log alone.
    rmSync(join(data, 'log.db'));
    expect((await run('serve', '--port', '0', '--data', data)).stderr).toContain(
      'Restore root.key',
    );
    const whole = restored(...KEPT);
    expect((await run('events', 'tail', '--data', whole)).code).toBe(0);
  });
});

it("a data directory with somebody else's log.db is told as that, also without a root.key", async () => {
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

describe('a data directory without its keys.db', () => {
  it('is refused, until an empty one says that the loss is accepted', async () => {
    const data = restored(...KEPT.filter((name) => name !== 'keys.db'));
    for (const asked of [
      ['serve', '--port', '0'],
      ['events', 'tail'],
    ]) {
      const { code, stdout, stderr } = await run(...asked, '--data', data);
      expect({ code, stdout }, asked[0]).toEqual({ code: 3, stdout: '' });
      expect(stderr).toMatch(/keys\.db is gone.*Restore keys\.db.*An empty file/s);
      expect(existsSync(join(data, 'keys.db'))).toBe(false);
    }
    writeFileSync(join(data, 'keys.db'), '');
    expect((await run('events', 'tail', '--data', data)).code).toBe(0);
  });

  it('is a fault to doctor, and keys that were lost are told by it and by log verify', async () => {
    const data = restored(...KEPT.filter((name) => name !== 'keys.db'));
    const gone = await run('doctor', '--data', data);
    expect(gone).toMatchObject({ code: 4, stdout: expect.stringContaining('keys.db is gone') });
    const verify = () => json('log', 'verify', '--data', data);
    expect(await verify()).toMatchObject({ intact: true, unreadable_subjects: null });
    writeFileSync(join(data, 'keys.db'), '');
    const { unreadable_subjects } = await verify();
    expect(unreadable_subjects).toBeGreaterThan(10);
    const lost = await run('doctor', '--data', data);
    const told = `personal data of ${String(unreadable_subjects)} subjects cannot be read`;
    expect(lost).toMatchObject({ code: 0, stdout: expect.stringContaining(told) });
    expect(await json('log', 'verify', '--data', restored(...KEPT))).toMatchObject({
      unreadable_subjects: 0,
    });
  });
});

describe('a log that is damaged', () => {
  it('is told by log verify, and by doctor where a start would not take it', async () => {
    const data = restored(...KEPT);
    const db = new DatabaseSync(join(data, 'log.db'));
    db.exec(`UPDATE events SET data = replace(data, '"', ' "') WHERE position = 700`);
    db.close();
    const verify = await run('log', 'verify', '--json', '--data', data);
    expect(verify.code).toBe(4);
    expect(verify.stderr).toMatch(/position 700 .* from a backup\. 699 events before that are/);
    expect(lastLine(verify.stdout)).toMatchObject({ intact: false, events: 699 });
    const doctor = await run('doctor', '--data', data);
    expect(doctor.code).toBe(4);
    expect(doctor.stdout).toMatch(/✗ +log +the record at position 700 /);
  });
});

describe('a data directory', () => {
  it('that cannot be read is not taken for an empty one', async () => {
    const loop = join(directory.fresh(), 'loop');
    symlinkSync(loop, loop);
    for (const asked of [
      ['events', 'tail'],
      ['log', 'verify'],
    ]) {
      const { code, stderr } = await run(...asked, '--data', loop);
      expect(code).toBe(3);
      expect(stderr).toMatch(/loop cannot be read: ELOOP/);
    }
    expect((await run('doctor', '--data', loop)).stdout).toMatch(/✗ +log +ELOOP/);
  });

  it.skipIf(!isMounted)('that is read-only is no damaged one, and can be copied', async () => {
    for (const name of KEPT) cpSync(join(demo, name), join(medium, name));
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
    const { stdout } = await run('doctor', '--data', medium);
    expect(stdout).toMatch(/✗ +data directory +EROFS.*✓ +log .*✓ +keys /s);
    const copy = join(directory.fresh(), 'copy');
    cpSync(join(medium, 'root.key'), join(copy, 'root.key'));
    const copied = await json('log', 'copy', `sqlite:${medium}`, `sqlite:${copy}`);
    expect(copied).toMatchObject({ verified: true, behind: false });
    expect(copied['keys']).toBeGreaterThan(10);
  });

  it('that holds nothing is not made by a scrub', async () => {
    const none = join(directory.fresh(), 'none');
    const { code, stderr } = await run('log', 'verify', '--data', none);
    expect({ code, there: existsSync(none) }).toEqual({ code: 3, there: false });
    expect(stderr).toContain('holds no Tributary data');
  });

  it('of a demo goes when nobody works on it; any other stays', async () => {
    const real = restored(...KEPT);
    const refused = await run('demo-reset', '--data', real);
    expect(refused.code).toBe(1);
    expect(readdirSync(real)).toHaveLength(KEPT.length);
    const done = restored(...KEPT, 'demo.json');
    expect(await json('demo-reset', '--data', done)).toMatchObject({ removed: true });
    expect(existsSync(done)).toBe(false);
    const mixed = restored(...KEPT, 'demo.json');
    writeFileSync(join(mixed, '.profile'), '');
    expect(await json('demo-reset', '--data', mixed)).toMatchObject({ removed: true });
    expect(readdirSync(mixed)).toEqual(['.profile']);
    expect(await json('demo-reset', '--data', done)).toMatchObject({ removed: false });
  });
});
