/** What every key vault guarantees, and what shared vaults guarantee in addition. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KeyVault, MovableKeys } from '#src/ports/system.ts';

export type VaultUnderTest = {
  vault: KeyVault & MovableKeys;
  /** Opens the same keys as another process; absent if the vault belongs to one process. */
  another?(): Promise<KeyVault>;
  cleanup(): void | Promise<void>;
};

const TEXT = 'Ada Lovelace <ada@shop.example>';

const sealed = async (vault: KeyVault, subject: string, text = TEXT): Promise<string> => {
  const made = await vault.seal(subject, text);
  if (made === null) throw new Error(`${subject} is erased`);
  return made;
};

/** Asks until the answer is `wanted`; the test times out if it never is. */
const until = async <T>(wanted: T, ask: () => Promise<T>): Promise<void> => {
  while ((await ask()) !== wanted) await nextTurn();
};

export const keyVaultConformance = (
  name: string,
  make: () => VaultUnderTest | Promise<VaultUnderTest>,
  options: { shared: boolean } = { shared: false },
): void => {
  describe(`key vault: ${name}`, () => {
    let under: VaultUnderTest;
    let vault: KeyVault & MovableKeys;
    beforeEach(async () => {
      under = await make();
      ({ vault } = under);
    });
    afterEach(() => under.cleanup());

    test('A key vault opens its sealed texts, which show nothing of their contents', async () => {
      const first = await sealed(vault, 'led_1');
      expect(first).not.toContain('Ada');
      expect(Buffer.from(first.split('.')[2] ?? '', 'base64url').includes('Ada')).toBe(false);
      expect(await sealed(vault, 'led_1')).not.toBe(first);
      expect(await vault.unseal([first])).toEqual([TEXT]);
    });

    test('A key vault opens a page of texts in order, with gaps for texts without a key', async () => {
      const texts = Array.from({ length: 25 }, (_, n) => `text ${n}`);
      const page = await Promise.all(texts.map((text, n) => sealed(vault, `led_${n % 20}`, text)));
      expect(await vault.unseal(page)).toEqual(texts);
      await vault.destroy('led_3');
      const strange = ['', 'plain text', 's1.led_99.AAAA', 's1.$all.AAAA', page[0] ?? ''];
      const answers = await vault.unseal([...strange, page[3] ?? '', page[23] ?? '']);
      const none = { key: 'missing' };
      expect(answers).toEqual([none, none, none, none, texts[0], null, null]);
      expect(await vault.unseal([])).toEqual([]);
    });

    test('A key vault opens no text that was changed or assigned to another subject', async () => {
      const text = await sealed(vault, 'led_1');
      await sealed(vault, 'led_2');
      const other = text.at(-4) === 'A' ? 'B' : 'A';
      const strange = [
        text.replace('led_1', 'led_3'),
        text.replace('led_1', 'led_2'),
        text.slice(0, -4) + other + text.slice(-3),
      ];
      const missing = { key: 'missing' };
      expect(await vault.unseal([...strange, text])).toEqual([missing, missing, missing, TEXT]);
    });

    test('A key vault knows a subject once its first text is sealed', async () => {
      expect(await vault.knows('hnd_1')).toBe('never');
      await sealed(vault, 'hnd_1');
      expect(await vault.knows('hnd_1')).toBe('key');
      expect(await vault.knows('hnd_2')).toBe('never');
    });

    test('A key vault creates one key for concurrent first calls', async () => {
      const texts = Array.from({ length: 16 }, (_, n) => `text ${n}`);
      const all = await Promise.all(texts.map((text) => sealed(vault, 'led_1', text)));
      expect(await vault.unseal(all)).toEqual(texts);
    });

    test('A key vault gives no new key to a destroyed subject', async () => {
      const text = await sealed(vault, 'led_1');
      await sealed(vault, 'led_2');
      expect(await vault.destroy('led_1')).toBe(true);
      expect(await vault.knows('led_1')).toBe('destroyed');
      expect(await vault.unseal([text])).toEqual([null]);
      expect(await vault.seal('led_1', 'again')).toBeNull();
      expect(await vault.destroy('led_1')).toBe(false);
      expect(await vault.knows('led_1')).toBe('destroyed');
      expect(await vault.knows('led_2')).toBe('key');
    });

    test('A key vault destroys a subject without a key, so that it never gets one', async () => {
      expect(await vault.destroy('led_1')).toBe(false);
      expect(await vault.knows('led_1')).toBe('destroyed');
      expect(await vault.seal('led_1', TEXT)).toBeNull();
    });

    test('A key vault exports a key, and adopts a key for a subject without one', async () => {
      const text = await sealed(vault, 'led_1');
      const key = await vault.keyOf('led_1');
      expect(key).toHaveLength(32);
      expect(await vault.adopt('led_1', key as Uint8Array)).toBe(true);
      expect(await vault.adopt('led_1', Buffer.alloc(32, 5))).toBe(false);
      expect(await vault.unseal([text])).toEqual([TEXT]);
      expect(await vault.keyOf('led_2')).toBe('never');
      expect(await vault.adopt('led_2', key as Uint8Array)).toBe(true);
      expect(await vault.keyOf('led_2')).toEqual(key);
      expect(await vault.adopt('led_1', 'destroyed')).toBe(true);
      expect(await vault.adopt('led_3', 'destroyed')).toBe(true);
      for (const subject of ['led_1', 'led_3']) {
        expect(await vault.keyOf(subject)).toBe('destroyed');
        expect(await vault.adopt(subject, key as Uint8Array)).toBe(false);
        expect(await vault.adopt(subject, 'destroyed')).toBe(true);
      }
      expect(await vault.unseal([text])).toEqual([null]);
    });

    if (options.shared) sharedConformance(() => under);
  });
};

