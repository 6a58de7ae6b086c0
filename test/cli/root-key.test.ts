/** `root-key rotate`: on a data directory and on a server, and after it was killed at each step. */
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { readConfig } from '#src/config.ts';
import { sqliteKeyring } from '#src/stores/sqlite/keys/key-vault.ts';
import { rotateRoot } from '#src/system/keyring.ts';
import { runHere } from '../support/clients/cli-here.ts';
import { endLogServers, logServer } from '../support/eventstoredb/log-server.ts';
import { directories } from '../support/processes/directories.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { openService } from '../support/world/open-service.ts';
import { people } from '../support/world/people.ts';
import { reviews } from '../support/world/reviews.ts';

const MAILBOX = 'ada@shop.example';
const directory = directories('tributary-root-key-');
afterAll(() => directory.removeAll());

/** Whether a service on the directory accepts the key, and opens the contact. */
const reads = async (data: string, key: string, env: Record<string, string> = {}) => {
  const config = readConfig({ DATA_DIR: data, PORT: '0', PUBLIC_URL: 'https://t.example', ...env });
  const service = await openService(config);
  try {
    const { position } = await service.deps.log.head();
    await service.deps.following.passed(position, 60_000);
    const answer = await service.server.inject({
      url: '/api/affiliate/v1/leads',
      headers: { authorization: `Bearer ${key}` },
    });
    return answer.body.includes(MAILBOX);
  } finally {
    await service.close();
  }
};

describe('The root key of a data directory', () => {
  let app: TestApp;
  let [key, data, path] = ['', '', ''];
  beforeAll(async () => {
    app = await testApp();
    ({ key } = await app.agent('acme'));
    await people(app).lead(key, MAILBOX);
    await app.publish([feedProduct('MUG-1'), feedProduct('MUG-2')]);
    ({ path } = await reviews({ app: () => app, key: () => key }).handoff());
    expect((await app.send({ url: path })).status).toBe(200);
    await app.service.close();
  });
  afterAll(() => app.close());
  beforeEach(() => {
    data = directory.fresh();
    cpSync(app.directory, data, { recursive: true });
  });
  const root = (name = 'root.key'): string => readFileSync(join(data, name), 'utf8').trim();
  const rotate = (...words: string[]) => runHere('root-key', 'rotate', '--data', data, ...words);

  it('A rotation replaces root.key, and keys and personal data work as before', async () => {
    const before = root();
    const { code, stdout, stderr } = await rotate();
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/root\.key is the new root key.*Keep the former root key/s);
    expect(root()).not.toBe(before);
    expect(existsSync(join(data, 'root.key.new'))).toBe(false);
    expect(await reads(data, key)).toBe(true);
    const kept = readFileSync(join(data, 'keys.db')).toString('latin1');
    expect(kept).not.toContain(before);
    writeFileSync(join(data, 'root.key'), before);
    await expect(reads(data, key)).rejects.toThrow(/root key was rotated/);
    const checked = await runHere('status', '--check', '--data', data);
    expect(checked.stdout).toMatch(/root key was rotated/);
  });

  it('A rotation that was killed before it wrote the keyring changes nothing, and is repeated', async () => {
    const before = root();
    const staged = Buffer.alloc(32, 8).toString('base64');
    writeFileSync(join(data, 'root.key.new'), staged);
    expect(await reads(data, key)).toBe(true);
    expect(root()).toBe(before);
    expect((await rotate()).code).toBe(0);
    expect(root()).toBe(staged);
    expect(await reads(data, key)).toBe(true);
  });

  it('A rotation that was killed before it replaced root.key is completed by a start, or by the same command', async () => {
    for (const complete of [() => reads(data, key), rotate]) {
      const before = root();
      await rotate();
      const after = root();
      writeFileSync(join(data, 'root.key'), before);
      writeFileSync(join(data, 'root.key.new'), after);
      await complete();
      expect([root(), existsSync(join(data, 'root.key.new'))]).toEqual([after, false]);
      expect(await reads(data, key)).toBe(true);
    }
  });

  it('A rotation while the service runs leaves the service as it is', async () => {
    const config = readConfig({ DATA_DIR: data, PORT: '0', PUBLIC_URL: 'https://t.example' });
    const service = await openService(config);
    const { code, stderr } = await rotate();
    expect(code, stderr).toBe(0);
    const text = await service.deps.vault.seal('led_new', 'Ada');
    expect(await service.deps.vault.unseal([text ?? ''])).toEqual(['Ada']);
    await service.close();
    expect(await reads(data, key)).toBe(true);
  });

  it('A rotation with --compromised says what stops, and then replaces every secret and every wrapping of a key', async () => {
    const wrappedIn = (): Buffer[] => {
      const db = new DatabaseSync(join(data, 'keys.db'), { readOnly: true });
      const rows = db.prepare('SELECT wrapped FROM keys WHERE wrapped IS NOT NULL').all();
      db.close();
      return rows.map(({ wrapped }) => Buffer.from(wrapped as Uint8Array));
    };
    const asked = await rotate('--compromised');
    expect(asked).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/API keys: issue new ones.*--yes/s),
    });
    const [before, root] = [wrappedIn(), readFileSync(join(data, 'root.key'), 'utf8')];
    const done = await rotate('--compromised', '--yes');
    expect(done.code, done.stderr).toBe(0);
    expect(readFileSync(join(data, 'root.key'), 'utf8')).not.toBe(root);
    const file = ['keys.db', 'keys.db-wal']
      .filter((name) => existsSync(join(data, name)))
      .map((name) => readFileSync(join(data, name)));
    for (const wrapped of before)
      for (const bytes of file) expect(bytes.includes(wrapped)).toBe(false);
    expect(wrappedIn().map((wrapped) => wrapped[0])).toEqual(before.map(() => 2));
    expect(await reads(data, key)).toBe(false);
    const config = readConfig({ DATA_DIR: data, PORT: '0', PUBLIC_URL: 'https://t.example' });
    const service = await openService(config);
    const { log, vault } = service.deps;
    const [lead] = await log.readAll({ after: 0, limit: 1, types: ['LeadSubmitted'] });
    const { contact } = (lead?.data ?? {}) as { contact: string };
    expect(await vault.unseal([contact])).toEqual([expect.stringContaining(MAILBOX)]);
    const desk = readFileSync(join(data, 'desk.token'), 'utf8').trim();
    const answer = await service.server.inject({
      url: '/api/desk/v1/agents?owner_id=acme',
      headers: { authorization: `Bearer ${desk}` },
    });
    expect(answer.statusCode).toBe(200);
    expect((await service.server.inject({ url: path })).statusCode).toBe(404);
    await service.close();
  });

  it('A rotation with --compromised that was killed before the keys were wrapped again is completed by a start', async () => {
    const root = Buffer.from(readFileSync(join(data, 'root.key'), 'utf8'), 'base64');
    const next = Buffer.alloc(32, 8);
    writeFileSync(join(data, 'root.key.new'), next.toString('base64'));
    const store = sqliteKeyring(join(data, 'keys.db'), true);
    await rotateRoot(store, { root, next, isCompromised: true });
    await reads(data, key);
    const db = new DatabaseSync(join(data, 'keys.db'), { readOnly: true });
    const rows = db.prepare('SELECT hex(substr(wrapped, 1, 1)) AS generation FROM keys').all();
    db.close();
    expect(new Set(rows.map(({ generation }) => generation))).toEqual(new Set(['02']));
    expect(readFileSync(join(data, 'root.key'), 'utf8').trim()).toBe(next.toString('base64'));
  });

  it('A rotation to a file that has no root key, or to the present one, is refused', async () => {
    const file = join(data, 'other');
    writeFileSync(file, 'short');
    expect(await rotate('--new', file)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('does not contain 32 bytes in base64'),
    });
    expect(await reads(data, key)).toBe(true);
  });

  it('A data directory that lost its keyring, or has a damaged one, is refused with a way on', async () => {
    for (const [keyring, text] of [
      [
        "substr(keyring, 1, 300) || 'A' || substr(keyring, 302)",
        /keyring.* is damaged\. Restore a backup/,
      ],
      ['NULL', /lost its keyring.*Restore/],
    ] as const) {
      const db = new DatabaseSync(join(data, 'keys.db'));
      db.exec(`UPDATE about SET keyring = ${keyring}`);
      db.close();
      await expect(reads(data, key)).rejects.toThrow(text);
    }
    expect(await rotate()).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('lost its keyring'),
    });
  });
});

