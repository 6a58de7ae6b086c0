/** Names and identities of people: nothing in them can mislead a reader. */
import { z } from 'zod';
import { exempt } from './fields.ts';
import { codePointOf, INVISIBLE } from './texts.ts';

/** Groups of scripts that one name may mix, separated by commas: their letters do not look alike. */
const SCRIPT_GROUPS = (
  'Latin,Han,Hiragana,Katakana,Bopomofo,Hangul Arabic Armenian Bengali Cyrillic Devanagari Ethiopic Georgian Greek ' +
  'Gujarati Gurmukhi Hebrew Kannada Khmer Lao Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan'
)
  .split(' ')
  .map((group) => {
    const scripts = group.split(',');
    const members = scripts.map((name) => `\\p{Script_Extensions=${name}}`).join('');
    return { name: scripts[0] ?? '', pattern: new RegExp(`[${members}]`, 'u') };
  });
const OTHER = {
  name: 'another script',
  pattern: /(?!\p{Script=Common}|\p{Script=Inherited})\p{L}/u,
};

/** Returns the first letter that is not of the script that most letters of the text have. */
const findForeignLetter = (text: string): { letter: string; script: string } | undefined => {
  const letters = Array.from(text).filter((character) => OTHER.pattern.test(character));
  const counts = SCRIPT_GROUPS.map(
    ({ pattern }) => letters.filter((one) => pattern.test(one)).length,
  );
  const main = SCRIPT_GROUPS[counts.indexOf(Math.max(...counts))] ?? OTHER;
  const letter = letters.find((one) => !main.pattern.test(one));
  // A name in a rare script alone is not mixed.
  if (letter === undefined || Math.max(...counts) === 0) return undefined;
  return {
    letter,
    script: (SCRIPT_GROUPS.find(({ pattern }) => pattern.test(letter)) ?? OTHER).name,
  };
};

/** A fault of a name, with the character that causes it. */
const nameFault = (name: string): { code: string; message: string } | undefined => {
  const hidden = INVISIBLE.exec(name)?.[0];
  if (hidden !== undefined)
    return {
      code: 'invisible_character',
      message: `contains ${codePointOf(hidden)}, which a reader cannot see`,
    };
  const foreign = findForeignLetter(name);
  return (
    foreign && {
      code: 'mixed_scripts',
      message:
        `mixes scripts: ${foreign.letter} is ${codePointOf(foreign.letter)} (${foreign.script}); ` +
        'write the name in one script',
    }
  );
};

/** The name of a person on one line: no invisible characters, and letters of one script. */
export const personName = exempt(
  'staff',
  z
    .string()
    .normalize('NFC')
    .trim()
    .min(1)
    .max(100)
    .refine((value) => value.isWellFormed(), { error: 'contains half of a surrogate pair' })
    .superRefine((value, context) => {
      const fault = nameFault(value);
      if (fault)
        context.addIssue({ code: 'custom', message: fault.message, params: { code: fault.code } });
    }),
);

/** The identity of a person, chosen by an operator: an address, a number of the directory, an account name. */
export const personId = exempt(
  'staff',
  z
    .string()
    .trim()
    .toLowerCase()
    .max(100)
    .regex(/^[a-z0-9](?:[a-z0-9._+@-]*[a-z0-9])?$/, {
      error: 'must be letters of a-z, digits and . _ + @ -, like ann@acme.example',
    }),
);
