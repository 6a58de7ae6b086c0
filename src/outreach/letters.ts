/** The text of the digest for staff of what waits for approval. */
import type { Waiting } from '#src/sending/mail.ts';
import type { LetterTexts } from '#src/sending/letters.ts';
import { HOUSE_LOCALE, writerFor } from '#src/shared/money.ts';

const numberOf = ({ requests, has_more }: Pick<Waiting, 'requests' | 'has_more'>): string =>
  `${has_more ? 'More than ' : ''}${writerFor(HOUSE_LOCALE).count(requests)}`;

const waitingFor = (what: string, command: string, waiting: Waiting): string[] => {
  const { requests, owners, oldest_at } = waiting;
  if (requests === 0) return [];
  const writer = writerFor(HOUSE_LOCALE);
  return [
    `${what}: ${numberOf(waiting)} of ${writer.count(owners)} ${owners === 1 ? 'promoter' : 'promoters'}. The oldest ` +
      `waits since ${writer.moment(oldest_at)}.`,
    `List with: ${command}`,
  ];
};

export const approvalLetters: LetterTexts<'approvals_digest'> = {
  approvals_digest: ({ access, ...outreach }) => {
    const more = outreach.has_more || access.has_more;
    const number = numberOf({ requests: outreach.requests + access.requests, has_more: more });
    return {
      subject: `${number === '1' ? '1 request waits' : `${number} requests wait`} for approval`,
      paragraphs: [
        ...waitingFor('Outreach', 'tributary approvals list', outreach),
        ...waitingFor('Access for agents', 'tributary access requests --state pending', access),
      ],
    };
  },
};
