import type { RemoteRead, RemoteStore, Row } from '#src/ports/read-model.ts';
import { PARTITIONS, partitionOf, ReadModelRebuilding } from '#src/ports/read-model.ts';
import { recentlyUsed } from '../recently-used.ts';
import { bytesOf, type Connections } from './connect.ts';
import { gate, type Gate } from './gate.ts';
import { fieldOf, type Keys, orderRange, placeOf, rowOf } from './keys.ts';
import { FIND, PAGE, run, type Script } from './scripts.ts';
import type { Spaces } from './spaces.ts';

/** Characters of all answers kept: as rows some 100 MiB at the worst. */
const KEPT_CHARS_MAX = 33_554_432;
const ANSWER_CHARS_MAX = KEPT_CHARS_MAX / 8;
/** As many as a small one counts for: its question and its objects are there, too. */
const ANSWER_CHARS_MIN = KEPT_CHARS_MAX / 1_024;

type Listed = { row: Row; sort: number; key: string };

type Kept = { id: string; checkpoint: number; value: unknown };

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

  /**
   * Answers as they were last: while a partition stands where it stood, its rows are the same, and
   * Redis says so instead of sending them.
   */
  const answers = recentlyUsed<string, Kept>(KEPT_CHARS_MAX);
  const readTable = (): Promise<void> => tableGate.ask(() => spaces.refresh(reads));

  /** Asks the space that answers; once more when it is not what this process believed. */
  const answer = <Value>(question: Question<Value>): Promise<RemoteRead<Value>> => {
    const { name, scope, script, args, valueOf, none } = question;
    const partition = partitionOf(scope);
    const asked = `${name}\n${args.join('\n')}`;
    const ask = async (): Promise<RemoteRead<Value>> => {
      const live = spaces.live(name);
      if (!live) return { space: null, checkpoint: undefined, value: none };
      const { space, id } = live;
      const kept = answers.get(asked);
      const known = kept?.id === id ? kept : undefined;
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
      const chars = charsOf(found);
      if (chars <= ANSWER_CHARS_MAX)
        answers.set(asked, { id, checkpoint, value }, Math.max(chars, ANSWER_CHARS_MIN));
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
