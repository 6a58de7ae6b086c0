import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sqliteKeyVault } from '#src/adapters/sqlite/key-vault.ts';

const directory = mkdtempSync(join(tmpdir(), 'vault-'));
afterAll(() => rmSync(directory, { recursive: true }));
const wrapping = Buffer.alloc(32, 1);

const filesHold = (bytes: Buffer): boolean =>
  readdirSync(directory).some((name) => readFileSync(join(directory, name)).includes(bytes));

describe('the key vault', () => {
  it('opens what it sealed, also after a restart, and nothing else', () => {
    const file = join(directory, 'keys.db');
    const vault = sqliteKeyVault(file, wrapping);
    const sealed = vault.seal('led_1', 'ada@shop.example');
    expect(sealed).not.toContain('ada');
    expect(vault.seal('led_1', 'ada@shop.example')).not.toBe(sealed);
    vault.close();
    const again = sqliteKeyVault(file, wrapping);
    expect(again.unseal(sealed)).toBe('ada@shop.example');
    expect(again.unseal(sealed.replace('led_1', 'led_2'))).toBeNull();
    again.close();
    const other = sqliteKeyVault(file, Buffer.alloc(32, 2));
    expect(() => other.unseal(sealed)).toThrow();
    other.close();
  });

  it('leaves no byte of a destroyed key, and lets no subject come back', () => {
    const file = join(directory, 'erase.db');
    const vault = sqliteKeyVault(file, wrapping);
    const sealed = vault.seal('hnd_1', 'text');
    vault.seal('hnd_2', 'text');
    const probe = sqliteKeyVault(':memory:', wrapping);
    expect(probe.knows('hnd_1')).toBe('never');
    const before = readdirSync(directory).map((name) => readFileSync(join(directory, name)));
    expect(vault.destroy('hnd_1')).toBe(true);
    expect(vault.knows('hnd_1')).toBe('destroyed');
    expect(vault.unseal(sealed)).toBeNull();
    expect(vault.destroy('hnd_1')).toBe(false);
    expect(() => vault.seal('hnd_1', 'again')).toThrow(/erased/);
    // The row is subject, then the wrapped key: whatever followed the name before is gone now.
    const wrapped = before
      .map((bytes) => ({ bytes, at: bytes.indexOf('hnd_1') }))
      .filter(({ at }) => at >= 0)
      .map(({ bytes, at }) => bytes.subarray(at + 5, at + 5 + 40));
    expect(wrapped.length).toBeGreaterThan(0);
    for (const key of wrapped) expect(filesHold(key)).toBe(false);
    vault.close();
  });
});
