import type { Found, RemoteStore, Row } from '#src/ports/read-model.ts';
import { PARTITIONS, partitionOf, ReadModelRebuilding } from '#src/ports/read-model.ts';
import type { Connections } from './connect.ts';
import { bytesOf } from './connect.ts';
import type { Gate } from './gate.ts';
import { gate } from './gate.ts';
import type { Keys } from './keys.ts';
import { fieldOf, orderRange, placeOf, rowOf } from './keys.ts';
import type { Script } from './scripts.ts';
import { FIND, PAGE, run } from './scripts.ts';
import type { Spaces } from './spaces.ts';

/** Answers kept, and characters of them all and of each: as rows some 100 MiB at the worst. */
const KEPT_ANSWERS_MAX = 1_024;
const KEPT_CHARS_MAX = 33_554_432;
const ANSWER_CHARS_MAX = KEPT_CHARS_MAX / 8;

type Listed = { row: Row; sort: number; key: string };

type Question<Value> = {
  name: string;
  scope: string;
  script: Script;
  args: readonly (string | number)[];
  valueOf(found: readonly (string | null)[]): Value;
  none: Value;
};

export type Reading = Pick<RemoteStore, 'find' | 'page' | 'refresh'> & { close(): void };

/** What requests ask: one script each, and never for longer than four times `waitMs`. */
export const reading = (
  { reads, isCluster }: Connections,
  keys: Keys,
  spaces: Spaces,
  waitMs: number,
): Reading => {
  const bytes = (): number => bytesOf(reads);
  const lane = (key: string): Gate =>
    gate({ waitMs, waitMsMax: 2 * waitMs, probe: () => reads.exists(key), bytes });
  const tableGate = lane(keys.spaces);
  // In a cluster each partition may be on a server of its own, and fail on its own.
  const gates = Array.from({ length: isCluster ? PARTITIONS : 0 }, (_, partition) =>
    lane(keys.partition('', partition)[0]),
  );

  const inTime = async <T>(what: string, ask: () => Promise<T>): Promise<T> => {
    try {
      return await ask();
    } catch (error) {
      throw new ReadModelRebuilding(`${what} cannot be read: ${String(error)}`, { cause: error });
    }
  };

  const answers = keptAnswers();
  const readTable = (): Promise<void> => tableGate.ask(() => spaces.refresh(reads));

  /** Asks the space that answers; once more when it is not what this process believed. */
  const answer = <Value>(question: Question<Value>): Promise<Found<Value>> => {
    const { name, scope, script, args, valueOf, none } = question;
    const partition = partitionOf(scope);
    const asked = `${name}\n${args.join('\n')}`;
    const ask = async (): Promise<Found<Value>> => {
      const live = spaces.live(name);
      if (!live) return { space: null, checkpoint: undefined, value: none };
      const { space, id } = live;
      const known = answers.find(asked, id);
      const places = keys.partition(id, partition);
      const own = gates[partition] ?? tableGate;
      const told = [...args, known?.checkpoint ?? ''];
      const reply = await own.ask(() => run(reads, script, places, told));
      if (known && typeof reply === 'string')
        return { space, checkpoint: known.checkpoint, value: known.value as Value };
      if (!Array.isArray(reply)) return { space, checkpoint: undefined, value: none };
      const [at, ...found] = reply as [string, ...(string | null)[]];
      const value = valueOf(found);
      const checkpoint = Number(at);
      answers.keep(asked, { id, checkpoint, value }, charsOf(found));
      return { space, checkpoint, value };
    };
    return inTime(name, async () => {
      const began = performance.now();
      const found = await ask();
      if (found.checkpoint !== undefined) return found;
      await readTable();
      if (performance.now() - began > waitMs) throw new Error('too late to ask again');
      return ask();
    });
  };

  return {
    find: (name, scope, key) =>
      answer({
        name,
        scope,
        script: FIND,
        args: [fieldOf(scope, key)],
        valueOf: ([value]) => (typeof value === 'string' ? rowOf(value) : undefined),
        none: undefined,
      }),
    page: (name, { scope, before, downTo, limit }) =>
      answer({
        name,
        scope,
        script: PAGE,
        args: [scope, ...orderRange(scope, before, downTo), limit],
        valueOf: rowsOf,
        none: [],
      }),
    refresh: () => inTime('the table of spaces', readTable),
    close() {
      for (const each of [tableGate, ...gates]) each.close();
    },
  };
};

const rowsOf = (found: readonly (string | null)[]): Listed[] => {
  const rows: Listed[] = [];
  for (let i = 0; i < found.length; i += 2)
    rows.push({ row: rowOf(found[i + 1] ?? ''), ...placeOf(found[i] ?? '') });
  return rows;
};

const charsOf = (found: readonly (string | null)[]): number =>
  found.reduce((chars, text) => chars + (text?.length ?? 0), 0);

type Kept = { id: string; checkpoint: number; value: unknown };

/**
 * Answers as they were last: while a partition stands where it stood, its rows are the same, and
 * Redis says so instead of sending them.
 */
const keptAnswers = () => {
  let young = new Map<string, Kept>();
  let old = new Map<string, Kept>();
  /** Of all that was put into the young ones. */
  let chars = 0;
  return {
    find(asked: string, id: string): Kept | undefined {
      const kept = young.get(asked) ?? old.get(asked);
      return kept?.id === id ? kept : undefined;
    },
    keep(asked: string, kept: Kept, size: number): void {
      if (size > ANSWER_CHARS_MAX) return;
      young.set(asked, kept);
      chars += size;
      if (young.size * 2 < KEPT_ANSWERS_MAX && chars * 2 < KEPT_CHARS_MAX) return;
      old = young;
      young = new Map();
      chars = 0;
    },
  };
};
