/** What comparisons of live rows with a fold of the log share. */
import type { EventLog, FoldEvent, Position } from '#src/ports/event-log.ts';
import type { RowPlace } from '#src/ports/owner-fold.ts';
import type { RowJson, RowsReader } from '#src/ports/read-model.ts';
import type { Projection } from '../projection.ts';

export type RowDifference = RowPlace & {
  /** Both sides are as of this position. */
  position: Position;
  live: string | null;
  log: string | null;
  lastEvent?: Pick<FoldEvent, 'position' | 'type' | 'stream'>;
};

export type RowCheck = { rows: number; position: Position; difference?: RowDifference };

type StoreOf = (projection: string) => RowsReader;
export type Events = (range: {
  after: Position;
  upTo: Position;
}) => AsyncIterable<readonly FoldEvent[]>;

export type RowCheckOptions = {
  log: Pick<EventLog, 'readFold' | 'head'>;
  storeOf: StoreOf;
  /** One of so many partitions; 1 for all. */
  sample: number;
  onProgress(position: Position, rows: number): void;
  /** Folded rows in memory at a time: the log is read again for each so many. */
  rowsMax?: number;
};

export const nameOfRow = ({ scope, key }: Pick<RowJson, 'scope' | 'key'>): string =>
  JSON.stringify([scope, key]);

/** The first place, in order of scope and key, at which two sets of rows differ. */
export const firstDifference = (
  live: readonly RowJson[],
  log: readonly RowJson[],
): Pick<RowDifference, 'scope' | 'key' | 'live' | 'log'> | undefined => {
  const sides = [live, log].map((rows) => new Map(rows.map((row) => [nameOfRow(row), row.json])));
  const names = [...new Set(sides.flatMap((side) => [...side.keys()]))].sort();
  for (const name of names) {
    const [has = null, wants = null] = sides.map((side) => side.get(name) ?? null);
    const [scope, key] = JSON.parse(name) as [string, string];
    if (has !== wants) return { scope, key, live: has, log: wants };
  }
  return undefined;
};

/** The last event up to the position of the difference that changed the row, or one of its scope. */
export const lastEventOf = async (
  projection: Projection,
  { scope, key, position }: Pick<RowDifference, 'scope' | 'key' | 'position'>,
  events: Events,
): Promise<Pick<RowDifference, 'lastEvent'>> => {
  const handled: ReadonlySet<string> = new Set(projection.handles);
  let [ofRow, ofScope]: (FoldEvent | undefined)[] = [];
  for await (const page of events({ after: 0, upTo: position }))
    for (const event of page) {
      const place = handled.has(event.type) ? projection.place(event) : undefined;
      if (place?.scope !== scope) continue;
      ofScope = event;
      if (place.key === key || projection.others?.(event).includes(key)) ofRow = event;
    }
  const last = ofRow ?? ofScope;
  return last
    ? { lastEvent: { position: last.position, type: last.type, stream: last.stream } }
    : {};
};
