/** The events that can change what agents and owners see of a record, by owner in log order. */
import {
  AGENT_EVENTS,
  GOODS_EVENTS,
  HANDOFF_EVENTS,
  LEAD_EVENTS,
  LINK_EVENTS,
  OUTBOUND_EVENTS,
  type EventType,
} from '#contracts/registries/events.ts';
import { CHANGED_KINDS, type ChangeRow } from '#src/ports/rows.ts';
import type { Projection } from './projection.ts';

const RECORD_EVENTS: readonly EventType[] = [
  ...new Set([
    ...LINK_EVENTS,
    ...HANDOFF_EVENTS,
    ...LEAD_EVENTS,
    ...OUTBOUND_EVENTS,
    ...AGENT_EVENTS,
  ]),
];
/** Nothing that agents see depends on where goods are. */
const OF_GOODS: ReadonlySet<EventType> = new Set(GOODS_EVENTS);

/**
 * A row for each event, which refers to it: what it changed follows from the stream of its record. A single read model, so that
 * the changes of all kinds of records of an owner come in log order.
 */
export const changes: Projection<ChangeRow> = {
  name: 'changes',
  version: 1,
  handles: RECORD_EVENTS.filter((type) => !OF_GOODS.has(type)),
  begins: RECORD_EVENTS.filter((type) => !OF_GOODS.has(type)),
  place({ owner, stream, position }) {
    const kind = stream.slice(owner.length + 1, stream.indexOf('_', owner.length));
    return (CHANGED_KINDS as readonly string[]).includes(kind)
      ? { scope: owner, key: String(position) }
      : undefined;
  },
  evolve: (_row, { position, revision, stream }) => ({ position, revision, stream }),
  sort: ({ position }) => position,
};
