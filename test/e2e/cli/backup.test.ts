/** Backups of a service that writes meanwhile, and what is restored from them. */
import { spawn } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { env } from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sqliteLogSource } from '#src/stores/sqlite/log/event-log.ts';
import { COMMAND, ended, json, run, until } from '../../support/clients/cli.ts';
import {
  agentKey,
  atDesk,
  type ChildService,
  endChildren,
  serveChild,
} from '../../support/processes/child-service.ts';
import { directories } from '../../support/processes/directories.ts';

const directory = directories('tributary-backup-');
let data: string;
let service: ChildService;
let key: string;
/** The leads that the service acknowledged, in the order of their positions. */
const acknowledged: string[] = [];

const MAILBOX = 'ada@shop.example';

const api = async (path: string, body?: object, id = ''): Promise<Record<string, unknown>> => {
  const answer = await fetch(`${service.url}/api/affiliate/v1${path}`, {
    method: body ? 'POST' : 'GET',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': `k-${id}`,
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return (await answer.json()) as Record<string, unknown>;
};

const submitLead = async (number: number): Promise<string> => {
  const company = { name: `Shop ${number}`, country: 'GB' };
  const contact = { name: 'Ada', email: `n${number}.${MAILBOX}` };
  const consent = { basis: 'consent', obtained_at: '2026-01-20T09:00:00Z' };
  const lead = await api(
    '/leads',
    { external_id: `L${number}`, company, contact, consent },
    `${number}`,
  );
  if (lead['state'] !== 'submitted') throw new Error(JSON.stringify(lead));
  acknowledged.push(String(lead['id']));
  return String(lead['id']);
};

/** Writes leads until it is stopped. */
const writing = () => {
  let isStopped = false;
  const run = (async () => {
    for (let number = 1_000; !isStopped; number += 1) await submitLead(number);
  })();
  return {
    async stop() {
      isStopped = true;
      await run;
    },
  };
};

beforeAll(async () => {
  data = directory.fresh();
  service = await serveChild(data);
  key = await agentKey(service);
  for (let number = 0; number < 20; number += 1) await submitLead(number);
});
afterAll(async () => {
  await endChildren();
  directory.removeAll();
});

const backUp = async (...flags: string[]): Promise<string> => {
  const target = join(directory.fresh(), 'backup');
  await json('backup', target, '--data', data, ...flags);
  return target;
};
const rootKey = (): string[] => ['--root-key', join(data, 'root.key')];
const erasures = (): string[] => ['--erasures', join(data, 'erasures.jsonl')];
const unused = (): string => join(directory.fresh(), 'new');

/** Restores a backup, and starts a service there. */
const restored = async (backup: string): Promise<ChildService> => {
  const target = unused();
  await json('restore', backup, '--data', target, ...rootKey(), ...erasures());
  return serveChild(target);
};

/** Reads the leads of the log in a directory, up to a position. */
const leadsIn = async (folder: string, position: number): Promise<string[]> => {
  const log = sqliteLogSource(folder);
  const events = await log.readAll({ after: 0, limit: 100_000, types: ['LeadSubmitted'] });
  await log.close();
  return events.flatMap((event) =>
    event.position <= position ? [(event.data as { lead_id: string }).lead_id] : [],
  );
};

describe('A backup of a service that writes', () => {
  it('A backup that is restored has every lead that was acknowledged up to its position, and no later one', async () => {
    const written = writing();
    await until(async () => acknowledged.length > 60);
    const before = acknowledged.length;
    const backup = await backUp('--with-root-key');
    await written.stop();
    const { position } = JSON.parse(readFileSync(join(backup, 'manifest.json'), 'utf8')) as {
      position: number;
    };
    const target = unused();
    const report = await json('restore', backup, '--data', target, ...erasures());
    expect(report).toMatchObject({ position, erased: 0, outreach_halted: true });
    const found = await leadsIn(target, Infinity);
    expect(found).toEqual(await leadsIn(data, position));
    expect(found).toEqual(acknowledged.slice(0, found.length));
    expect(found.length).toBeGreaterThanOrEqual(before);
    expect(await json('log', 'verify', '--data', target)).toMatchObject({
      intact: true,
      unreadable_subjects: 0,
    });
  });

  it('Who was erased after a backup stays erased in what is restored from it, and the others can be read', async () => {
    const [gone = ''] = acknowledged;
    const backup = await backUp();
    expect(existsSync(join(backup, 'root.key'))).toBe(false);
    await atDesk(service, `/subjects/${gone}/erase`, { reason: 'Asked for' });
    const other = await restored(backup);
    const read = async (number: number): Promise<string> => {
      const url = `${other.url}/api/affiliate/v1/leads?external_id=L${number}`;
      return (await fetch(url, { headers: { authorization: `Bearer ${key}` } })).text();
    };
    expect(await read(0)).not.toContain(MAILBOX);
    expect(await read(0)).toContain('erased');
    expect(await read(1)).toContain(MAILBOX);
    await other.end('SIGTERM');
  });

  it('A series of backups keeps the newest ones', async () => {
    const series = directory.fresh();
    // As if it was from an earlier day.
    const older = join(series, '2020-01-01T000000Z');
    cpSync(await backUp(), older, { recursive: true });
    const args = ['backup', series, '--data', data, '--every', '1m', '--keep', '1'];
    const child = spawn(COMMAND, args);
    const end = ended(child);
    await until(async () => !existsSync(older));
    child.kill('SIGTERM');
    expect(await end).toMatchObject({ code: 0 });
    expect(readdirSync(series)).toHaveLength(1);
  });
});

describe('What cannot be backed up or restored', () => {
  let backup: string;
  beforeAll(async () => {
    backup = await backUp();
  });
  const restoreOf = (from: string, ...flags: string[]) => {
    const target = unused();
    return { target, end: run('restore', from, '--data', target, ...flags) };
  };
  const copyOf = (): string => {
    const copy = join(directory.fresh(), 'copy');
    cpSync(backup, copy, { recursive: true });
    return copy;
  };

  it.each<[damage: string, change: (copy: string) => void, status: number, says: RegExp]>([
    [
      'that was cut off',
      (copy) => truncateSync(join(copy, 'log.db'), 8_192),
      4,
      /log\.db is not what was backed up/,
    ],
    [
      'with one changed byte',
      (copy) => {
        const bytes = readFileSync(join(copy, 'keys.db'));
        bytes[5_000] = (bytes[5_000] ?? 0) ^ 1;
        writeFileSync(join(copy, 'keys.db'), bytes);
      },
      4,
      /keys\.db is not what was backed up/,
    ],
    ['without a file', (copy) => rmSync(join(copy, 'keys.db')), 4, /keys\.db is not what/],
    [
      'that never became whole',
      (copy) => rmSync(join(copy, 'manifest.json')),
      1,
      /no manifest\.json/,
    ],
    [
      'with a damaged manifest',
      (copy) => appendFileSync(join(copy, 'manifest.json'), '}'),
      1,
      /manifest\.json cannot be read/,
    ],
  ])('A backup %s is not restored, and nothing is left', async (_damage, change, status, says) => {
    const copy = copyOf();
    change(copy);
    const { target, end } = restoreOf(copy, ...rootKey(), ...erasures());
    const { code, stderr } = await end;
    expect(stderr).toMatch(says);
    expect(code).toBe(status);
    expect(readdirSync(dirname(target))).toEqual([]);
  });

  it('A restore without the list of erasures is asked for it, and done when it is lost', async () => {
    const asked = await restoreOf(backup, ...rootKey()).end;
    expect(asked.code).toBe(2);
    expect(asked.stderr).toContain('--without-erasures');
    const { end } = restoreOf(backup, ...rootKey(), '--without-erasures');
    const { code, stdout } = await end;
    expect(code).toBe(0);
    expect(stdout).toContain('must be erased once more');
  });

  it('A list of erasures whose last line was cut off is read without that line, and one with another bad line is refused', async () => {
    const list = join(directory.fresh(), 'erasures.jsonl');
    mkdirSync(dirname(list), { recursive: true });
    const [first = ''] = readFileSync(join(data, 'erasures.jsonl'), 'utf8').split('\n');
    const { log } = JSON.parse(first) as { log: string };
    const erased = { log, at: '2026-11-29T10:00:00Z', subject: 'con_unknown' };
    writeFileSync(list, `${first}\n${JSON.stringify(erased)}\n{"subj`);
    const { target, end } = restoreOf(backup, ...rootKey(), '--erasures', list, '--json');
    const cut = await end;
    expect(cut.stderr).toBe('');
    expect(JSON.parse(cut.stdout)).toMatchObject({ erased: 0 });
    const again = readFileSync(join(target, 'erasures.jsonl'), 'utf8').trim().split('\n');
    const { at, ...written } = JSON.parse(again.at(-1) ?? '') as Record<string, string>;
    expect(written).toEqual({ log, subject: 'con_unknown' });
    expect(at).toMatch(/^\d{4}-.*Z$/);
    for (const [text, says] of [
      [`{"subj\n${JSON.stringify(erased)}\n`, 'line 1: not a list of erasures'],
      ['{"subject":"con_unknown"}\n', 'line 1: not a list of erasures'],
      ['', 'is empty'],
    ] as const) {
      writeFileSync(list, text);
      const bad = await restoreOf(backup, ...rootKey(), '--erasures', list).end;
      expect(bad.code).toBe(1);
      expect(bad.stderr).toContain(says);
    }
  });

  it('A list of erasures of another log is refused with a way on, also without an erasure', async () => {
    const other = directory.fresh();
    await serveChild(other);
    const list = join(other, 'erasures.jsonl');
    for (const more of ['', '{"log":"other","at":"2026-11-29T10:00:00Z","subject":"led_1"}\n']) {
      appendFileSync(list, more);
      const { target, end } = restoreOf(backup, ...rootKey(), '--erasures', list);
      const { code, stderr } = await end;
      expect(stderr).toMatch(/line 1: .*and the backup is of the log .*--without-erasures/);
      expect(code).toBe(1);
      expect(readdirSync(dirname(target))).toEqual([]);
    }
  });

  it('A restore without the root key, or with another one, changes nothing', async () => {
    const without = restoreOf(backup, ...erasures());
    expect((await without.end).stderr).toContain('--root-key');
    const other = join(directory.fresh(), 'root.key');
    mkdirSync(dirname(other), { recursive: true });
    writeFileSync(other, `${Buffer.alloc(32, 9).toString('base64')}\n`);
    const wrong = restoreOf(backup, ...erasures(), '--root-key', other);
    const { code, stderr } = await wrong.end;
    expect(code).toBe(3);
    expect(stderr).toContain('is not the one that this log needs');
    for (const { target } of [without, wrong]) expect(readdirSync(dirname(target))).toEqual([]);
  });

  it('Neither a backup nor a restore writes into a directory that has something', async () => {
    const copy = copyOf();
    const before = readdirSync(copy);
    for (const args of [
      ['backup', copy, '--data', data],
      ['restore', backup, '--data', copy, ...rootKey(), ...erasures()],
      ['restore', backup, '--data', data, ...rootKey(), ...erasures()],
    ]) {
      const { code, stderr } = await run(...args);
      expect(stderr).toContain('is not empty');
      expect(code).toBe(1);
    }
    expect(readdirSync(copy)).toEqual(before);
  });

  it('A backup onto a disk without space leaves nothing, and says so', async () => {
    const target = join(directory.fresh(), 'backup');
    mkdirSync(dirname(target), { recursive: true });
    // No file of more than 16 KiB can be written.
    const script = `ulimit -f 16; exec "$0" backup "${target}" --data "${data}"`;
    const child = spawn('sh', ['-c', script, COMMAND], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const { code, stderr } = await ended(child);
    expect(stderr).toContain('no backup was made');
    expect(code).toBe(1);
    expect(readdirSync(dirname(target))).toEqual([]);
  });

  it('A log on a server is not backed up here, and the command says what is', async () => {
    const child = spawn(COMMAND, ['backup', unused(), '--data', data], {
      env: {
        ...env,
        EVENT_LOG_URL: 'esdb://localhost:1',
        ROOT_KEY: Buffer.alloc(32).toString('base64'),
      },
    });
    const { code, stderr } = await ended(child);
    expect(code).toBe(2);
    expect(stderr).toContain('back up the volume of that server');
  });
});
