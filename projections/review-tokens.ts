import type { ReviewTokenRow } from '#src/ports/rows.ts';
import { typedEvent } from './typed-event.ts';
import type { Projection } from './projection.ts';

type Begin = 'HandoffCreated' | 'BuyerListCreated';
const BEGINS: readonly Begin[] = ['HandoffCreated', 'BuyerListCreated'];

/** The handoff of each review link, by the hash of its token. */
export const reviewTokens: Projection<ReviewTokenRow> = {
  name: 'review-tokens',
  version: 2,
  handles: BEGINS,
  begins: BEGINS,
  place(event) {
    return { scope: typedEvent<Begin>(event).data.token_hash, key: '' };
  },
  evolve(_row, event) {
    const { handoff_id } = typedEvent<Begin>(event).data;
    return { owner: event.owner, handoff_id };
  },
};
