/** Texts from outside as they are kept: in one composition (NFC), and without what a reader cannot see at their ends. */

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
