/** The text of the letter that asks for the confirmation of an owner mailbox. */
import type { LetterTexts } from '#src/sending/letters.ts';
import { HOUSE_LOCALE, writerFor } from '#src/shared/money.ts';

export const ownerLetters: LetterTexts<'owner_mailbox'> = {
  // Somebody else can have the address, so the message contains no text that a person typed.
  owner_mailbox: ({ path, until }, { origin }) => ({
    subject: 'Confirm your mailbox',
    paragraphs: [
      {
        text:
          'The staff of this service entered this address as the mailbox for notices to a promoter. If that is you, open ' +
          'this page and confirm it:',
        link: `${origin}${path}`,
      },
      `The link works until ${writerFor(HOUSE_LOCALE).moment(until)}. Until you confirm it, no notice is sent here.`,
      'If it is not you, do nothing, or say so on that page: then you get no more such messages.',
    ],
  }),
};
