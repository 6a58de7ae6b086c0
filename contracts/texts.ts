/** Characters in texts that a reader cannot see: which are refused, which a script needs, texts without the others, and where a text can be cut. */

// Characters that a reader cannot see or cannot distinguish from a space: controls, format characters, tags, private
// use, separators other than the space, and everything that Unicode draws as nothing (fillers, variation selectors).
export const INVISIBLE =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;

/** The beginning of a text, of at most so many UTF-16 units. A character that would be cut in half is left out. */
export const beginningOf = (text: string, units: number): string => {
  const cut = text.slice(0, units);
  return cut.length < text.length && isFirstHalf(cut.charCodeAt(units - 1))
    ? cut.slice(0, -1)
    : cut;
};

const isFirstHalf = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/** Names a code point as Unicode does: `U+200D`. */
export const codePointOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

// Control, bidirectional and invisible characters, which are refused in texts: what a person approves must be what
// a machine sends.
export const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u115f\u1160\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\u3164\ufeff\uffa0]|[\u{e0000}-\u{e007f}]/u;

/** A character of a script whose letters change their shape beside a joiner. */
const SHAPED = `[${(
  'Arabic Bengali Devanagari Gujarati Gurmukhi Kannada Khmer Malayalam Mongolian Myanmar Nko Oriya Phags_Pa Sinhala ' +
  'Syriac Tamil Telugu Tibetan'
)
  .split(' ')
  .map((script) => `\\p{Script_Extensions=${script}}`)
  .join('')}]`;
const PICTURE = '\\p{Extended_Pictographic}';

/** Joiners and selectors where a script or an emoji needs them. */
const NEEDED = [
  `(?<=${SHAPED})\\u200d|\\u200d(?=${SHAPED})`,
  `(?<=[\\p{L}\\p{M}\\p{N}])\\u200c(?=${SHAPED})`,
  `(?<=[${PICTURE}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=${PICTURE})`,
  `(?<=[${PICTURE}\\p{S}])[\\ufe00-\\ufe0f]|(?<=[0-9#*])\\ufe0f(?=\\u20e3)`,
  '(?<=[\\p{Script=Han}\\p{Script=Myanmar}\\p{Script=Phags_Pa}])[\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}]',
  '(?<=\\p{Script=Mongolian})[\\u180b-\\u180f]',
].join('|');
const JOINER = new RegExp(`(${NEEDED})|[\\u200c\\u200d\\p{Variation_Selector}]`, 'gu');

/** Returns a text without the joiners and variation selectors that neither its script nor an emoji needs. */
export const withoutLooseJoiners = (value: string): string =>
  value.replaceAll(JOINER, (_character, needed?: string) => needed ?? '');

/** Characters that are drawn as empty space: all spaces, line ends, and the blanks of Braille and Hangul. */
const BLANK = String.raw`\s\u{85}\u{115f}\u{1160}\u{2800}\u{3164}\u{ffa0}`;

/** Characters that are drawn as nothing: controls, format characters, joiners, fillers, variation selectors. */
const NOTHING = String.raw`\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}`;

/** Characters that change how the one before them is drawn, which scripts and emoji need also at the end of a text. */
const SHAPING = String.raw`\u{200c}\u{200d}\p{Variation_Selector}`;

const BLANKS = new RegExp(`[${BLANK}]+`, 'gu');
const UNSEEN = new RegExp(`[${NOTHING}]`, 'gu');
const START = new RegExp(`^[${BLANK}${NOTHING}]+`, 'u');
const END = new RegExp(`[[${BLANK}${NOTHING}]--[${SHAPING}]]+$`, 'v');
/** An end that only seems to shape something, because a blank precedes it. */
const LOOSE_END = new RegExp(`[${BLANK}][${BLANK}${NOTHING}]*$`, 'u');

/** Most texts: nothing has to be done for them. */
const PLAIN = /^[!-~](?: ?[!-~])*$/;

/**
 * Returns an identifier without what a reader cannot see; blanks inside it become one space. Two identifiers that look
 * the same because of such characters become the same. Empty if nothing can be seen.
 */
export const visibleText = (text: string): string =>
  PLAIN.test(text)
    ? text
    : text
        .replace(BLANKS, ' ')
        .replace(UNSEEN, '')
        .replace(/ {2,}/g, ' ')
        .trim()
        // Last: what was between a letter and its accent is gone now.
        .normalize('NFC');

/**
 * Returns a text for readers without what cannot be seen at its ends. Joiners and variation selectors inside it stay,
 * because Persian, the scripts of India and emoji need them. Empty if nothing can be seen.
 */
export const trimmedText = (text: string): string => {
  if (PLAIN.test(text)) return text;
  const trimmed = text.normalize('NFC').replace(START, '');
  return visibleText(trimmed) === '' ? '' : trimmed.replace(LOOSE_END, '').replace(END, '');
};
