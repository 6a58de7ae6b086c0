type Hidden = { offset: number; code_point: string };

// Characters that a reader cannot see or cannot distinguish from a space: controls, format characters,
// tags, private use, separators other than the space, variation selectors and fillers.
const INVISIBLE =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u{fe00}-\u{fe0f}\u{e0100}-\u{e01ef}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]|(?! )\p{Zs}/u;

const nameOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** Writes out invisible characters as ⟨U+200D⟩ and lists their offsets. Line breaks are kept. */
export const visible = (text: string): { shown: string; hidden: Hidden[] } => {
  const hidden: Hidden[] = [];
  let shown = '';
  let offset = 0;
  for (const character of text) {
    if (character !== '\n' && INVISIBLE.test(character)) {
      hidden.push({ offset, code_point: nameOf(character) });
      shown += `⟨${nameOf(character)}⟩`;
    } else shown += character;
    offset += character.length;
  }
  return { shown, hidden };
};
