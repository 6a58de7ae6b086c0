/** Canonical JSON is the text that the package for RFC 8785 writes. */
import canonicalize from 'canonicalize';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '#src/shared/canonical-json.ts';
import { randomFrom } from '../support/audit/random-history.ts';
import { seedOr } from '../support/seed.ts';

const NAMES = [
  'a',
  'b',
  'aa',
  'z',
  'é',
  '漢',
  '💶',
  'B',
  '_',
  '__proto__',
  '',
  '1',
  '10',
  '9',
  '\n',
  'a\\',
  '\\":',
];
const VALUES = [
  '',
  'a"b\\c',
  '{"b":1,"a":[2]}',
  '\u2028\u0001\n',
  '\\ud800',
  'ß漢💶',
  0,
  -0,
  1.5,
  1e21,
  1e-7,
  true,
  null,
];

const randomJson = (random: () => number, names: readonly string[], depth = 0): unknown => {
  const pick = <Value>(values: readonly Value[]): Value | undefined =>
    values[Math.floor(random() * values.length)];
  const count = Math.floor(random() * 5);
  if (depth > 3 || (depth > 0 && random() < 0.4)) return pick(VALUES);
  const items = Array.from({ length: count }, () => randomJson(random, names, depth + 1));
  if (depth > 0 && random() < 0.2) return items;
  return Object.fromEntries(items.map((item) => [pick(names) ?? '', item]));
};

describe('Canonical JSON', () => {
  it.each([1, 2, 3])('equals that of the package for random JSON, with seed %i', (seed) => {
    const random = randomFrom(seedOr(seed));
    for (let round = 0; round < 2_000; round += 1) {
      const names = round % 2 === 0 ? NAMES : NAMES.slice(0, 7);
      const value = randomJson(random, names) as object;
      expect(canonicalJson(value)).toBe(canonicalize(value));
    }
  });

  it('is refused for text with a lone surrogate, in a value and in a name', () => {
    expect(() => canonicalJson({ a: '\ud800' })).toThrow('Lone surrogate');
    expect(() => canonicalJson({ a: { 'z\udfff': 1 } })).toThrow('Lone surrogate');
  });
});
