import { expect, test } from 'vitest';
import { randomPool, randomView, freshKey } from '#src/system/crypto-seal.ts';

test('Random bytes are never given twice, also when the pool is filled again', () => {
  const made = Array.from({ length: 5_000 }, () => randomView(16).toString('hex'));
  expect(new Set(made).size).toBe(made.length);
});

test('A new key leaves no copy of itself in the pool of random bytes', () => {
  const keys = Array.from({ length: 10 }, () => freshKey().export());
  for (const key of keys) expect(randomPool.includes(key)).toBe(false);
});
