import type { ReviewTokenRow } from '#src/ports/rows.ts';
import { type Projection, typedEvent } from './projection.ts';

type Begin = 'HandoffCreated' | 'BuyerListCreated' | 'RfqSubmittedByBuyer';
const BEGINS: readonly Begin[] = ['HandoffCreated', 'BuyerListCreated', 'RfqSubmittedByBuyer'];

/** The handoff of each review link and of each link that confirms an RFQ, by the hash of its token. */
export const reviewTokens: Projection<ReviewTokenRow> = {
  name: 'review-tokens',
  version: 3,
  handles: BEGINS,
  begins: BEGINS,
  place(event) {
    const { type, data } = typedEvent<Begin>(event);
    const hash = type === 'RfqSubmittedByBuyer' ? data.confirmation?.token_hash : data.token_hash;
    return hash === undefined ? undefined : { scope: hash, key: '' };
  },
  evolve(_row, event) {
    const { type, data } = typedEvent<Begin>(event);
    const of = { owner: event.owner, handoff_id: data.handoff_id };
    return type === 'RfqSubmittedByBuyer' && data.confirmation
      ? { ...of, confirms: data.confirmation.number }
      : of;
  },
};
