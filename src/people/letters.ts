/** The texts of letters to people who sign in. */
import { LIMITS } from '#contracts/limits.ts';
import type { LetterTexts } from '#src/sending/letters.ts';
import { HOUSE_LOCALE, writerFor } from '#src/shared/money.ts';
import { rolesText } from '#src/shared/roles.ts';

export const peopleLetters: LetterTexts<'sign_in' | 'person_invitation'> = {
  sign_in: ({ path, until }, { origin }) => ({
    subject: 'Sign in',
    paragraphs: [
      {
        text: 'Somebody entered this address to sign in. If that was you, open this page in the same browser:',
        link: `${origin}${path}`,
      },
      `The link works once, until ${writerFor(HOUSE_LOCALE).moment(until)}. In another browser the page shows a code: type it into ` +
        'the page where you asked for the link, and nowhere else.',
      'If it was not you, do nothing: without this message nobody can sign in with your address.',
    ],
  }),
  person_invitation: ({ path, until, roles, owners }, { origin }) => ({
    subject: 'You are invited to sign in',
    paragraphs: [
      {
        text: `You are invited to Tributary as ${rolesText({ roles, owners })}. Open this page to sign in for the first time:`,
        link: `${origin}${path}`,
      },
      `The link works once, until ${writerFor(HOUSE_LOCALE).moment(until)}. After that, sign in with this address: each time you ` +
        `get a link that works for ${LIMITS.SIGN_IN_MINUTES} minutes.`,
      'If you do not know why you get this, do nothing.',
    ],
  }),
};
