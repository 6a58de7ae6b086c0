/** Names of people, and whether two of them look alike. */

/**
 * Letters and digits that look alike. Source: confusables.txt of Unicode 15.0 (UTS #39), as ICU 72 has it: characters
 * of the Latin, Greek, Cyrillic and Armenian scripts and decimal digits, without those that NFKC replaces.
 */
const LOOKS_LIKE =
  '2:ƧꙄꝚ 3:ƷȜЗӠꝪꞫ 5:Ƽ 6:б 8:Ȣȣ৪੪ 9:৭੧୨൭Ꝯ A:ΑА AA:Ꜳ AE:ÆӔ AO:Ꜵ AU:Ꜷ AV:ꜸꜺ AY:Ꜽ B:ΒВꞴ C:С ' +
  'E:ΕЕ F:ϜꞘ G:Ԍ H:ΗН J:ͿЈꞲ K:ΚК M:ΜϺМ N:Ν O:0ΟОՕ߀০୦ OE:Œ OO:ꚘꝎ P:ΡР R:Ʀ S:ЅՏ T:ΤТ T3:Ꜩ ' +
  'U:Ս V:Ѵ٧۷ W:Ԝ X:ΧХꞳ Y:ΥУҮ Z:Ζ a:ɑαа aa:ꜳ ae:æӕ ao:ꜵ au:ꜷ av:ꜹꜻ ay:ꜽ b:ƄЬ bl:Ы c:сᴄ ' +
  'd:ԁ dz:ʣ dȝ:ʤ dʑ:ʥ e:еҽꬲ f:քẝꞙꬵ fŋ:ʩ g:ƍɡցᶃ h:һհ i:ıɩɪιіӏꙇ j:ϳј l:1I|ƖǀΙІӀ١۱ lO:Ю ' +
  'll:ǁ ls:ʪ lz:ʫ lȝ:ɮ n:ոռ o:οσоօ٥۵०੦૦௦౦೦൦๐໐၀ᴏᴑꬽ oe:œ oo:ꚙꝏ oᴇ:ɶ p:ρр q:ԛգզ r:гᴦꭇꭈ ' +
  'rn:m s:ƽѕꜱ tf:ꝷ ts:ʦ tȝ:ꜩ tɕ:ʨ tʃ:ʧ u:ʋυսᴜꞟꭎꭒ ue:ᵫ uo:ꭣ v:νѵᴠ w:ɯѡԝաᴡ x:х y:ɣʏγуүᶌỿꭚ ' +
  'z:ᴢ Þ:Ϸ ß:βꞵ þ:ƿϸ ĸ:κкᴋ ƅ:ь ƅi:ы Ɔ:Ͻ Ə:Ә Ɛ:Ԑ ƨ:ᴤꙅ Ʃ:Σ ǝ:əә ǝo:ᴔ Ƕ:Ԋ ȝ:ʒӡꝫ ȷ:յ Ʌ:ΛЛ٨۸ ' +
  'ɋ:ᶐ ɔ:ͻᴐↄ ɔe:ꭢ ɜ:зᴈ ɢ:ԍ ɰ:պ ɸ:φф ʃ:ꭍ ʌ:ᴧ ʍ:мᴍ ʘ:Ꙩ ʙ:в ʚ:ꞝ ʜ:н Γ:Г Π:П Φ:ФՓ Ψ:Ѱ π:пᴨ ' +
  'ς:ϛ χ:ꭓꭕ ψ:ѱ ω:ꙍꞷ И:Ͷ Ъl:Ꙑ л:ᴫ љ:ꭠ Ҷ:Ӌ ҷ:ӌ ᴎ:ͷи ᴘ:ᴩ ᴙ:я ᴛ:τт ẟ:δծ Ⱶ:Ͱ Ꙍ:Ꞷ ꜧ:ꞕ Ꜿ:Ͽ ' +
  'ꜿ:ͽ Ꝺ:ꝺ Ꞓ:Є ꞓ:ɛεєԑ';

/**
 * Letters and digits of other scripts that look like those of ASCII, from the same file of Unicode 17.0, without those that
 * are written from right to left.
 */
