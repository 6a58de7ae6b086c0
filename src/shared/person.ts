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

/** Maps a character to the letters that it looks like: to the first letter of its group. */
const PROTOTYPES: ReadonlyMap<string, string> = new Map(
  LOOKS_LIKE.split(' ').flatMap((group) => {
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
export type Person = {
  /** Absent in decisions of earlier versions. */
  name?: string | undefined;
  /** Absent in tokens of earlier versions. */
  person_id?: string | undefined;
};

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

/** Letters look alike in one case only: B and Cyrillic В, but not b and в. */
const CASES: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name.toUpperCase(),
  (name) => foldCase(name),
];

/**
 * Returns whether two names can be those of one person. Ignores case, width, white space, punctuation and invisible
 * characters; letters that look alike, as written or in either case, are equal.
 */
export const isOneName = (one: string, other: string): boolean =>
  CASES.some((inCase) => skeletonOf(inCase(one)) === skeletonOf(inCase(other)));

/** Makes the person id of a name; undefined for a name without letters and digits. */
export const personIdOfName = (name: string): string | undefined => {
  const skeleton = skeletonOf(name);
  return skeleton === '' ? undefined : `${FROM_NAME}${skeleton}`;
};

const hasChosenId = ({ person_id }: Person): boolean =>
  person_id !== undefined && !person_id.startsWith(FROM_NAME);

/** Returns whether two credentials can belong to one person: by the ids if both were chosen, otherwise by the names. */
export const isOnePerson = (one: Person, other: Person): boolean =>
  hasChosenId(one) && hasChosenId(other)
    ? one.person_id === other.person_id
    : one.name !== undefined && other.name !== undefined && isOneName(one.name, other.name);
