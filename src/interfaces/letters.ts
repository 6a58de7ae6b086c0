/** Letters: the texts of all capabilities, each sent as plain text and as small HTML from the same parts. */
import { html } from 'hono/html';
import { accessLetters } from '#src/access/letters.ts';
import { REVIEW_LINK, rfqLetters } from '#src/handoffs/letters.ts';
import { leadLetters } from '#src/leads/letters.ts';
import { approvalLetters } from '#src/outreach/letters.ts';
import { ownerLetters } from '#src/owners/letters.ts';
import { peopleLetters } from '#src/people/letters.ts';
import { privacyLetters } from '#src/privacy/letters.ts';
import type { MailTexts } from '#src/sending/dispatch-mail.ts';
import type { LetterText, LetterTexts, Paragraph } from '#src/sending/letters.ts';
import type { ListedFacts, MailFacts, MailKind } from '#src/sending/mail.ts';
import { type House, sellerOf, termsOf } from '#src/shared/house.ts';
import { languageOf } from '#src/shared/messages.ts';
import { HOUSE_LOCALE, type Writer, writerFor } from '#src/shared/money.ts';

/** One text per kind of letter: a missing one does not compile. */
const LETTERS: LetterTexts = {
  ...rfqLetters,
  ...ownerLetters,
  ...accessLetters,
  ...peopleLetters,
  ...privacyLetters,
  ...approvalLetters,
  ...leadLetters,
};

/** What names the list above its lines. */
const nameOfList = ({ title, promoter }: ListedFacts, { say }: Writer): string =>
  promoter === undefined ? title : say('letter_list', { title, promoter });

const itemTexts = ({ items, more }: ListedFacts, { say, count }: Writer): string[] => [
  ...items.map(({ quantity, title, sku }) => `${count(quantity)} × ${title} (${sku})`),
  ...(more > 0 ? [say('letter_list_more', { count: more })] : []),
];

const paragraphText = (paragraph: Paragraph): string =>
  typeof paragraph === 'string' ? paragraph : `${paragraph.text} ${paragraph.link}`;

/** Renders the letter as plain text and as HTML without styles, scripts or pictures. */
export const renderLetter = async <Kind extends MailKind>(
  kind: Kind,
  facts: MailFacts[Kind],
  { house, ...place }: { origin: string; house: House | undefined },
): Promise<MailTexts> => {
  const letter = LETTERS[kind](facts, place);
  return renderTexts({
    ...letter,
    paragraphs: [...letter.paragraphs, ...signature(letter, house)],
  });
};

/** Who sends the letter; to a buyer also what prices include, and when staff answer. */
const signature = ({ locale }: LetterText, house: House | undefined): string[] => {
  if (!house) return [];
  const writer = writerFor(locale ?? HOUSE_LOCALE);
  const terms = locale === undefined ? '' : termsOf(house, writer);
  return [terms, sellerOf(house, writer)].filter((part) => part !== '');
};

/** Renders the letter that people approved with the review link in its place. */
export const renderDelivery = (
  { subject, text, locale }: { subject: string; text: string; locale: string },
  link: string,
): Promise<MailTexts> =>
  renderTexts({
    locale,
    subject,
    paragraphs: text.split('\n\n').map((paragraph) => {
      const [before, after] = paragraph.split(` ${REVIEW_LINK}`);
      return after === undefined ? paragraph : { text: before ?? '', link };
    }),
  });

const renderTexts = async ({
  subject,
  title,
  list,
  paragraphs,
  locale = HOUSE_LOCALE,
}: LetterText): Promise<MailTexts> => {
  const writer = writerFor(locale);
  const listed = list && { name: nameOfList(list, writer), items: itemTexts(list, writer) };
  const listText = listed && [listed.name, ...listed.items.map((item) => `- ${item}`)].join('\n');
  const text = [title, ...paragraphs.map(paragraphText), listText].filter(
    (part) => part !== undefined,
  );
  const page = await html`<!doctype html>
<html lang="${languageOf(locale)}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${subject}</title></head>
<body>
${title !== undefined && html`<h1>${title}</h1>\n`}${paragraphs.map((paragraph) =>
  typeof paragraph === 'string'
    ? html`<p>${paragraph}</p>\n`
    : html`<p>${paragraph.text} <a href="${paragraph.link}">${paragraph.link}</a></p>\n`,
)}${
  listed &&
  html`<h2>${listed.name}</h2>
<ul>
${listed.items.map((item) => html`<li>${item}</li>\n`)}</ul>
`
}</body>
</html>
`;
  return { subject, text: `${text.join('\n\n')}\n`, html: page.toString() };
};
