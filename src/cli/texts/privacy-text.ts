/** Texts of what is stored of a person. */
import { visible } from '#src/app/outreach/visible.ts';
import type { DeskAnswer } from '../desk/desk-client.ts';
import { formatPage } from './answer-text.ts';

export const foundText = ({
  complete,
  unindexed,
  contact,
  ...page
}: DeskAnswer<'findPersonalData'>): string =>
  formatPage(page) +
  contact.refused
    .map(
      ({ owner_id, since }) =>
        `\nContact by ${owner_id ?? 'all promoters'} is refused since ${since}.`,
    )
    .join('') +
  (complete
    ? ''
    : `\nIncomplete: ${unindexed} older contacts are not indexed yet. Repeat it later.`);

export const exportText = (answer: DeskAnswer<'exportPersonalData'>): string =>
  visible(JSON.stringify(answer, null, 2)).shown;
