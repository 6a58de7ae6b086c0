import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sqliteKeyVault } from '#src/stores/sqlite/keys/key-vault.ts';
import { keyVaultConformance, type VaultUnderTest } from '../../conformance/key-vault.ts';
import { directories } from '../../support/processes/directories.ts';

const { fresh, removeAll } = directories('vault-');
afterAll(removeAll);
const wrapping = Buffer.alloc(32, 1);

const make = (file: string): VaultUnderTest => {
  const vault = sqliteKeyVault(file, [wrapping]);
  return { vault, cleanup: () => vault.close() };
};
keyVaultConformance('SQLite', () => make(join(fresh(), 'keys.db')));
keyVaultConformance('SQLite in memory', () => make(':memory:'));

const filesHold = (directory: string, bytes: Buffer): boolean =>
  readdirSync(directory).some((name) => readFileSync(join(directory, name)).includes(bytes));

describe('The key vault in a file', () => {
  it('The key vault in a file opens its texts after a restart, and only with the same root key', async () => {
    const file = join(fresh(), 'keys.db');
    const vault = sqliteKeyVault(file, [wrapping]);
    const sealed = (await vault.seal('led_1', 'ada@shop.example')) ?? '';
    await vault.close();
    const again = sqliteKeyVault(file, [wrapping]);
    expect(await again.unseal([sealed])).toEqual(['ada@shop.example']);
    await again.close();
    expect(() => sqliteKeyVault(file, [Buffer.alloc(32, 2)])).toThrow(/another root key/);
  });

  it('The key vault in a file leaves no byte of a destroyed key', async () => {
    const directory = fresh();
    const vault = sqliteKeyVault(join(directory, 'erase.db'), [wrapping]);
    await vault.seal('hnd_1', 'text');
    await vault.seal('hnd_2', 'text');
    const before = readdirSync(directory).map((name) => readFileSync(join(directory, name)));
    expect(await vault.destroy('hnd_1')).toBe(true);
    // A row is the subject, then the wrapped key: the bytes after the subject must be different now.
    const wrapped = before
      .map((bytes) => ({ bytes, at: bytes.indexOf('hnd_1') }))
      .filter(({ at }) => at >= 0)
      .map(({ bytes, at }) => bytes.subarray(at + 5, at + 5 + 40));
    expect(wrapped.length).toBeGreaterThan(0);
    for (const key of wrapped) expect(filesHold(directory, key)).toBe(false);
    await vault.close();
  });
});
