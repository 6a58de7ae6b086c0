import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { scanJson } from '#src/shared/json.ts';

/** The rules of the scanner, written independently: checks the parsed value. */
const isWithinLimits = (value: unknown, depth = 0): boolean => {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= LIMITS.JSON_DEPTH_MAX) return false;
  return Object.entries(value).every(
    ([name, member]) =>
      name.isWellFormed() && name !== '__proto__' && isWithinLimits(member, depth + 1),
  );
};

const anyJson = fc.jsonValue({ maxDepth: 20, depthSize: 'large', stringUnit: 'binary' });

describe('The scanner of raw JSON', () => {
  it('The scanner of raw JSON never throws and always ends, whatever the text', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      '\\u',
      'd800',
      '1e',
      '-',
      '0',
      'null',
      '"a"',
      ' ',
    ];
    const nearJson = fc
      .array(fc.constantFrom(...pieces), { maxLength: 60 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), nearJson), (text) => {
        const fault = scanJson(text);
        if (fault) expect(fault.pointer).toMatch(/^(\/|$)/);
      }),
      { numRuns: 5_000 },
    );
  });

  it('The scanner of raw JSON accepts exactly the texts within the limits that JSON.parse does not change', () => {
    let refused = 0;
    fc.assert(
      fc.property(anyJson, fc.nat(2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const fault = scanJson(text);
        const fits = isWithinLimits(value);
        if (!fits) refused += 1;
        expect(fault === undefined, `${JSON.stringify(fault)} for ${text}`).toBe(fits);
      }),
      { numRuns: 3_000 },
    );
    // Proves that the generated values exceed the limits often enough.
    expect(refused).toBeGreaterThan(20);
  });

  it('The scanner of raw JSON reports the place of a repeated name at any depth and in any spelling', () => {
    const name = fc.string({ minLength: 1, maxLength: 8 }).filter((text) => text !== '__proto__');
    const spelled = (text: string) =>
      `"${text
        .split('')
        .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
        .join('')}"`;
    const escaped = (text: string) => text.replaceAll('~', '~0').replaceAll('/', '~1');
    fc.assert(
      fc.property(
        name,
        fc.array(fc.oneof(name, fc.nat(3)), { maxLength: 12 }),
        fc.boolean(),
        (twin, way, plain) => {
          const second = plain ? JSON.stringify(twin) : spelled(twin);
          let text = `{${JSON.stringify(twin)}:1,"${'other'.repeat(3)}":{},${second}:2}`;
          for (const step of way.toReversed())
            text =
              typeof step === 'number'
                ? `[${'0,'.repeat(step)}${text}]`
                : `{"first thing":[1,{"a":1}],${JSON.stringify(step)}:${text}}`;
          const pointer = [...way, twin].map((step) => `/${escaped(String(step))}`).join('');
          expect(scanJson(text)).toMatchObject({
            code: 'duplicate_name',
            pointer: pointer.slice(0, 200),
          });
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('The scanner of raw JSON accepts the same name in two objects', () => {
    expect(scanJson('[{"a":{"a":1}},{"a":2},{"b":"a","a":"a"}]')).toBeUndefined();
  });

  const REFUSED: [string, string, string][] = [
    ['{"a":1e400}', 'number_out_of_range', '/a'],
    ['[-1e400]', 'number_out_of_range', '/0'],
    ['{"a":9007199254740993}', 'number_out_of_range', '/a'],
    ['{"a":[0,-9007199254740992]}', 'number_out_of_range', '/a/1'],
    ['{"a":1e16}', 'number_out_of_range', '/a'],
    ['{"a":9007199254740993.0}', 'number_out_of_range', '/a'],
    ['{"a":9007199254740993e0}', 'number_out_of_range', '/a'],
    ['{"a":"\\ud800"}', 'lone_surrogate', '/a'],
    ['{"a":"\\udc00\\ud800"}', 'lone_surrogate', '/a'],
    ['{"a":1,"\\ud800":1}', 'lone_surrogate', '/\ufffd'],
    ['{"a":{"__proto__":{"b":1}}}', 'reserved_name', '/a/__proto__'],
    ['{"\\u005f_proto__":1}', 'reserved_name', '/__proto__'],
    ['{"constructor":{"prototype":{"b":1}}}', 'reserved_name', '/constructor/prototype'],
    [`${'['.repeat(17)}${']'.repeat(17)}`, 'too_deep', '/0'.repeat(16)],
    [`${'{"a":'.repeat(17)}1${'}'.repeat(17)}`, 'too_deep', '/a'.repeat(16)],
    [`[${'0,'.repeat(10_000)}0]`, 'too_many', '/10000'],
    [`{"a":[${'{},'.repeat(10_000)}{}]}`, 'too_many', '/a/9999'],
  ];
  it.each(REFUSED.map((one) => [one[0].slice(0, 30), ...one]))(
    'The scanner of raw JSON refuses %s',
    (_, text, code, pointer) => {
      const fault = scanJson(text);
      expect(fault?.code).toBe(code);
      expect(fault?.pointer).toBe(pointer);
    },
  );

  const ACCEPTED = [
    '9007199254740991',
    '-0',
    '0.1',
    '1e15',
    '1E-400',
    '"\\ud83d\\ude00"',
    '{"constructor":{"name":1},"prototype":2}',
    `${'['.repeat(16)}${']'.repeat(16)}`,
    `[${'0,'.repeat(9_999)}0]`,
    `{"a":[${'true,'.repeat(9_998)}null]}`,
  ];
  it.each(ACCEPTED.map((text) => [text.slice(0, 30), text]))(
    'The scanner of raw JSON accepts %s',
    (_, text) => {
      expect(scanJson(text)).toBeUndefined();
    },
  );

  const LARGE: Record<string, string> = {
    'one string': `"${'a'.repeat(1_000_000)}"`,
    'one string of escapes': `"${'\\u00e9'.repeat(166_000)}"`,
    'one number': '7'.repeat(1_000_000),
    'many strings': `[${'"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",'.repeat(8_500)}0]`,
    'open brackets': '['.repeat(1_000_000),
    'closed brackets': ']'.repeat(1_000_000),
    quotes: '"'.repeat(1_000_000),
    backslashes: `"${'\\'.repeat(1_000_000)}`,
    'minus signs': '-'.repeat(1_000_000),
    'halves of numbers': '1e'.repeat(500_000),
    spaces: ' '.repeat(1_000_000),
  };
  // A scan in quadratic time would need minutes, which exceeds the time limit of a test.
  it.each(Object.entries(LARGE))(
    'The scanner of raw JSON finishes with 1 MB of %s',
    (_name, text) => {
      const fault = scanJson(text);
      expect(fault?.pointer.length ?? 0).toBeLessThanOrEqual(200);
    },
  );
});
