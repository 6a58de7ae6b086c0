import { randomBytes } from 'node:crypto';
import { PARTITIONS, type Space } from '#src/ports/read-model.ts';
import type { Keys } from './keys.ts';
import { ADD_SPACE, BEGIN, CLEAR, type Client, REMOVE_SPACE, run } from './scripts.ts';

export type Versioned = { name: string; version: number };

/** The table of spaces, as this process read it last. Small enough to be read whole. */
export type Spaces = {
  /** Reads the table. */
  refresh(client: Client): Promise<void>;
  idOf(space: Space): string | undefined;
  /** The space that answers with rows of our version. */
  live(name: string): { space: Space; id: string } | undefined;
  /** Of one projection, in all versions. */
  all(name: string): Space[];
  /** Id of the space, which is made if there is none. */
  add(space: Space): Promise<string>;
  /** Processes of other versions go on with what answers them. */
  goLive(name: string, space: Space): Promise<void>;
  remove(space: Space): Promise<void>;
  /** Ends what a process that died had begun to drop. */
  finishDrops(): Promise<void>;
};

const ID_BYTES = 6;
/** Partitions cleared at a time: Redis frees them off its main thread, and others get their turn. */
const CLEARED_AT_A_TIME = 8;
/** How long a projector may be paused, and still be told that its space is gone. */
const DROPPED_SECONDS = 86_400;

const nameOf = (space: Space): string => space.slice(0, space.indexOf('@'));
/** `live:leads@3` of `leads@3.1`. */
const pointerOf = (space: Space): string => `live:${space.slice(0, space.lastIndexOf('.'))}`;

export const spaceTable = (
  writes: Client,
  keys: Keys,
  projections: readonly Versioned[] = [],
): Spaces => {
  let table: Record<string, string> = {};
  const pointers = new Map(
    projections.map(({ name, version }) => [name, `live:${name}@${version}`]),
  );
  /** Whether processes from before there was a pointer for each version answer with this version. */
  const isBefores = (name: string, pointer: string): boolean => {
    const before = table[`live:${name}`];
    return before !== undefined && pointerOf(before) === pointer;
  };

  const refresh = async (client: Client): Promise<void> => {
    table = await client.hgetall(keys.spaces);
  };

  const add = async (space: Space): Promise<string> => {
    const fresh = randomBytes(ID_BYTES).toString('base64url');
    const id = String(await run(writes, ADD_SPACE, [keys.spaces], [space, fresh]));
    table[`id:${space}`] = id;
    return id;
  };

  const clear = async (id: string): Promise<void> => {
    for (let first = 0; first < PARTITIONS; first += CLEARED_AT_A_TIME)
      await Promise.all(
        Array.from({ length: CLEARED_AT_A_TIME }, (_, i) =>
          run(writes, CLEAR, keys.partition(id, first + i), [DROPPED_SECONDS]),
        ),
      );
    await writes.hdel(keys.spaces, `dropping:${id}`);
  };

  return {
    refresh,
    idOf: (space) => table[`id:${space}`],
    live(name) {
      const pointer = pointers.get(name) ?? `live:${name}@1`;
      const space = table[isBefores(name, pointer) ? `live:${name}` : pointer];
      const id = space === undefined ? undefined : table[`id:${space}`];
      return space !== undefined && id !== undefined ? { space, id } : undefined;
    },
    all: (name) =>
      Object.keys(table)
        .filter((field) => field.startsWith('id:') && nameOf(field.slice(3)) === name)
        .map((field) => field.slice(3)),
    add,
    async goLive(name, space) {
      const id = await add(space);
      const partitions = Array.from({ length: PARTITIONS }, (_, partition) =>
        run(writes, BEGIN, keys.partition(id, partition)),
      );
      await Promise.all(partitions);
      const pointer = pointerOf(space);
      const live = {
        [pointer]: space,
        ...(isBefores(name, pointer) && { [`live:${name}`]: space }),
      };
      await writes.hset(keys.spaces, live);
      Object.assign(table, live);
    },
    async remove(space) {
      const places = [pointerOf(space), `live:${nameOf(space)}`];
      const id = await run(writes, REMOVE_SPACE, [keys.spaces], [space, ...places]);
      delete table[`id:${space}`];
      for (const place of places) if (table[place] === space) delete table[place];
      if (typeof id === 'string') await clear(id);
    },
    async finishDrops() {
      await refresh(writes);
      for (const field of Object.keys(table))
        if (field.startsWith('dropping:')) await clear(field.slice('dropping:'.length));
    },
  };
};
