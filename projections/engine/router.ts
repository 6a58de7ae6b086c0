import { EVENTS } from '#contracts/registries/events.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { FoldTarget } from './target.ts';

export type EventRouter = (events: readonly FoldEvent[]) => FoldEvent[][];

const KNOWN_TYPES: ReadonlySet<string> = new Set(Object.keys(EVENTS));

/**
 * Builds a function that distributes events to targets by type, and skips duplicates. It skips and
 * reports events of types that only a newer version knows.
 */
export const createRouter = (
  targets: readonly FoldTarget[],
  onUnknownType?: (event: FoldEvent) => void,
): EventRouter => {
  const indexesByType = new Map<string, number[]>();
  for (const [i, { projection }] of targets.entries())
    for (const type of projection.handles) {
      const indexes = indexesByType.get(type);
      if (indexes) indexes.push(i);
      else indexesByType.set(type, [i]);
    }
  return (events) => {
    const routed: FoldEvent[][] = targets.map(() => []);
    let last = 0;
    for (const event of events) {
      if (event.position <= last) continue;
      last = event.position;
      const indexes = indexesByType.get(event.type);
      if (indexes) for (const i of indexes) routed[i]?.push(event);
      else if (!KNOWN_TYPES.has(event.type)) onUnknownType?.(event);
    }
    return routed;
  };
};
