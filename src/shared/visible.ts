import { codePointOf, INVISIBLE } from '#contracts/texts.ts';

type Hidden = { offset: number; code_point: string };

/** Writes out invisible characters as ⟨U+200D⟩ and lists their offsets. Line breaks are kept. */
export const visible = (text: string): { shown: string; hidden: Hidden[] } => {
  const hidden: Hidden[] = [];
  let shown = '';
  let offset = 0;
  for (const character of text) {
    if (character !== '\n' && INVISIBLE.test(character)) {
      hidden.push({ offset, code_point: codePointOf(character) });
      shown += `⟨${codePointOf(character)}⟩`;
    } else shown += character;
    offset += character.length;
  }
  return { shown, hidden };
};
