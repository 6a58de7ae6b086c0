/** Makes invisible characters visible, for people who decide about a text. */
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

/** Writes a text on one line, with invisible characters written out. */
export const visibleLine = (text: string): string =>
  visible(text).shown.replaceAll('\n', '⟨U+000A⟩');

const SHOWN_CHARS_MAX = 60;

/** The start of a refused text as a refusal shows it, on one line. */
export const refusedText = (text: string): string => {
  const start = Array.from(text.slice(0, 2 * SHOWN_CHARS_MAX))
    .slice(0, SHOWN_CHARS_MAX)
    .join('');
  return `${visibleLine(start.toWellFormed())}${start === text ? '' : '…'}`;
};
