import { expect, test } from 'vitest';
import { systemIds } from '#src/system/ids.ts';

/** More than the pool of random bytes contains. */
const MANY = 5_000;

test('A UUID has version 7, increases with time, and is unique', () => {
  let at = Date.parse('2026-11-20T10:00:00Z');
  const ids = systemIds(() => at);
  const made = Array.from({ length: MANY }, () => {
    at += 1;
    return ids.uuid();
  });
  for (const id of made)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(made.toSorted()).toEqual(made);
  expect(Number.parseInt((made[0] ?? '').replaceAll('-', '').slice(0, 12), 16)).toBe(at - MANY + 1);
  expect(new Set(made.map((id) => id.slice(14))).size).toBe(MANY);
});

test('A secret consists of letters and digits with equal frequency', () => {
  const ids = systemIds(Date.now);
  const text = Array.from({ length: MANY }, () => ids.base62(31)).join('');
  expect(text).toMatch(/^[0-9A-Za-z]+$/);
  expect(text).toHaveLength(31 * MANY);
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  expect(counts.size).toBe(62);
  // 2,500 of each are expected; ten standard deviations are 500.
  for (const count of counts.values()) expect(Math.abs(count - (31 * MANY) / 62)).toBeLessThan(500);
});
