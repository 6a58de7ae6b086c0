/**
 * EventStoreDB's records and its rules for appends, measured on a real server, or taken from its sources
 * where they cannot be measured. Tributary's own logs cannot replace it: they validate events, and have
 * no system events, no tombstones and no writes that wait for replication.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';

export type Proposed = {
  id: string;
  type: string;
  json: boolean;
  data: Uint8Array;
  meta: Uint8Array;
};
export type Kept = Proposed & {
  stream: string;
  revision: number;
  position: number;
  created: number;
};
export type Expected = number | 'none' | 'any' | 'exists';

export type Decision =
  | { kind: 'written' | 'repeated'; revision: number; position: number | undefined }
  | { kind: 'wrong'; current: number }
  | { kind: 'deleted' }
  /** The same ids are written and not committed yet: the server sends no answer. */
  | { kind: 'dropped' };

type Stream = { kept: Kept[]; visibleFrom: number; tombstone: boolean };

export const TOMBSTONE = '$streamDeleted';
const RECORD_BYTES = 96;
const RECENT_BYTES_MAX = 8_388_608;

export type Store = ReturnType<typeof openStore>;

/** Without a file everything is lost when the process ends. */
export const openStore = (now: () => number, file?: string) => {
  let all: Kept[] = [];
  let streams = new Map<string, Stream>();
  let committed = 0;
  let held = false;
  let scheduled = false;
  let offset = 0;
  let scavenged = 0;
  let waiting: { upTo: number; done: () => void }[] = [];
  const followers = new Set<(fresh: readonly Kept[]) => void>();

  const streamOf = (name: string): Stream => {
    let stream = streams.get(name);
    if (!stream) streams.set(name, (stream = { kept: [], visibleFrom: 0, tombstone: false }));
    return stream;
  };
  const keep = (record: Kept): void => {
    all.push(record);
    streamOf(record.stream).kept.push(record);
    offset = record.position + RECORD_BYTES + record.data.length + record.meta.length;
  };
  const write = (stream: string, events: readonly Proposed[]): Kept[] => {
    const { length } = streamOf(stream).kept;
    return events.map((event, index) => {
      const record = { ...event, stream, revision: length + index, position: offset };
      const full = { ...record, created: now() };
      keep(full);
      return full;
    });
  };
  const system = (stream: string, type: string, data?: object): void => {
    const bytes = Buffer.from(data ? JSON.stringify(data) : '');
    const id = `00000000-0000-4000-9000-${all.length.toString(16).padStart(12, '0')}`;
    const json = data !== undefined;
    write(stream, [{ id, type, json, data: bytes, meta: new Uint8Array() }]);
  };

  const journal = (fresh: readonly Kept[]): void => {
    if (!file || fresh.length === 0) return;
    const coded = fresh.map(({ data, meta, ...rest }) => ({
      ...rest,
      data: Buffer.from(data).toString('base64'),
      meta: Buffer.from(meta).toString('base64'),
    }));
    appendFileSync(file, coded.map((line) => `${JSON.stringify(line)}\n`).join(''));
  };
  const commit = (): void => {
    scheduled = false;
    if (held) return;
    const fresh = all.slice(committed);
    journal(fresh);
    committed = all.length;
    const ready = waiting.filter(({ upTo }) => upTo <= committed);
    waiting = waiting.filter(({ upTo }) => upTo > committed);
    for (const { done } of ready) done();
    if (fresh.length > 0) for (const follower of followers) follower(fresh);
  };
  const schedule = (): void => {
    if (scheduled || held) return;
    scheduled = true;
    setImmediate(commit);
  };

  const recent = (stream: string, id: string): Kept | undefined => {
    let bytes = 0;
    for (let at = all.length - 1; at >= 0 && bytes < RECENT_BYTES_MAX; at -= 1) {
      const record = all[at];
      if (record?.stream === stream && record.id === id) return record;
      bytes += RECORD_BYTES + (record?.data.length ?? 0);
    }
    return undefined;
  };
  const isCommitted = (record: Kept | undefined): boolean =>
    record !== undefined && record.position <= (all[committed - 1]?.position ?? -1);

  /** Finds an earlier append with the same ids, whatever its data. Undefined: write it. */
  const earlier = (name: string, expected: Expected, ids: string[]): Decision | undefined => {
    const { kept, visibleFrom } = streamOf(name);
    const current = kept.length - 1;
    const wrong: Decision = { kind: 'wrong', current };
    const repeated = (last: Kept | undefined): Decision => {
      if (!last || !isCommitted(last)) return { kind: 'dropped' };
      const isVisible = last.revision >= visibleFrom;
      const position = isVisible ? last.position : undefined;
      return { kind: 'repeated', revision: last.revision, position };
    };
    if (expected === 'any' || expected === 'exists') {
      if (expected === 'exists' && current < 0) return wrong;
      const found = ids.map((id) => recent(name, id));
      if (!found[0]) return undefined;
      return found.every(Boolean) ? repeated(found.at(-1)) : wrong;
    }
    const at = expected === 'none' ? -1 : expected;
    if (at > current) return wrong;
    if (at === current) return undefined;
    const differs = ids.findIndex((id, index) => kept[at + 1 + index]?.id !== id);
    if (differs < 0) return repeated(kept[at + ids.length]);
    const reopens = differs === 0 && expected === 'none' && visibleFrom > current;
    return reopens ? undefined : wrong;
  };

  const begin = (): void => {
    all = [];
    streams = new Map();
    waiting = [];
    [committed, offset, scavenged, held] = [0, 0, 0, false];
    // A real log begins with system events, too.
    system('$epoch-information', '$epoch-information', { epoch: 1 });
    system('$users', '$UserCreated', { user: 'admin' });
    committed = all.length;
    if (file) {
      writeFileSync(file, '');
      journal(all);
    }
  };

  /** Applies the record of a deletion to the stream. */
  const removed = (name: string, how: 'soft' | 'hard'): void => {
    const stream = streamOf(name);
    stream.visibleFrom = stream.kept.length;
    if (how === 'hard') stream.tombstone = true;
  };

  if (file && existsSync(file)) {
    for (const line of readFileSync(file, 'utf8').split('\n').slice(0, -1)) {
      const { data, meta, ...rest } = JSON.parse(line) as Kept & { data: string; meta: string };
      keep({ ...rest, data: Buffer.from(data, 'base64'), meta: Buffer.from(meta, 'base64') });
      if (rest.type === TOMBSTONE) removed(rest.stream, 'hard');
    }
    committed = all.length;
  } else begin();

  return {
    reset: begin,
    followers,
    committed: (): readonly Kept[] => (committed === all.length ? all : all.slice(0, committed)),
    last: () => all[committed - 1],
    /**
     * The index of the record at `position`; undefined when no record begins there. In a scavenged part
     * every position is valid and means the next record.
     */
    indexOf(position: number): number | undefined {
      let low = 0;
      let high = committed;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((all[middle]?.position ?? 0) < position) low = middle + 1;
        else high = middle;
      }
      return position < scavenged || all[low]?.position === position ? low : undefined;
    },
    /** Removes the events of hard-deleted streams, but not the records of the deletions. */
    scavenge(): void {
      const isGone = ({ stream, type }: Kept): boolean =>
        streamOf(stream).tombstone && type !== TOMBSTONE;
      all = all.filter((record) => !isGone(record));
      committed = all.length;
      scavenged = offset;
    },
    /** The committed and visible events; undefined when the stream does not exist. */
    stream(name: string): { kept: readonly Kept[]; tombstone: boolean } | undefined {
      const found = streams.get(name);
      if (!found) return undefined;
      const kept = found.kept.filter((r) => isCommitted(r) && r.revision >= found.visibleFrom);
      return kept.length === 0 && !found.tombstone ? undefined : { ...found, kept };
    },
    append(name: string, expected: Expected, events: readonly Proposed[]): Decision {
      const { kept, tombstone, visibleFrom } = streamOf(name);
      const isSoftDeleted = kept.length > 0 && visibleFrom >= kept.length;
      if (tombstone || (expected === 'exists' && isSoftDeleted)) return { kind: 'deleted' };
      const ids = events.map(({ id }) => id);
      const decision = earlier(name, expected, ids);
      if (decision) return decision;
      const last = write(name, events).at(-1);
      schedule();
      return { kind: 'written', revision: last?.revision ?? -1, position: last?.position };
    },
    /** Calls back when everything written so far is committed; never, if it is erased. */
    whenCommitted(done: () => void): void {
      waiting.push({ upTo: all.length, done });
    },
    /** Returns false if it is hard-deleted already. A stream that never existed can be deleted, too. */
    remove(name: string, how: 'soft' | 'hard'): boolean {
      if (streamOf(name).tombstone) return false;
      if (how === 'hard') system(name, TOMBSTONE);
      else system(`$$${name}`, '$metadata', { $tb: streamOf(name).kept.length });
      removed(name, how);
      schedule();
      return true;
    },
    /** Writes records of the server, or of another application. `{n}` in the name is their number. */
    flood(count: number, stream: string, type: string): void {
      for (let n = 0; n < count; n += 1) system(stream.replace('{n}', String(n)), type, { n });
      schedule();
    },
    /** Holds back replication: writes are neither answered nor readable. */
    hold(): void {
      held = true;
    },
    release(): void {
      held = false;
      schedule();
    },
    /** Loses uncommitted writes, as after a failure of the leader. */
    erase(): void {
      const gone = all.splice(committed);
      for (const { stream } of gone) streamOf(stream).kept.pop();
      waiting = [];
    },
  };
};
