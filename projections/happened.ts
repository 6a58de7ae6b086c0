import type { EventType, Happened } from '#contracts/events/index.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';

/** The event by its stored shape; the log has checked it, and `handles` has chosen the types. */
export const happened = <Type extends EventType>(event: FoldEvent): Happened<Type> =>
  event as FoldEvent & Happened<Type>;

/** Id of the record whose stream an event stands on: `acme-lead_0k3…` is `led_0k3…`. */
export const idInStream = (
  { stream, owner }: FoldEvent,
  kind: string,
  prefix: string,
): string | undefined => {
  const start = owner.length + 1;
  return stream.startsWith(`${kind}_`, start)
    ? `${prefix}_${stream.slice(start + kind.length + 1)}`
    : undefined;
};
