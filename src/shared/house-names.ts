/** Names that look like the service or the people who run it, which no promoter and no agent can have. */
import { DIRECT_OWNER, SYSTEM_OWNERS } from '#contracts/fields.ts';
import { cached } from './work.ts';
import { type Refusal, refuse } from './outcome.ts';
import { skeletonsOf } from './person.ts';

/** Refused in any name that contains it. */
const BRAND = 'tributary';

/** Refused as a whole name, also repeated and with the words beside them. */
const WORDS =
  'admin administration administrator auditor moderator official operator postmaster privacy staff support system webmaster';
const BESIDE =
  'account agent agents and at by department desk for from of office service services team the';

/**
 * Letters with a stroke or a hook, which look like a letter and a mark in confusables.txt of Unicode 17.0 (UTS #39), and
 * small capitals.
 */
const MARKED =
  'D:ÐĐƉ E:Ɇ F:Ƒ G:Ǥ H:ĦҢӇӉⱧ J:Ɉ K:ҚҞⱩꝀ L:Ł M:Ӎ N:Ɲ O:ØƟΘθѲӨᎾᏫⲐⴱⵁꝊ T:ŦƮȾҬ U:ɄᏌ X:Ҳ Y:ɎҰ Z:ƵȤ b:ƀƂƃɓБѢѣҌҍᑳ ' +
  'c:ȼҫ d:đƌɖɗ e:ɇҿ f:ᵮ fn:ʩ g:ǥɠ h:ħɦћᏲꚕ i:ɨᵻᵼ j:ɉ k:ƙ l:łƗƚɫɭ n:ŋƞɳηղᵰ o:øɵѳөတთⲑꝋꬾꭴꮎꮻ p:ƥᵽ q:ʠ r:ɍɼɽғᵲ ' +
  's:ʂᵴ t:ŧƭᵵ u:џᵾꮜ w:ѽꝡ𑓅 y:ƴɏұ z:ƶȥʐᵶ ' +
  'a:ᴀ b:ʙ d:ᴅ e:ᴇ f:ꜰ g:ɢ h:ʜ j:ᴊ k:ᴋ l:ʟ m:ᴍ n:ɴ p:ᴘ r:ʀ t:ᴛ y:ʏ';
const UNMARKED: ReadonlyMap<string, string> = new Map(
  MARKED.split(' ').flatMap((group) => {
    const [letter = '', marked = ''] = group.split(':');
    return Array.from(marked, (one): [string, string] => [one, letter]);
  }),
);

/** Digits that are written for letters. */
const DIGITS: Readonly<Record<string, string>> = { 3: 'e', 4: 'a', 5: 's', 7: 't', 8: 'b', 9: 'g' };

/** How a name looks without marks, spaces and signs: as written, in upper and in lower case. */
const looksOf = (name: string): string[] => {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '');
  const letters = Array.from(plain, (one) => UNMARKED.get(one) ?? one).join('');
  return skeletonsOf(letters).map((look) => look.replaceAll(/[^\p{L}\p{N}]/gu, ''));
};

type Patterns = { whole: RegExp; part: RegExp }[];

/** The shortest label of a host that is a name. */
const LABEL_CHARS_MIN = 3;

/** The names of the host that people see in links: all of it, and its labels but the last. */
const namesOfHost = (host: string): { whole: string[]; part: string[] } => {
  if (host.includes(':') || /^[\d.]+$/.test(host)) return { whole: [], part: [] };
  const labels = host.split('.').filter((label) => label !== 'www');
  const named = labels.length === 1 ? labels : labels.slice(0, -1);
  const whole = named.filter((label) => label.length >= LABEL_CHARS_MIN);
  return { whole, part: labels.length > 1 && whole[0] === labels[0] ? [labels.join('')] : [] };
};

/** One pair for each of the looks. */
const patternsFor = cached(100, (host: string): Patterns => {
  const { whole, part } = namesOfHost(host);
  const words = [BRAND, DIRECT_OWNER, ...SYSTEM_OWNERS, ...WORDS.split(' '), ...whole];
  const beside = BESIDE.split(' ');
  const oneOf = (texts: readonly string[], look: number): string =>
    texts.flatMap((text) => looksOf(text)[look] || []).join('|');
  return looksOf('').map((_none, look) => ({
    whole: new RegExp(
      `^(?:${oneOf(beside, look)})*(?:${oneOf(words, look)})(?:${oneOf([...beside, ...words], look)})*$`,
    ),
    part: new RegExp(oneOf([BRAND, ...part], look)),
  }));
});

/** Whether a name looks like one of the service at `origin`. */
export const looksLikeHouse = (name: string, origin: string): boolean => {
  const patterns = patternsFor(new URL(origin).hostname);
  const names = [name, name.replace(/[\d\s]+$/, '')];
  return names.some((one) =>
    looksOf(one).some((look, index) => {
      const { whole, part } = patterns[index] ?? {};
      const read = look.replaceAll(/\d/g, (digit) => DIGITS[digit] ?? digit);
      return [look, read].some((text) => whole?.test(text) || part?.test(text));
    }),
  );
};

/** Refuses names that look like one of the service at `origin`. `names` are by the pointers of their fields. */
export const refuseHouseNames = (
  { origin }: { origin(): string },
  names: Readonly<Record<string, string | undefined>>,
): Refusal | undefined => {
  const errors = Object.entries(names).flatMap(([pointer, name]) =>
    name !== undefined && looksLikeHouse(name, origin())
      ? [
          {
            pointer,
            code: 'reserved',
            detail: 'looks like a name of this service or of its staff: choose a name of your own',
          },
        ]
      : [],
  );
  return errors.length === 0
    ? undefined
    : refuse('validation_failed', 'Some fields are not valid.', { errors });
};
