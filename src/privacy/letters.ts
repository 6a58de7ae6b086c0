/** The text of the letter with the link to the data of a person. */
import type { LetterTexts } from '#src/sending/letters.ts';
import { HOUSE_LOCALE, writerFor } from '#src/shared/money.ts';

export const privacyLetters: LetterTexts<'privacy_link'> = {
  privacy_link: ({ path, until }, { origin }) => ({
    subject: 'Your data',
    paragraphs: [
      'Somebody asked for a link to see, copy or erase what is stored with this e-mail address. If that was not you, do ' +
        'nothing: only the holder of the link can see or change anything.',
      {
        text: `The link works until ${writerFor(HOUSE_LOCALE).moment(until)}:`,
        link: `${origin}${path}`,
      },
    ],
  }),
};
