import type { ReviewTokenRow } from '#src/ports/rows.ts';
import { typedEvent } from './typed-event.ts';
import type { Projection } from './projection.ts';

/** The handoff of each review link, by the hash of its token. */
export const reviewTokens: Projection<ReviewTokenRow> = {
  name: 'review-tokens',
  version: 1,
  handles: ['HandoffCreated'],
  begins: ['HandoffCreated'],
  place(event) {
    return { scope: typedEvent<'HandoffCreated'>(event).data.token_hash, key: '' };
  },
  evolve(_row, event) {
    const { handoff_id } = typedEvent<'HandoffCreated'>(event).data;
    return { owner: event.owner, handoff_id };
  },
};