describe('The root key of a log on a server', () => {
  afterAll(endLogServers);

  it('A rotation writes the new root key to a file, running processes continue, and a start with the former one is refused', async () => {
    const { url } = await logServer();
    const ROOT_KEY = Buffer.alloc(32, 9).toString('base64');
    const app = await testApp({ EVENT_LOG_URL: url, ROOT_KEY });
    const { key } = await app.agent('acme');
    await people(app).lead(key, MAILBOX);
    const data = directory.fresh();
    const file = join(data, 'new.key');
    vi.stubEnv('EVENT_LOG_URL', url);
    vi.stubEnv('ROOT_KEY', ROOT_KEY);
    const rotate = (...words: string[]) => runHere('root-key', 'rotate', '--data', data, ...words);
    expect(await rotate()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--new FILE'),
    });
    // The second run is the repetition of one that was killed after its write.
    for (let run = 0; run < 2; run += 1) {
      const { code, stdout, stderr } = await rotate('--new', file);
      expect(code, stderr).toBe(0);
      expect(stdout).toContain(`Set ROOT_KEY to the content of ${file}`);
    }
    vi.unstubAllEnvs();
    await people(app).lead(key, 'bob@shop.example');
    const env = { EVENT_LOG_URL: url, ROOT_KEY };
    await expect(reads(directory.fresh(), key, env)).rejects.toThrow(/root key was rotated/);
    const next = readFileSync(file, 'utf8').trim();
    expect(await reads(directory.fresh(), key, { ...env, ROOT_KEY: next })).toBe(true);
    await app.close();
  });
});
