/** Texts as people type them: without case and accents, and with plain letters for the special ones of each alphabet. */

/**
 * Latin letters that no decomposition of Unicode reaches, by what people type for them: letters with a stroke, a hook or a
 * tail, ligatures, and letters of their own such as thorn. From the names of the letters in Unicode.
 */
const TYPED: Readonly<Record<string, string>> = {
  a: 'ᶏⱥ',
  aa: 'ꜳ',
  ae: 'æ',
  ao: 'ꜵ',
  au: 'ꜷ',
  av: 'ꜹꜻ',
  ay: 'ꜽ',
  b: 'ƀƃɓᵬᶀꞗ',
  c: 'ƈȼɕꞓꞔ',
  d: 'ðđƌȡɖɗᵭᶁᶑꝺ',
  db: 'ȸ',
  dz: 'ʣʥ',
  e: 'əǝɇɛᶒᶓⱸ',
  f: 'ƒᵮᶂꝼꞙ',
  g: 'ǥɠɡɣᵹᶃꞡ',
  h: 'ħɦⱨꞕ',
  hv: 'ƕ',
  i: 'ıɨɩᶖ',
  j: 'ȷɉɟʄʝ',
  k: 'ƙᶄⱪꝁꝃꝅꞣ',
  l: 'łƚȴɫɬɭᶅⱡꝉꞎ',
  ll: 'ỻ',
  ls: 'ʪ',
  lz: 'ʫ',
  m: 'ɱᵯᶆ',
  n: 'ŋƞȵɲɳᵰᶇꞑꞥ',
  o: 'øɔɵⱺꝋꝍ',
  oe: 'œ',
  oi: 'ƣ',
  oo: 'ꝏ',
  ou: 'ȣ',
  p: 'ƥᵱᵽᶈꝑꝓꝕ',
  q: 'ĸɋʠꝗꝙ',
  qp: 'ȹ',
  r: 'ɍɼɽɾᵲᵳᶉꞃꞧ',
  s: 'ȿʂᵴᶊẜẝꞅꞩ',
  sh: 'ʃʆᶋᶘ',
  ss: 'ß',
  t: 'ŧƫƭȶʈᵵⱦꞇ',
  th: 'þᵺꝥꝧ',
  ts: 'ʦ',
  tz: 'ꜩ',
  u: 'ʉʊᶙꞹ',
  ue: 'ᵫ',
  v: 'ʋᶌỽⱱⱴꝟ',
  vy: 'ꝡ',
  w: 'ⱳ',
  x: 'ᶍ',
  y: 'ƴɏỿ',
  z: 'ƶȥɀʐʑʒʓᵶᶎⱬ',
  // Greek has another sigma at the end of a word, which is the middle of a longer one.
  σ: 'ς',
};

/** The apostrophe of `ŉ`, and the dot between two l of Catalan: people leave both out. */
const LEFT_OUT = /ʼ(?=n)|(?<=l)\u00b7(?=l)/g;

const PLAIN_OF = new Map(
  Object.entries(TYPED).flatMap(([plain, letters]) =>
    Array.from(letters, (letter) => [letter, plain]),
  ),
);
const SPECIAL = new RegExp(`[${[...PLAIN_OF.keys()].join('')}]`, 'g');

const NON_ASCII = /[^\0-\x7f]/;
const ACCENTS = /[\u0300-\u036f]+/g;

/** Lower case, without accents, in compatibility form, so that a full-width or composed letter equals the plain one. */
export const foldText = (text: string): string =>
  NON_ASCII.test(text)
    ? text
        .normalize('NFKD')
        .replace(ACCENTS, '')
        .normalize('NFC')
        .toLowerCase()
        .replace(SPECIAL, (letter) => PLAIN_OF.get(letter) ?? letter)
        .replace(LEFT_OUT, '')
    : text.toLowerCase();

const ASCII_WORD = /[a-z0-9]+/g;

/** Each Han or kana character is a word, because these scripts have no spaces between words. */
const ALONE = '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}]';
const WORD = new RegExp(`${ALONE}|[[\\p{L}\\p{N}\\p{M}]--${ALONE}]+`, 'gv');

/** Splits text into folded words, the same way for the index and for queries. */
export const splitWords = (text: string): string[] => {
  const folded = foldText(text);
  return folded.match(NON_ASCII.test(folded) ? WORD : ASCII_WORD) ?? [];
};

/** What stands between the steps of a category's path, as in `Kitchen > Mugs`. */
const STEP = ' > ';

/** A name as names are compared: whatever its case, its accents and its spaces. */
export const nameKey = (name: string): string =>
  foldText(name).trim().replaceAll(/\s+/g, ' ').replaceAll(/ ?> ?/g, STEP);

/** The steps of a category's path. */
export const stepsOf = (category: string): string[] => category.split(/\s*>\s*/);

/** A category and those above it: `Kitchen`, `Kitchen > Mugs`. */
export const categoriesAbove = (category: string): string[] => {
  const steps = stepsOf(category);
  return steps.map((_, index) => steps.slice(0, index + 1).join(STEP));
};

/** Returns whether a category is the wanted one or below it. */
export const isWithinCategory = (wanted: string): ((category: string) => boolean) => {
  const key = nameKey(wanted);
  const known = new Map<string, boolean>();
  return (category) => {
    let isWithin = known.get(category);
    if (isWithin === undefined) {
      isWithin = categoriesAbove(category).some((one) => nameKey(one) === key);
      known.set(category, isWithin);
    }
    return isWithin;
  };
};
