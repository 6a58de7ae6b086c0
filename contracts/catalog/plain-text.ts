/** Texts of feeds as people read them: shops export their titles with the entities and tags of HTML. */
import { trimmedText } from '#contracts/texts.ts';

/** The letters and signs of Latin-1, from U+00A0 on. */
const LATIN_1 =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro ' +
  'para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil ' +
  'Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave ' +
  'Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml ' +
  'igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute ' +
  'thorn yuml';
/** Other names of HTML 4 that texts about goods have, each with its character. */
const OTHERS =
  'quot " amp & apos \' lt < gt > OElig Œ oelig œ Scaron Š scaron š Zcaron Ž zcaron ž Yuml Ÿ fnof ƒ circ ˆ tilde ˜ ' +
  'ensp \u2002 emsp \u2003 thinsp \u2009 zwnj \u200c zwj \u200d ndash – mdash — lsquo ‘ rsquo ’ sbquo ‚ ldquo “ rdquo ” ' +
  'bdquo „ dagger † Dagger ‡ bull • hellip … permil ‰ prime ′ Prime ″ lsaquo ‹ rsaquo › euro € trade ™ larr ← rarr → ' +
  'minus − le ≤ ge ≥ ne ≠ infin ∞ asymp ≈ alpha α beta β gamma γ delta δ mu μ pi π omega ω Omega Ω ohm Ω';

const pairsIn = (text: string): [string, string][] =>
  [...text.matchAll(/(\w+) (.)/gsu)].map(([, name = '', character = '']) => [name, character]);

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ...LATIN_1.split(' ').map((name, at): [string, string] => [
    name,
    String.fromCodePoint(0xa0 + at),
  ]),
  ...pairsIn(OTHERS),
]);

/** `&amp;`, `&#233;` or `&#xe9;`. */
const ENTITY = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/gi;

const CODE_POINT_MAX = 0x10ffff;

/** The character of a number; undefined for half of a surrogate pair and for controls, which no text may have. */
const characterOf = (code: number): string | undefined =>
  code > CODE_POINT_MAX || (code >= 0xd800 && code <= 0xdfff) || code < 0x20
    ? undefined
    : String.fromCodePoint(code);

const decodeOnce = (text: string): string =>
  text.replace(
    ENTITY,
    (entity, decimal?: string, hexadecimal?: string, name?: string) =>
      (name === undefined
        ? characterOf(
            decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal),
          )
        : ENTITIES.get(name)) ?? entity,
  );

/** Text that was escaped on its way through several programs: `&amp;amp;`. */
const TIMES_MAX = 3;

/** Decodes entities, also those that were escaped several times. Unknown ones stay. */
export const decoded = (text: string): string => {
  let now = text;
  for (let time = 0; time < TIMES_MAX && now.includes('&'); time += 1) {
    const next = decodeOnce(now);
    if (next === now) break;
    now = next;
  }
  return now;
};

/** Elements that begin a new line. */
const LINES =
  'address|article|blockquote|br|dd|div|dl|dt|h[1-6]|hr|li|ol|p|pre|section|table|tr|ul';
const INLINE =
  'a|abbr|b|big|center|cite|code|del|em|figure|font|i|iframe|img|ins|kbd|label|mark|picture|small|source|span|' +
  'strike|strong|sub|sup|tbody|td|th|thead|tt|u|var|video';
const tags = (names: string): RegExp => new RegExp(`</?(?:${names})(?:\\s[^<>]*)?/?>`, 'gi');
const LINE_TAGS = tags(LINES);
/** Only elements of HTML, and without `s`: `<5 cm`, `<abc>` and `size <S>` are text. */
const INLINE_TAGS = tags(INLINE);
/** Not shown by any browser, with what they contain. */
const HIDDEN_PARTS = /<(script|style)(?:\s[^<>]*)?>[^]*?<\/\1\s*>|<!--[^]*?-->|<!\[CDATA\[|\]\]>/gi;

/** More than any field can hold, with its tags; a longer text is refused for its length. */
const CHARS_MAX = 20_000;

const withoutTags = (text: string): string =>
  text.length <= CHARS_MAX && (text.includes('<') || text.includes(']]>'))
    ? text
        .replace(HIDDEN_PARTS, '')
        .replace(LINE_TAGS, '\n')
        .replace(INLINE_TAGS, '')
        .replace(/\n{3,}/g, '\n\n')
    : text;

/** A text of several lines as people read it: without entities, tags, and what cannot be seen at its ends. */
export const plainText = (text: string): string => trimmedText(withoutTags(decoded(text)));

/** A text of one line as people read it. A tag that begins a line is a space. */
export const plainLine = (text: string): string => {
  const read = decoded(text);
  const shown = withoutTags(read);
  return trimmedText(shown === read ? read : shown.replace(/\s*\n\s*/g, ' '));
};
