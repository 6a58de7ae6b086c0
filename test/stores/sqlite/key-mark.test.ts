/** keys.mark and the checksums of keys: what a start, and a read, know about keys that are lost. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import { sqliteKeyVault } from '#src/stores/sqlite/keys/key-vault.ts';
import { directories } from '../../support/processes/directories.ts';

const { fresh, removeAll } = directories('key-mark-');
afterAll(removeAll);

const WRAPPING = Buffer.alloc(32, 1);
const KEYS = 30;
const vaultIn = (directory: string) => sqliteKeyVault(join(directory, 'keys.db'), [WRAPPING]);

/** Returns a vault of KEYS acknowledged keys, its texts, and what a kill right after the last one would leave. */
const filled = async () => {
  const directory = fresh();
  const vault = vaultIn(directory);
  const texts: string[] = [];
  for (let n = 1; n <= KEYS; n += 1) texts.push(String(await vault.seal(`led_${n}`, `text ${n}`)));
  const copy = fresh();
  for (const name of ['keys.db', 'keys.db-wal', 'keys.mark'])
    cpSync(join(directory, name), join(copy, name));
  await vault.close();
  return { directory, copy, texts };
};

describe('A start after a kill', () => {
  test('A start after a kill refuses the vault wherever one bit of its write-ahead log is flipped', async () => {
    const { copy } = await filled();
    const wal = readFileSync(join(copy, 'keys.db-wal'));
    for (let at = 0; at < wal.length; at += 3_001) {
      const damaged = fresh();
      cpSync(copy, damaged, { recursive: true });
      const bytes = Buffer.from(wal);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
      writeFileSync(join(damaged, 'keys.db-wal'), bytes);
      expect(() => vaultIn(damaged), `byte ${at}`).toThrow(
        /acknowledged keys are missing|cannot be/,
      );
    }
    await vaultIn(copy).close();
  });

  test('A start after a kill refuses an older vault with the number of missing keys, until an empty mark accepts it', async () => {
    const { directory, copy } = await filled();
    const vault = vaultIn(directory);
    await vault.seal('led_31', 'text');
    await vault.destroy('led_32');
    await vault.close();
    for (const name of ['keys.db', 'keys.db-wal']) cpSync(join(copy, name), join(directory, name));
    expect(() => vaultIn(directory)).toThrow(
      /ends at position 30, but it once reached 32: 2 acknowledged keys are missing/,
    );
    writeFileSync(join(directory, 'keys.mark'), '');
    await vaultIn(directory).close();
    expect(readFileSync(join(directory, 'keys.mark'), 'utf8')).toContain('"position":30,');
  });

  test('A start after a kill refuses a vault that was emptied, and one that was replaced', async () => {
    const { directory } = await filled();
    writeFileSync(join(directory, 'keys.db'), '');
    expect(() => vaultIn(directory)).toThrow(/30 acknowledged keys are missing/);
    const other = await filled();
    cpSync(join(other.directory, 'keys.db'), join(directory, 'keys.db'));
    expect(() => vaultIn(directory)).toThrow(/is another key vault/);
  });
});

/** Changes the file as a flipped bit would. */
const change = (directory: string, sql: string): void => {
  const db = new DatabaseSync(join(directory, 'keys.db'));
  db.exec(sql);
  db.close();
};

describe('A key that was changed in the file', () => {
  test.each([
    ['its bytes', "wrapped = CAST(x'00' || substr(wrapped, 2) AS BLOB)"],
    ['to a destroyed one', 'wrapped = NULL'],
    ['its checksum', 'crc = crc + 1'],
  ])(
    'A key that was changed in the file is damaged, and affects only its own texts: %s',
    async (_what, set) => {
      const { directory, texts } = await filled();
      change(directory, `UPDATE keys SET ${set} WHERE subject = 'led_1'`);
      const vault = vaultIn(directory);
      const opened = await vault.unseal(texts);
      expect(opened[0]).toEqual({ key: 'damaged' });
      expect(opened.slice(1)).toEqual(texts.slice(1).map((_, n) => `text ${n + 2}`));
      expect(await vault.knows('led_1')).toBe('key');
      await expect(vault.seal('led_1', 'text')).rejects.toMatchObject({
        name: 'LogUnavailable',
        applied: 'no',
      });
      expect(await vault.destroy('led_1')).toBe(true);
      expect(await vault.unseal([texts[0] ?? ''])).toEqual([null]);
      await vault.close();
    },
  );

  test('A text of a key that is gone is missing its key, and is not erased', async () => {
    const { directory, texts } = await filled();
    change(directory, "DELETE FROM keys WHERE subject = 'led_1'");
    rmSync(join(directory, 'keys.mark'));
    const vault = vaultIn(directory);
    expect(await vault.unseal([texts[0] ?? ''])).toEqual([{ key: 'missing' }]);
    await vault.close();
  });
});
