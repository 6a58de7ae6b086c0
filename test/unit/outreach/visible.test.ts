import { expect, it } from 'vitest';
import { visible } from '#src/app/outreach/visible.ts';

it.each(['\u00a0', '\u2003', '\u3000'])(
  'visible writes out the space character %j by its code point',
  (space) => {
    const code = `U+${space.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
    const { shown, hidden } = visible(`a b${space}c`);
    expect(shown).toBe(`a b⟨${code}⟩c`);
    expect(hidden).toEqual([{ offset: 3, code_point: code }]);
  },
);
