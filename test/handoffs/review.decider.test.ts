import { describe, expect, it } from 'vitest';
import type { EventData } from '#contracts/registries/events.ts';
import { review, type ReviewState } from '#src/handoffs/handoff.decider.ts';

const line = (id: number, quantity = 4) => ({
  line_id: String(id),
  product_id: `prd_${id}`,
  sku: `MUG-${id}`,
  title: 'Mug',
  product_revision: 0,
  quantity,
  unit_price: 100,
  tier_min_quantity: 1,
  category: 'Mugs',
  currency: 'GBP',
});
const REFERENCE = { handoff_id: 'hnd_1', agent_id: 'agt_1', dims: {} };
const LIST: EventData<'BuyerListCreated'> = {
  ...REFERENCE,
  locale: 'en',
  lines: [1, 2, 3].map((id) => line(id)),
  totals: [],
  token_hash: 'h',
  review_origin: 'https://t.example',
  expires_at: 1_000,
  window_days: 30,
};
const created = review.evolve(undefined, { type: 'BuyerListCreated', at: 1, data: LIST });
const revise = (
  state: ReviewState,
  change: Omit<EventData<'HandoffListRevisedByBuyer'>, keyof typeof REFERENCE | 'totals'>,
): ReviewState =>
  review.evolve(state, {
    type: 'HandoffListRevisedByBuyer',
    at: 2,
    data: { ...REFERENCE, ...change, totals: [] },
  });
const idsOf = (lines: ReviewState['lines'] = []) => lines.map(({ line_id }) => line_id);
const command = (state: ReviewState, lines: ReviewState['lines'], limit = 100) =>
  review.decide(state, {
    type: 'ReviseList',
    at: 3,
    listRevision: state.list_revision,
    limits: { revisions: 100, lines: limit },
    lines,
    totals: [],
  });

describe('The lines that a buyer removed', () => {
  it('Lines that a buyer removed are in the order of their removal, with their last quantity, until they are put back', () => {
    const changed = revise(created, { changed: [line(3, 9)] });
    const shorter = revise(revise(changed, { removed: ['3'] }), { removed: ['1'] });
    expect(shorter.removed).toEqual([line(3, 9), line(1)]);
    const back = revise(shorter, { added: [line(1, 5), line(4)] });
    expect(idsOf(back.lines)).toEqual(['1', '2', '4']);
    expect(back.lines[0]).toEqual(line(1, 5));
    expect(back.removed).toEqual([line(3, 9)]);
    expect(idsOf(revise(back, { removed: ['1'] }).removed)).toEqual(['3', '1']);
  });
});

describe('A change that adds lines', () => {
  it('A change that adds lines contains only them, and those that differ', () => {
    const lines = [line(1), line(3, 8), line(4)];
    expect(command(created, lines)).toEqual({
      accepted: true,
      events: [
        {
          type: 'HandoffListRevisedByBuyer',
          data: {
            ...REFERENCE,
            changed: [line(3, 8)],
            removed: ['2'],
            added: [line(4)],
            totals: [],
          },
        },
      ],
    });
  });

  it('A change that adds lines counts for the limit of changed lines', () => {
    const added = [line(4), line(5)];
    const longer = revise(created, { added });
    expect(command(longer, LIST.lines, 2)).toMatchObject({ reason: 'too_many_revisions' });
    expect(command(longer, LIST.lines, 3)).toMatchObject({ accepted: true });
  });
});
