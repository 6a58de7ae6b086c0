/** Canonical JSON is what hashes and signatures are made of: another text is another hash. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '#src/shared/json.ts';
import { storedJson } from '#src/stores/event-codec.ts';

describe('Canonical JSON', () => {
  it('Canonical JSON sorts the members of the example of RFC 8785 by UTF-16 code units', () => {
    const value = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    expect(canonicalJson(value)).toBe(
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control",' +
        '"\u00f6":"Latin Small Letter O With Diaeresis","\u20ac":"Euro Sign",' +
        '"\ud83d\ude00":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    );
  });

  it('Canonical JSON sorts objects in arrays, keeps the order of arrays, and omits members without a value', () => {
    const value = { b: [{ d: 1e21, c: -0 }, null, 'a"\\'], a: { z: undefined, y: true } };
    expect(canonicalJson(value)).toBe('{"a":{"y":true},"b":[{"c":0,"d":1e+21},null,"a\\"\\\\"]}');
  });

  it('Canonical JSON is refused for text with a lone surrogate, in a value and in a name', () => {
    expect(() => canonicalJson({ a: '\ud800' })).toThrow('Lone surrogate');
    expect(() => canonicalJson({ a: { 'z\udfff': 1 } })).toThrow('Lone surrogate');
  });
});

describe('JSON to keep', () => {
  it('JSON to keep has a canonical form, whatever halves of surrogate pairs its values and names have', () => {
    const half = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom('\ud83d', '\ude00', '\\', '\\ud83d', 'u', '"', 'a') }),
    );
    fc.assert(
      fc.property(fc.dictionary(half, half), (value) => {
        const wellFormed = Object.entries(value).map(([name, text]) => [
          name.toWellFormed(),
          text.toWellFormed(),
        ]);
        const kept = JSON.parse(storedJson(value)) as object;
        expect(canonicalJson(kept)).toBe(canonicalJson(Object.fromEntries(wellFormed) as object));
      }),
    );
  });
});
