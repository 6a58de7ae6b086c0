import type { EventOf, HandoffEventType } from '#contracts/registries/events.ts';
import type { Decider } from '#src/shared/decider.ts';
import type { HandoffLine, HandoffState } from './handoff-state.decider.ts';
import { handoff, type HandoffCommand, type HandoffRejection } from './handoff.decider.ts';

/** A handoff with what only the pages of its buyer need, so that the read model of handoffs does not have it. */
export type ReviewState = HandoffState & {
  /** When the list was last sent, in epoch milliseconds. */
  sent_at?: number;
  /** The lines that the buyer removed, as they were then, in the order of their removal. */
  removed?: HandoffLine[];
};

type Event = EventOf<HandoffEventType>;

/** Decides as the decider of handoffs does. */
export const review: Decider<ReviewState, HandoffCommand, Event, HandoffRejection> = {
  ...handoff,
  evolve(state, event) {
    const after = handoff.evolve(state, event);
    return {
      ...after,
      ...(state &&
        event.type === 'HandoffListRevisedByBuyer' && { removed: removedAt(state, after) }),
      ...(event.type === 'RfqSubmittedByBuyer' && { sent_at: event.at }),
    };
  },
};

const removedAt = ({ lines, removed = [] }: ReviewState, after: HandoffState): HandoffLine[] => {
  const listed = new Set(after.lines.map(({ line_id }) => line_id));
  return [...removed, ...lines].filter(({ line_id }) => !listed.has(line_id));
};
