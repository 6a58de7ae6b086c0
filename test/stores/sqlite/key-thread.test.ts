/** Tests the thread that writes keys.db, and that the file keeps nothing of a destroyed key. */
import { randomBytes, randomInt } from 'node:crypto';
import { copyFileSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { Committer, type Records } from '#src/stores/sqlite/log/committer.ts';
import { KEY_RECORDING, keyCrc, openKeyFile } from '#src/stores/sqlite/keys/key-file.ts';
import { sqliteKeyVault } from '#src/stores/sqlite/keys/key-vault.ts';
import { directories } from '../../support/processes/directories.ts';

const { fresh, removeAll } = directories('key-thread-');
afterAll(removeAll);

const WRAPPING = Buffer.alloc(32, 1);
const TURNS = 50;
const WRAPPED_BYTES = 61;

/** Creates a vault with one key; returns also its wrapped bytes. */
const filled = async () => {
  const directory = fresh();
  const path = join(directory, 'keys.db');
  const vault = sqliteKeyVault(path, [WRAPPING]);
  const text = (await vault.seal('led_0', 'ada@shop.example')) ?? '';
  const other = new DatabaseSync(path);
  const row = other.prepare("SELECT wrapped FROM keys WHERE subject = 'led_0'").get();
  const wrapped = Buffer.from(row?.['wrapped'] as Uint8Array);
  const isLeft = (where = directory): boolean =>
    readdirSync(where).some((name) => readFileSync(join(where, name)).includes(wrapped));
  return { directory, path, vault, text, other, isLeft };
};

/** The values of a row. */
const record = (subject: string, wrapped: Uint8Array | null): Records => [
  subject,
  wrapped,
  keyCrc(subject, wrapped),
];

const sealAll = (vault: ReturnType<typeof sqliteKeyVault>, count: number, from = 1) =>
  Array.from({ length: count }, (_, n) => vault.seal(`led_${from + n}`, 'text'));

describe('While a key waits for the disk', () => {
  test('A process continues to open texts while a key waits for the disk, and seals none before its key is stored', async () => {
    const { vault, text, other } = await filled();
    other.exec('BEGIN IMMEDIATE');
    let answered = 0;
    const sealing = sealAll(vault, 10).map((one) => one.finally(() => (answered += 1)));
    for (let n = 0; n < TURNS; n += 1) await turn();
    expect(await vault.unseal([text])).toEqual(['ada@shop.example']);
    expect(await vault.knows('led_1')).toBe('never');
    expect(answered).toBe(0);
    other.exec('ROLLBACK');
    const found = other.prepare('SELECT count(*) AS n FROM keys');
    const sealed = await Promise.all(sealing);
    expect(found.get()).toEqual({ n: 11 });
    expect(await vault.unseal(sealed.map(String))).toEqual(Array(10).fill('text'));
    other.close();
    await vault.close();
  });

  test('All keys of a turn share one commit', async () => {
    const { vault, other } = await filled();
    const look = other.prepare('PRAGMA wal_checkpoint(NOOP)');
    const frames = () => Number(look.get()?.['log']);
    const before = frames();
    await Promise.all(sealAll(vault, 100));
    // A commit of a single key writes two pages.
    expect(frames() - before).toBeLessThan(50);
    other.close();
    await vault.close();
  });

  test('Closing the key vault waits for the pending calls', async () => {
    const { path, vault, other } = await filled();
    other.close();
    const sealing = Promise.all(sealAll(vault, 3));
    const closed = vault.close();
    const sealed = await sealing;
    await closed;
    const again = sqliteKeyVault(path, [WRAPPING]);
    expect(await again.unseal(sealed.map(String))).toEqual(Array(3).fill('text'));
    await again.close();
  });
});

describe('A key that cannot be stored', () => {
  test('A key that cannot be stored is refused while the file is missing, and stored when it is back', async () => {
    const { path, vault, other } = await filled();
    other.close();
    renameSync(path, `${path}.away`);
    const refused = { name: 'LogUnavailable', reason: 'fault', applied: 'no' };
    const removed = expect.stringContaining(`${path} was removed or replaced`) as string;
    for (const subject of ['led_1', 'led_2'])
      await expect(vault.seal(subject, 'text')).rejects.toMatchObject({
        ...refused,
        message: removed,
      });
    renameSync(`${path}.away`, path);
    expect(await vault.seal('led_1', 'text')).not.toBeNull();
    await vault.close();
  });

  test('A key that cannot be stored is refused to all concurrent callers, and stored for a later one', async () => {
    const { vault, other } = await filled();
    other.exec('BEGIN IMMEDIATE');
    const results = await Promise.allSettled([vault.seal('led_1', 'a'), vault.seal('led_1', 'b')]);
    expect(results).toMatchObject([{ reason: { applied: 'no' } }, { reason: { applied: 'no' } }]);
    other.exec('ROLLBACK');
    other.close();
    expect(await vault.seal('led_1', 'a')).not.toBeNull();
    await vault.close();
  });

  test('A key that cannot be stored does not replace a first key', async () => {
    const db = openKeyFile(join(fresh(), 'keys.db'));
    const committer = new Committer(db, KEY_RECORDING);
    const [first, second] = [randomBytes(WRAPPED_BYTES), randomBytes(WRAPPED_BYTES)];
    expect(committer.commit(record('led_1', first))).toEqual({ kind: 'committed' });
    expect(committer.commit(record('led_1', second))).toMatchObject({ kind: 'failed' });
    expect(committer.commit(record('led_1', null))).toEqual({ kind: 'committed' });
    expect(committer.commit(record('led_1', second))).toMatchObject({ kind: 'failed' });
    expect(db.prepare('SELECT wrapped FROM keys').get()).toEqual({ wrapped: null });
    db.close();
  });
});

describe('A destroyed key', () => {
  test('A destroyed key is reported only when its bytes are removed, and removed by a second attempt', async () => {
    const { directory, path, vault, text, other, isLeft } = await filled();
    // A reader of the previous state prevents the truncation of the write-ahead log.
    other.exec('BEGIN; SELECT count(*) FROM keys');
    const failed = { name: 'LogUnavailable', reason: 'fault', applied: 'unknown' };
    await expect(vault.destroy('led_0')).rejects.toMatchObject(failed);
    expect(await vault.knows('led_0')).toBe('destroyed');
    expect(await vault.unseal([text])).toEqual([null]);
    expect(isLeft()).toBe(true);

    // The state after a crash.
    const crashed = fresh();
    for (const name of ['keys.db', 'keys.db-wal'])
      copyFileSync(join(directory, name), join(crashed, name));
    expect(isLeft(crashed)).toBe(true);
    const after = sqliteKeyVault(join(crashed, 'keys.db'), [WRAPPING]);
    expect(isLeft(crashed)).toBe(false);
    await after.close();

    other.exec('COMMIT');
    other.close();
    expect(await vault.destroy('led_0')).toBe(false);
    expect(isLeft()).toBe(false);
    await vault.close();
    rmSync(path);
  });

  test('A destroyed key is removed even if it was just being written', async () => {
    const { vault, other } = await filled();
    other.close();
    const [sealed, had, again] = await Promise.all([
      vault.seal('led_1', 'text'),
      vault.destroy('led_1'),
      vault.destroy('led_1'),
    ]);
    expect([had, again].toSorted()).toEqual([false, true]);
    expect(await vault.unseal([String(sealed)])).toEqual([null]);
    expect(await vault.seal('led_1', 'text')).toBeNull();
    await vault.close();
  });
});

const KEYS = 20_000;

type Key = { subject: string; wrapped: Uint8Array; gone: boolean };

/** Stores keys of random subjects; every seventh commit of a key destroys another one. */
const fill = (db: DatabaseSync): Key[] => {
  const committer = new Committer(db, KEY_RECORDING);
  const write = (subject: string, wrapped: Uint8Array | null) =>
    committer.commit(record(subject, wrapped));
  const keys: Key[] = [];
  for (let n = 0; n < KEYS; n += 1) {
    const name = randomBytes(8).toString('hex');
    const wrapped = new Uint8Array(randomBytes(WRAPPED_BYTES));
    const key = { subject: `led_${name.slice(0, 10 + randomInt(7))}_${n}`, wrapped, gone: false };
    keys.push(key);
    write(key.subject, wrapped);
    if (n % 7 > 0) continue;
    const erased = keys[randomInt(keys.length)] ?? key;
    erased.gone = true;
    write(erased.subject, null);
  }
  return keys;
};

/** Lists the keys that are not in the file exactly once, or were destroyed and are in it. */
const wrong = (path: string, keys: readonly Key[]): number => {
  const middle = (bytes: Uint8Array, at: number): bigint =>
    new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(at);
  const seen = new Map(keys.map(({ wrapped }) => [middle(wrapped, WRAPPED_BYTES / 2), 0]));
  const bytes = new Uint8Array(readFileSync(path));
  for (let at = 0; at + 8 <= bytes.length; at += 1) {
    const here = middle(bytes, at);
    const count = seen.get(here);
    if (count !== undefined) seen.set(here, count + 1);
  }
  const times = ({ wrapped }: Key) => seen.get(middle(wrapped, WRAPPED_BYTES / 2));
  return keys.filter((key) => times(key) !== (key.gone ? 0 : 1)).length;
};

describe('The file of the key vault', () => {
  test("The key vault's file contains each key once and none that was destroyed", () => {
    const path = join(fresh(), 'keys.db');
    const db = openKeyFile(path);
    db.exec('PRAGMA synchronous = OFF');
    const keys = fill(db);
    new Committer(db, KEY_RECORDING).scrub();
    expect(wrong(path, keys)).toBe(0);
    db.close();
  });
});
