/** Copies a log into an empty one, or continues such a copy. */
import type { EventLog, Position, StoredEvent } from '#src/ports/event-log.ts';

/** The log to copy, read in log order and never written. */
export type CopySource = Pick<EventLog, 'id' | 'readAll' | 'head'>;
export type CopyTarget = Pick<EventLog, 'id' | 'readAll' | 'append'>;

export type CopyPhase = 'compare' | 'copy' | 'verify';

export type CopyResult =
  | {
      ok: true;
      /** Events in the copy, all compared with the source. */
      events: number;
      /** Those of them that an earlier run had copied. */
      present: number;
      /** The source has grown meanwhile. */
      isBehind: boolean;
    }
  | {
      ok: false;
      /** `foreign`: the target has events of another source. `differs`: the copy is not equal. */
      fault: 'same' | 'foreign' | 'differs';
      detail: string;
    };

const PAGE_EVENTS = 1_000;
/** Limits of one append, below those of servers. */
const APPEND_EVENTS_MAX = 100;
const APPEND_CHARS_MAX = 250_000;

const eventsOf = async function* (
  log: Pick<EventLog, 'readAll'>,
  after: Position = 0,
): AsyncGenerator<StoredEvent, undefined> {
  for (let at = after; ; ) {
    const page = await log.readAll({ after: at, limit: PAGE_EVENTS });
    yield* page;
    const last = page.at(-1);
    if (!last) return undefined;
    at = last.position;
  }
};

const nameEvent = ({ stream, revision, id }: StoredEvent): string =>
  `${stream}, revision ${revision}, event ${id}`;

const isSame = (one: StoredEvent, other: StoredEvent): boolean =>
  one.id === other.id && one.stream === other.stream && one.revision === other.revision;

const isEqual = (one: StoredEvent, other: StoredEvent): boolean =>
  isSame(one, other) &&
  one.type === other.type &&
  JSON.stringify(one.data) === JSON.stringify(other.data) &&
  JSON.stringify(one.meta) === JSON.stringify(other.meta);

type Comparison = { count: number; position: Position; fault: string | null };

/** Compares both logs until the target ends. */
const compare = async (
  { from, to }: { from: CopySource; to: CopyTarget },
  isMatch: (one: StoredEvent, other: StoredEvent) => boolean,
  onStep: (position: Position) => void,
): Promise<Comparison> => {
  const source = eventsOf(from);
  let count = 0;
  let position = 0;
  for await (const copied of eventsOf(to)) {
    const { value: event } = await source.next();
    if (!event) return { count, position, fault: `${nameEvent(copied)} is not in the source` };
    const fault = `${nameEvent(copied)} is where ${nameEvent(event)} should be`;
    if (!isMatch(event, copied)) return { count, position, fault };
    count += 1;
    ({ position } = event);
    onStep(position);
  }
  return { count, position, fault: null };
};

const sizeOf = ({ data, meta }: StoredEvent): number =>
  JSON.stringify(data).length + JSON.stringify(meta).length;

/** Groups consecutive events of one stream for one append each, without reordering. */
const groupsOf = async function* (
  events: AsyncIterable<StoredEvent>,
): AsyncGenerator<StoredEvent[]> {
  let group: StoredEvent[] = [];
  let size = 0;
  for await (const event of events) {
    const more = sizeOf(event);
    const isFull = group.length >= APPEND_EVENTS_MAX || size + more > APPEND_CHARS_MAX;
    if (group.length > 0 && (group[0]?.stream !== event.stream || isFull)) {
      yield group;
      [group, size] = [[], 0];
    }
    group.push(event);
    size += more;
  }
  if (group.length > 0) yield group;
};

/**
 * Makes `to` equal to `from` in streams, revisions, ids, types, data, attribution and order; positions
 * are the target's own. Appends one group after the other, so that an interrupted run leaves a prefix
 * of the source, from which the next run continues. `onProgress` gets the position in the source. Throws LogUnavailable, AppendTooLarge.
 */
export const copyLog = async (
  from: CopySource,
  to: CopyTarget,
  { onProgress = () => {} }: { onProgress?(phase: CopyPhase, position: Position): void } = {},
): Promise<CopyResult> => {
  if (from.id === to.id) return { ok: false, fault: 'same', detail: 'both are the same log' };
  const present = await compare({ from, to }, isSame, (at) => onProgress('compare', at));
  if (present.fault !== null) return { ok: false, fault: 'foreign', detail: present.fault };
  let copied = 0;
  for await (const group of groupsOf(eventsOf(from, present.position))) {
    const [first, last] = [group[0], group.at(-1)];
    if (!first || !last) continue;
    const events = group.map(({ id, type, data, meta }) => ({ id, type, data, meta }));
    const result = await to.append(first.stream, first.revision - 1, events);
    if (result.outcome === 'conflict' || result.revision !== last.revision)
      return {
        ok: false,
        fault: 'foreign',
        detail: `another writer was at ${first.stream} before revision ${first.revision}`,
      };
    copied += group.length;
    onProgress('copy', last.position);
  }
  const all = await compare({ from, to }, isEqual, (at) => onProgress('verify', at));
  const expected = present.count + copied;
  const missing = all.count === expected ? null : `${all.count} events, not ${expected}`;
  const detail = all.fault ?? missing;
  if (detail !== null) return { ok: false, fault: 'differs', detail };
  const isBehind = (await from.readAll({ after: all.position, limit: 1 })).length > 0;
  return { ok: true, events: all.count, present: present.count, isBehind };
};
