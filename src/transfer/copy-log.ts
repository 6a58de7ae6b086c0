/** Copies a log into an empty one, or continues such a copy. */
import {
  type EventLog,
  type Position,
  type StoredEvent,
  storedOf,
  LogUnavailable,
} from '#src/ports/event-log.ts';
import { subjectsIn } from '#src/ports/sealed-text.ts';
import type { MovableKeys } from '#src/ports/system.ts';

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
  JSON.stringify(storedOf(one)) === JSON.stringify(storedOf(other)) &&
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

const sizeOf = (event: StoredEvent): number =>
  JSON.stringify(storedOf(event)).length + JSON.stringify(event.meta).length;

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
    const events = group.map((event) => ({
      id: event.id,
      ...storedOf(event),
      meta: event.meta,
    }));
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

/** From the first call without an answer to the last repetition. */
export const OUTAGE_S_MAX = 60;
const RETRY_MS = 500;

export type Repeat = <T>(call: () => Promise<T>) => Promise<T>;

type Outlasting = {
  /** Called once for each outage, with its cause. */
  onOutage: (cause: string) => void;
  monotonic: () => number;
  pause: (ms: number) => Promise<void>;
};

const isOutage = (error: unknown): error is LogUnavailable =>
  error instanceof LogUnavailable && (error.reason === 'fault' || error.reason === 'overloaded');

/**
 * Repeats a call while the log does not answer. Every call of a copy can be repeated: an append has the ids and the revision of
 * its first attempt, and a key that is stored already is the same.
 */
export const outlasting =
  ({ onOutage, monotonic, pause }: Outlasting): Repeat =>
  async (call) => {
    let end: number | undefined;
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!isOutage(error) || (end !== undefined && monotonic() > end)) throw error;
        if (end === undefined) onOutage(error.message);
        end ??= monotonic() + OUTAGE_S_MAX * 1_000;
        await pause(RETRY_MS);
      }
    }
  };

/** The calls of a copy to a log, each repeated. */
export const lastingLog = (
  log: CopySource & CopyTarget,
  repeat: Repeat,
): CopySource & CopyTarget => ({
  id: log.id,
  head: () => repeat(() => log.head()),
  readAll: (page) => repeat(() => log.readAll(page)),
  append: (...append) => repeat(() => log.append(...append)),
});

/** The calls of a copy to a vault, each repeated. */
export const lastingKeys = (keys: MovableKeys, repeat: Repeat): MovableKeys => ({
  keyOf: (subject) => repeat(() => keys.keyOf(subject)),
  adopt: (...key) => repeat(() => keys.adopt(...key)),
});

export type CopiedKeys = {
  /** Subjects of the log that have or had a key. */
  subjects: number;
  /** Those of them that are erased, in the copy as well. */
  destroyed: number;
  /** Subjects whose key differs in the target, which was not changed. */
  differing: string[];
};

type Log = Pick<EventLog, 'readAll'>;

/** Reads the events page by page, by default of all types. */
const pagesOf = async function* (
  log: Log,
  only: { types?: readonly string[] } = {},
): AsyncGenerator<readonly StoredEvent[]> {
  for (let after: Position | undefined = 0; after !== undefined; ) {
    const page: readonly StoredEvent[] = await log.readAll({ after, limit: PAGE_EVENTS, ...only });
    if (page.length > 0) yield page;
    after = page.at(-1)?.position;
  }
};

/** An erased subject may have no text, and must never get a key. */
const subjectsOf = ({ type, data }: StoredEvent): string[] =>
  type === 'SubjectErased' ? [(data as { subject: string }).subject] : subjectsIn(data);

const erasedIn = async (log: Log): Promise<ReadonlySet<string>> => {
  const erased = new Set<string>();
  for await (const page of pagesOf(log, { types: ['SubjectErased'] }))
    for (const { data } of page) erased.add((data as { subject: string }).subject);
  return erased;
};

/**
 * Copies the key of every sealed text of `log`, and destroys the keys whose erasure the log records. A
 * repeated run continues, and destroys what was erased meanwhile. Reads all events, and has all subjects in memory. Throws
 * what log and vaults throw.
 */
export const copyKeys = async (
  log: Log,
  { from, to }: { from: Pick<MovableKeys, 'keyOf'>; to: MovableKeys },
  onProgress?: (position: Position) => void,
): Promise<CopiedKeys> => {
  const copied: CopiedKeys = { subjects: 0, destroyed: 0, differing: [] };
  const erased = await erasedIn(log);
  const move = async (subject: string): Promise<void> => {
    const key = erased.has(subject) ? 'destroyed' : await from.keyOf(subject);
    if (key === 'never') return;
    copied.subjects += 1;
    if (key === 'destroyed') copied.destroyed += 1;
    if (!(await to.adopt(subject, key))) copied.differing.push(subject);
  };
  const known = new Set<string>();
  for await (const page of pagesOf(log)) {
    const subjects = new Set(page.flatMap(subjectsOf)).difference(known);
    for (const subject of subjects) known.add(subject);
    await Promise.all([...subjects].map(move));
    onProgress?.(page.at(-1)?.position ?? 0);
  }
  return copied;
};
