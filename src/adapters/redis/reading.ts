import type { ListQuery, RemoteStore, Space } from '#src/ports/read-model.ts';
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

  const readTable = (): Promise<void> => tableGate.ask(() => spaces.refresh(reads));

  /** Asks the space that answers; once more when it is not what this process believed. */
  const answer = async (
    name: string,
    scope: string,
    script: Script,
    args: readonly (string | number)[],
  ): Promise<{ space: Space | null; reply: unknown[] | undefined }> => {
    const partition = partitionOf(scope);
    const ask = async () => {
      const live = spaces.live(name);
      if (!live) return { space: null, reply: undefined };
      const places = keys.partition(live.id, partition);
      const own = gates[partition] ?? tableGate;
      const reply = await own.ask(() => run(reads, script, places, args));
      return { space: live.space, reply: Array.isArray(reply) ? reply : undefined };
    };
    return inTime(name, async () => {
      const began = performance.now();
      const found = await ask();
      if (found.reply) return found;
      await readTable();
      if (performance.now() - began > waitMs) throw new Error('too late to ask again');
      return ask();
    });
  };

  return {
    async find(name: string, scope: string, key: string) {
      const { space, reply } = await answer(name, scope, FIND, [fieldOf(scope, key)]);
      if (!reply) return { space, checkpoint: undefined, value: undefined };
      const [at, value] = reply as [string, string | null];
      return { space, checkpoint: Number(at), value: value === null ? undefined : rowOf(value) };
    },
    async page(name: string, { scope, before, downTo, limit }: ListQuery) {
      const range = orderRange(scope, before, downTo);
      const { space, reply } = await answer(name, scope, PAGE, [scope, ...range, limit]);
      if (!reply) return { space, checkpoint: undefined, value: [] };
      const [at, ...found] = reply as string[];
      const value = [];
      for (let i = 0; i < found.length; i += 2)
        value.push({ row: rowOf(found[i + 1] ?? ''), ...placeOf(found[i] ?? '') });
      return { space, checkpoint: Number(at), value };
    },
    refresh: () => inTime('the table of spaces', readTable),
    close() {
      for (const each of [tableGate, ...gates]) each.close();
    },
  };
};
