import { HANDOFF_EVENTS, type HandoffEventType } from '#contracts/events/index.ts';
import type { HandoffState } from '#src/domain/handoff-state.ts';
import { handoff } from '#src/domain/handoff.ts';
import type { Position } from '#src/ports/event-log.ts';
import { happened, idInStream } from './happened.ts';
import type { Projection } from './projection.ts';

/** The decider's state, and where its first event stands. */
export type HandoffRow = HandoffState & { sort: Position };

/** An owner's handoffs, newest first. */
export const handoffs: Projection<HandoffRow> = {
  name: 'handoffs',
  version: 2,
  handles: HANDOFF_EVENTS,
  begins: ['HandoffCreated'],
  place(event) {
    const { type, data } = happened<HandoffEventType>(event);
    // An erasure names its subject only; the stream says whose it is.
    const key = type === 'SubjectErased' ? idInStream(event, 'handoff', 'hnd') : data.handoff_id;
    return key === undefined ? undefined : { scope: event.owner, key };
  },
  evolve(row, event) {
    const state = handoff.evolve(row, happened<HandoffEventType>(event)) as HandoffRow;
    state.sort = row ? row.sort : event.position;
    return state;
  },
  sort: (row) => row.sort,
};
