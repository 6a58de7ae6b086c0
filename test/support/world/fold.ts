/** Folds given events to rows. */
import type { EventData, EventType } from '#contracts/registries/events.ts';
import type { Projection } from '#projections/projection.ts';
import type { FoldEvent } from '#src/ports/event-log.ts';
import type { Row } from '#src/ports/read-model.ts';

/** 2026-11-21T00:00:00Z, and the number of that day. */
export const MIDNIGHT = 1_795_219_200_000;
export const TODAY = 20_778;
export const QUARTER_MS = 900_000;

export type Given = Pick<FoldEvent, 'stream' | 'owner' | 'type' | 'data' | 'at'>;

/** Returns an event on a stream of `anna`, or of the owner in the stream's name. */
export const happened = <Type extends EventType>(
  type: Type,
  stream: string,
  data: EventData<Type>,
  at = MIDNIGHT,
): Given => {
  const full = stream.includes('-') ? stream : `anna-${stream}`;
  return { type, stream: full, owner: full.slice(0, full.indexOf('-')), data, at };
};

/** Gives the events revisions and successive positions. */
export const inLog = (given: readonly Given[], first = 1): FoldEvent[] => {
  const revisions = new Map<string, number>();
  return given.map((event, i) => {
    const revision = (revisions.get(event.stream) ?? -1) + 1;
    revisions.set(event.stream, revision);
    return { ...structuredClone(event), revision, position: first + i };
  });
};

/** Returns the rows by `scope/key`, converted to JSON and back as in a store. */
export const rowsAfter = <R extends Row>(
  projection: Projection<R>,
  given: readonly Given[],
): Record<string, { row: R; sort: number | null }> => {
  const rows: Record<string, { row: R; sort: number | null }> = {};
  for (const event of inLog(given)) {
    if (!projection.handles.some((type) => type === event.type)) continue;
    const place = projection.place(event);
    if (!place) continue;
    const name = `${place.scope}/${place.key}`;
    const { scope } = place;
    const store = (key: string, row: Row | null): void => {
      if (row === null) delete rows[`${scope}/${key}`];
      else {
        const sort = projection.sort?.(row as R) ?? null;
        const lists = projection.lists?.(row as R);
        rows[`${scope}/${key}`] = JSON.parse(JSON.stringify({ row, sort, lists }));
      }
    };
    const get = (key: string): Row | undefined => rows[`${scope}/${key}`]?.row;
    store(place.key, projection.evolve(rows[name]?.row, event, { get, load() {}, set: store }));
  }
  return rows;
};
