/** The form of the texts of letters. Each capability has its own in its `letters.ts`; `src/interfaces/letters.ts` sends them. */
import type { ListedFacts, MailFacts, MailKind } from './mail.ts';

/** A paragraph, and the address that it ends in. */
export type Paragraph = string | { text: string; link: string };

/**
 * `title` and `list` are for mailboxes that have confirmed something; no letter to a stranger has them. `locale` is that of a
 * letter to a buyer.
 */
export type LetterText = {
  locale?: string;
  subject: string;
  title?: string;
  list?: ListedFacts | undefined;
  paragraphs: readonly Paragraph[];
};

/** The text of a letter of each kind, from its facts. `origin` is the public origin, without a slash at the end. */
export type LetterTexts<Kind extends MailKind = MailKind> = {
  [Each in Kind]: (facts: MailFacts[Each], place: { origin: string }) => LetterText;
};