const LOOKS_LIKE_IN_OTHERS =
  '2:Ϩᒿꛯ 3:३૩ⲜⳄⳌ𑣊𖼻 4:Ꮞ𑢯 5:𑢻 6:ϬᏮⳒⳓⳜ𑣕 7:𐓒𑣆 8:𐌚 9:Ⳋⳋ𑢬𑣌𑣖 A:Ꭺᗅꓮ𐊠𖽀 B:ᏴᗷⲂꓐ𐊂𐊡𐌁 C:ᏟⲤꓚ𐊢𐌂𐐕𐔜𑣩𑣲 D:Ꭰᗞᗪꓓ E:Ꭼⴹꓰ𐊆𑢦𑢮 ' +
  'F:ᖴꓝ𐊇𐊥𐔥𑢢𑣂 G:ᏀᏳꓖ H:ᎻᕼⲎꓧ𐋏 J:Ꭻᒍꓙ K:ᏦᛕⲔꓗ𐔘 L:ᏞᒪⳐꓡ𐐛𐔦𑢣𑢲𖼖 M:ᎷᗰᛖⲘꓟ𐊰𐌑 N:Ⲛꓠ𐔓 O:ଠዐⲞⵔ〇ꓳ𐊒𐊫𐐄𐓂𐔖𑢵𑣠 P:ᏢᑭⲢⳎꓑ𐊕 Q:ⵕ R:ᎡᏒᖇꓣ𐒴𖼵 ' +
  'S:ᏕᏚꓢ𐊖𐐠𖼺 T:ᎢⲦꓔ𐊗𐊱𐌕𑢼𖼊 U:ሀᑌꓴ𐓎𑢸𖽂 V:Ꮩᐯⴸꓦꛟ𐔝𑢠𖼈 W:ᎳᏔꓪ𑣦𑣯 X:ᚷⲬⵝꓫ𐊐𐊴𐌗𐌢𐔧𑣬 Y:ᎩᎽⲨꓬ𐊲𑢤𖽃 Z:Ꮓꓜ𐋵𑢩𑣥 b:Ꮟᑲᖯ c:ငၚⲥꮯ𐐽 d:Ꮷᑯꓒ f:ƒ ' +
  'h:Ꮒ i:ւᎥⲓꭵ𑣃 l:ᛁⲒⵏꓲ𐊊𐌉𐌠𖼨 o:ϭഠဝჿ០ⲟ𐐬𐓪𑓐𑣈𑣗 p:þⲣⳏ r:ⲅꮁ rn:𑜀𑣣 s:ടꮪ𐑈𑣁 u:𐓶𑣘 v:ꮩ𑜆𑣀 w:шⲽꮃ𑜊𑜎𑜏 x:ᕁᕽ y:ყⲩ𑣜 z:ꮓ𑣄';

/** Maps a character to the letters that it looks like: to the first letter of its group. */
const PROTOTYPES: ReadonlyMap<string, string> = new Map(
  `${LOOKS_LIKE_IN_OTHERS} ${LOOKS_LIKE}`.split(' ').flatMap((group) => {
    const [prototype = '', characters = ''] = group.split(':');
    return Array.from(characters, (character): [string, string] => [character, prototype]);
  }),
);

/** Replaces each character that looks like another one, as the skeleton of UTS #39 does; normalized to NFKC. */
const replaceConfusables = (text: string): string =>
  Array.from(text.normalize('NFD'), (character) => PROTOTYPES.get(character) ?? character)
    .join('')
    .normalize('NFKC');

/** A person as a credential or a decision names it. */
export type Person = { name: string; person_id: string };

/** Prefix of an id that was made from a name. An id that an operator chose has no colon. */
const FROM_NAME = 'name:';

/** Keeps letters, digits, the marks on them and single spaces; removes punctuation and invisible characters. */
const essence = (text: string): string =>
  text
    .normalize('NFKC')
    .replaceAll(/\s+/gu, ' ')
    .replaceAll(/[^\p{L}\p{N}\p{M} ]|\p{Default_Ignorable_Code_Point}/gu, '')
    .replaceAll(/ +/g, ' ')
    .trim();

/** Converts to upper case first, because that also makes one text of ß and ss, and of σ and ς. */
const foldCase = (text: string): string => text.toUpperCase().toLowerCase().normalize('NFKC');

/** The name as it looks. `|` looks like a letter, so punctuation is removed last. */
const skeletonOf = (name: string): string =>
  foldCase(essence(replaceConfusables(name.normalize('NFKC'))));

/** Letters look alike in only one case: B and Cyrillic В, but not b and в. */
const CASES: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name.toUpperCase(),
  (name) => foldCase(name),
];

/** The looks of a name: as written, in upper case, and in either. Two names look alike if one of their looks is equal. */
export const skeletonsOf = (name: string): string[] =>
  CASES.map((inCase) => skeletonOf(inCase(name)));

/**
 * Returns whether two names can be those of one person. Ignores case, width, white space, punctuation and invisible
 * characters; letters that look alike, as written or in either case, are equal.
 */
export const isOneName = (one: string, other: string): boolean => {
  const looks = skeletonsOf(other);
  return skeletonsOf(one).some((look, index) => look === looks[index]);
};

/** Makes the person id of a name; undefined for a name without letters and digits. */
export const personIdOfName = (name: string): string | undefined => {
  const skeleton = skeletonOf(name);
  return skeleton === '' ? undefined : `${FROM_NAME}${skeleton}`;
};

const hasChosenId = ({ person_id }: Person): boolean => !person_id.startsWith(FROM_NAME);

/** Whether the id is that of a person who signs in. Their names never look alike, so another one's name tells a second record. */
const signsIn = ({ person_id }: Person): boolean => person_id.startsWith('per_');

/**
 * Returns whether two credentials can belong to one person: by the ids if both were chosen, otherwise by the names. Somebody
 * who signs in is also told by the name.
 */
export const isOnePerson = (one: Person, other: Person): boolean => {
  if (one.person_id === other.person_id) return true;
  const byName = signsIn(one) || signsIn(other) || !hasChosenId(one) || !hasChosenId(other);
  return byName && isOneName(one.name, other.name);
};
