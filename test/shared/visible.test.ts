import { expect, it } from 'vitest';
import { beginningOf } from '#contracts/texts.ts';
import { visible } from '#src/shared/visible.ts';

const codePoint = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

it.each(['\u00a0', '\u2003', '\u3000'])(
  '`visible` writes out the space character %j by its code point',
  (space) => {
    const code = codePoint(space);
    const { shown, hidden } = visible(`a b${space}c`);
    expect(shown).toBe(`a b⟨${code}⟩c`);
    expect(hidden).toEqual([{ offset: 3, code_point: code }]);
  },
);

it.each([
  '\u034f',
  '\u180b',
  '\u180c',
  '\u180d',
  '\u180f',
  '\u200d',
  '\u2065',
  '\u2800',
  '\u3164',
  '\ufe00',
  '\ufe0f',
  '\ufff0',
  '\u{e0041}',
  '\u{e0100}',
  '\u{e01ef}',
])('`visible` writes out the invisible character %j by its code point', (character) => {
  expect(visible(`Pay${character}Pal`).shown).toBe(`Pay⟨${codePoint(character)}⟩Pal`);
});

it('The beginning of a text has no half of a character, wherever it is cut', () => {
  const text = 'a\u{1f600}b\u{1f600}';
  const beginnings = Array.from({ length: text.length + 2 }, (_none, units) =>
    beginningOf(text, units),
  );
  const first = 'a\u{1f600}';
  expect(beginnings).toEqual(['', 'a', 'a', first, `${first}b`, `${first}b`, text, text]);
});