const sharedConformance = (under: () => VaultUnderTest): void => {
  const both = async (): Promise<[KeyVault, KeyVault]> => {
    const { vault, another } = under();
    if (!another) throw new Error('a shared vault has another process');
    return [vault, await another()];
  };

  test('A key vault gives two concurrent processes the same key', async () => {
    const [a, b] = await both();
    for (let round = 0; round < 20; round += 1) {
      const subject = `led_${round}`;
      const racing = await Promise.all([sealed(a, subject, 'a'), sealed(b, subject, 'b')]);
      expect(await a.unseal(racing)).toEqual(['a', 'b']);
      expect(await b.unseal(racing)).toEqual(['a', 'b']);
    }
  });

  test('A key vault makes a text unreadable on all processes after one destroyed its key', async () => {
    const [a, b] = await both();
    const text = await sealed(b, 'led_1');
    expect(await b.unseal([text])).toEqual([TEXT]);
    await sealed(b, 'led_2');
    await a.destroy('led_1');
    await a.destroy('led_2');
    expect(await b.knows('led_2')).toBe('destroyed');
    await until(null, async () => (await b.unseal([text]))[0] ?? null);
    expect(await b.knows('led_1')).toBe('destroyed');
  });

  test('A key vault gives no destroyed subject a fresh key on any process', async () => {
    const [a, b] = await both();
    await sealed(b, 'led_1');
    await a.destroy('led_1');
    const late: string[] = [];
    await until(null, async () => {
      const text = await b.seal('led_1', TEXT);
      if (text !== null) late.push(text);
      return text;
    });
    expect(new Set(await a.unseal(late.slice(0, 10)))).toEqual(new Set(late.length ? [null] : []));
    expect(await a.seal('led_1', TEXT)).toBeNull();
  });

  test('A key vault leaves nothing readable if a key is created and destroyed concurrently', async () => {
    const [a, b] = await both();
    const rounds = Array.from({ length: 10 }, async (_, round) => {
      const subject = `led_${round}`;
      await Promise.all([a.seal(subject, TEXT), b.destroy(subject)]);
      await until('destroyed', () => a.knows(subject));
      expect(await a.seal(subject, TEXT)).toBeNull();
    });
    await Promise.all(rounds);
  });
};
