import type { EventType, Happened } from '#contracts/events/index.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';

/** Narrows an event to its stored shape. The log validates events, and `handles` selects their types. */
export const typedEvent = <Type extends EventType>(event: FoldEvent): Happened<Type> =>
  event as FoldEvent & Happened<Type>;

/** The id of the record that the event's stream belongs to: `led_0k3…` for `acme-lead_0k3…`. */
export const recordIdOf = (
  { stream, owner }: FoldEvent,
  kind: string,
  prefix: string,
): string | undefined => {
  const start = owner.length + 1;
  return stream.startsWith(`${kind}_`, start)
    ? `${prefix}_${stream.slice(start + kind.length + 1)}`
    : undefined;
};
