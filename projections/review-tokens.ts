import type { ReviewTokenRow } from '#src/ports/rows.ts';
import { happened } from './happened.ts';
import type { Projection } from './projection.ts';

/** Whose handoff a buyer's link opens, by the hash of its token. */
export const reviewTokens: Projection<ReviewTokenRow> = {
  name: 'review-tokens',
  version: 1,
  handles: ['HandoffCreated'],
  begins: ['HandoffCreated'],
  place(event) {
    return { scope: happened<'HandoffCreated'>(event).data.token_hash, key: '' };
  },
  evolve(_row, event) {
    const { handoff_id } = happened<'HandoffCreated'>(event).data;
    return { owner: event.owner, handoff_id };
  },
};
