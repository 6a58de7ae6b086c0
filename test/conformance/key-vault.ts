/** What every vault of keys promises, and what those promise that several processes share. */
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KeyVault, MovableKeys } from '#src/ports/system.ts';

export type VaultUnderTest = {
  vault: KeyVault & MovableKeys;
  /** The same keys, as another process has them; absent where one process has them to itself. */
  another?(): Promise<KeyVault>;
  cleanup(): void | Promise<void>;
};

const TEXT = 'Ada Lovelace <ada@shop.example>';
const ERASED_WITHIN_MS = 1_000;

const sealed = async (vault: KeyVault, subject: string, text = TEXT): Promise<string> => {
  const made = await vault.seal(subject, text);
  if (made === null) throw new Error(`${subject} is erased`);
  return made;
};

/** Asks until the answer is `wanted`; how long after the first question it still was not. */
const until = async <T>(wanted: T, ask: () => Promise<T>): Promise<number> => {
  const start = performance.now();
  for (let last = start; ; ) {
    // When it was asked counts: a busy machine may take its time to answer.
    const asked = performance.now();
    if ((await ask()) === wanted) return last - start;
    last = asked;
    expect(last - start).toBeLessThan(5 * ERASED_WITHIN_MS);
    await turn();
  }
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

    test('opens what it sealed, and shows none of it', async () => {
      const first = await sealed(vault, 'led_1');
      expect(first).not.toContain('Ada');
      expect(Buffer.from(first.split('.')[2] ?? '', 'base64url').includes('Ada')).toBe(false);
      expect(await sealed(vault, 'led_1')).not.toBe(first);
      expect(await vault.unseal([first])).toEqual([TEXT]);
    });

    test('opens a page at once, in order, with gaps for what it has no key of', async () => {
      const texts = Array.from({ length: 25 }, (_, n) => `text ${n}`);
      const page = await Promise.all(texts.map((text, n) => sealed(vault, `led_${n % 20}`, text)));
      expect(await vault.unseal(page)).toEqual(texts);
      await vault.destroy('led_3');
      const strange = ['', 'plain text', 's1.led_99.AAAA', 's1.$all.AAAA', page[0] ?? ''];
      const answers = await vault.unseal([...strange, page[3] ?? '', page[23] ?? '']);
      const none = undefined;
      expect(answers).toEqual([none, none, none, none, texts[0], null, null]);
      expect(await vault.unseal([])).toEqual([]);
    });

    test('opens nothing that was changed, or that is shown as of another subject', async () => {
      const text = await sealed(vault, 'led_1');
      await sealed(vault, 'led_2');
      const other = text.at(-4) === 'A' ? 'B' : 'A';
      const strange = [
        text.replace('led_1', 'led_3'),
        text.replace('led_1', 'led_2'),
        text.slice(0, -4) + other + text.slice(-3),
      ];
      expect(await vault.unseal([...strange, text])).toEqual([
        undefined,
        undefined,
        undefined,
        TEXT,
      ]);
    });

    test('knows a subject by its key, which comes with the first text', async () => {
      expect(await vault.knows('hnd_1')).toBe('never');
      await sealed(vault, 'hnd_1');
      expect(await vault.knows('hnd_1')).toBe('key');
      expect(await vault.knows('hnd_2')).toBe('never');
    });

    test('makes one key, however many ask for the first at once', async () => {
      const texts = Array.from({ length: 16 }, (_, n) => `text ${n}`);
      const all = await Promise.all(texts.map((text) => sealed(vault, 'led_1', text)));
      expect(await vault.unseal(all)).toEqual(texts);
    });

    test('lets no destroyed subject come back', async () => {
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

    test('destroys also a subject that has no key, before it could get one', async () => {
      expect(await vault.destroy('led_1')).toBe(false);
      expect(await vault.knows('led_1')).toBe('destroyed');
      expect(await vault.seal('led_1', TEXT)).toBeNull();
    });

    test('gives a key to who moves it, and takes one in its place', async () => {
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

  test('gives two processes that race for a key the same one', async () => {
    const [a, b] = await both();
    for (let round = 0; round < 20; round += 1) {
      const subject = `led_${round}`;
      const racing = await Promise.all([sealed(a, subject, 'a'), sealed(b, subject, 'b')]);
      expect(await a.unseal(racing)).toEqual(['a', 'b']);
      expect(await b.unseal(racing)).toEqual(['a', 'b']);
    }
  });

  test('makes on all processes unreadable within a second what one destroyed', async () => {
    const [a, b] = await both();
    const text = await sealed(b, 'led_1');
    expect(await b.unseal([text])).toEqual([TEXT]);
    await sealed(b, 'led_2');
    await a.destroy('led_1');
    await a.destroy('led_2');
    expect(await b.knows('led_2')).toBe('destroyed');
    const took = await until(null, async () => (await b.unseal([text]))[0] ?? null);
    expect(took).toBeLessThan(ERASED_WITHIN_MS);
    expect(await b.knows('led_1')).toBe('destroyed');
  });

  test('gives no destroyed subject a fresh key on any process', async () => {
    const [a, b] = await both();
    await sealed(b, 'led_1');
    await a.destroy('led_1');
    const late: string[] = [];
    const took = await until(null, async () => {
      const text = await b.seal('led_1', TEXT);
      if (text !== null) late.push(text);
      return text;
    });
    expect(took).toBeLessThan(ERASED_WITHIN_MS);
    expect(new Set(await a.unseal(late.slice(0, 10)))).toEqual(new Set(late.length ? [null] : []));
    expect(await a.seal('led_1', TEXT)).toBeNull();
  });

  test('leaves nothing readable where a key is made and destroyed at once', async () => {
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
