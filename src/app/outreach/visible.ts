type Hidden = { offset: number; code_point: string };

// Characters that a reader cannot see or cannot distinguish from a space: controls, format characters, tags, private
// use, separators other than the space, and everything that Unicode draws as nothing (fillers, variation selectors).
const INVISIBLE =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;

/** Names a code point as Unicode does: `U+200D`. */
const codePointOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

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

/**
 * Writes out the variation selectors of a title, U+180B included. Joiners are kept, because Persian and the scripts
 * of India are misspelled without them.
 */
export const visibleTitle = (title: string): string =>
  title.replaceAll(/\p{Variation_Selector}/gu, (character) => `⟨${codePointOf(character)}⟩`);
