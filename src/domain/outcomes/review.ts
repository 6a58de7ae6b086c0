import type { EventOf, HandoffEventType } from '#contracts/events/index.ts';
import type { Decider } from '../decider.ts';
import type { HandoffState } from '../handoff-state.ts';
import { handoff, type HandoffCommand, type HandoffRejection } from '../handoff.ts';

/** A handoff with what only the pages of its buyer need, so that the read model of handoffs does not have it. */
export type ReviewState = HandoffState & {
  /** When the list was last sent, in epoch milliseconds. */
  sent_at?: number;
};

type Event = EventOf<HandoffEventType>;

/** Decides as the decider of handoffs does. */
export const review: Decider<ReviewState, HandoffCommand, Event, HandoffRejection> = {
  ...handoff,
  evolve(state, event) {
    return {
      ...handoff.evolve(state, event),
      ...(event.type === 'RfqSubmittedByBuyer' && { sent_at: event.at }),
    };
  },
};
