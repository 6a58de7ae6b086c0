import { randomBytes } from 'node:crypto';
import { ALL_PARTITIONS, PARTITIONS, type Space } from '#src/ports/read-model.ts';
import type { Keys } from './keys.ts';
import { ADD_SPACE, BEGIN, CLEAR, type Client, LOSE, REMOVE_SPACE } from './scripts.ts';

export type Versioned = { name: string; version: number };

const ID_BYTES = 6;
/** Partitions that are cleared at once. Redis frees them off its main thread, between other commands. */
const CLEARED_AT_ONCE = 8;
/** How long a projector can be paused and still learn that its space was dropped. */
const DROPPED_SECONDS = 86_400;

const nameOf = (space: Space): string => space.slice(0, space.indexOf('@'));
/** `live:leads@3` of `leads@3.1`. */
const pointerOf = (space: Space): string => `live:${space.slice(0, space.lastIndexOf('.'))}`;

export type SpacesOptions = {
  projections?: readonly Versioned[] | undefined;
  onDiscarded?: ((reason: string) => void) | undefined;
};

/** The table of spaces, small enough to be read whole, as this process read it last. */
export class Spaces {
  readonly #writes: Client;
  readonly #keys: Keys;
  readonly #onDiscarded: SpacesOptions['onDiscarded'];
  /** The pointer of each projection's version in this process. */
  readonly #pointers: ReadonlyMap<string, string>;
  #table: Record<string, string> = {};

  constructor(writes: Client, keys: Keys, { projections = [], onDiscarded }: SpacesOptions) {
    this.#writes = writes;
    this.#keys = keys;
    this.#onDiscarded = onDiscarded;
    this.#pointers = new Map(
      projections.map(({ name, version }) => [name, `live:${name}@${version}`]),
    );
  }

  async refresh(client: Client): Promise<void> {
    this.#table = await client.hgetall(this.#keys.spaces);
  }

  idOf(space: Space): string | undefined {
    return this.#table[`id:${space}`];
  }

  /** The live space of this process's version. */
  live(name: string): { space: Space; id: string } | undefined {
    const pointer = this.#pointers.get(name) ?? `live:${name}@1`;
    const space = this.#table[pointer];
    const id = space === undefined ? undefined : this.idOf(space);
    return space !== undefined && id !== undefined ? { space, id } : undefined;
  }

  /** The spaces of one projection, in all versions. */
  all(name: string): Space[] {
    return Object.keys(this.#table)
      .filter((field) => field.startsWith('id:') && nameOf(field.slice(3)) === name)
      .map((field) => field.slice(3));
  }

  /** Returns the id of the space, which is created if there is none. */
  async add(space: Space): Promise<string> {
    const args = [space, randomBytes(ID_BYTES).toString('base64url')];
    const id = String(await ADD_SPACE.run(this.#writes, [this.#keys.spaces], args));
    this.#table[`id:${space}`] = id;
    return id;
  }

  /** Makes the space live for processes of its version; other versions are not affected. */
  async goLive(space: Space): Promise<void> {
    const id = await this.add(space);
    const partitions = ALL_PARTITIONS.map((partition) =>
      BEGIN.run(this.#writes, this.#keys.partition(id, partition)),
    );
    await Promise.all(partitions);
    const pointer = pointerOf(space);
    await this.#writes.hset(this.#keys.spaces, { [pointer]: space });
    this.#table[pointer] = space;
  }

  async remove(space: Space): Promise<void> {
    const pointer = pointerOf(space);
    const id = await REMOVE_SPACE.run(this.#writes, [this.#keys.spaces], [space, pointer]);
    delete this.#table[`id:${space}`];
    if (this.#table[pointer] === space) delete this.#table[pointer];
    if (typeof id === 'string') await this.#clear(id);
  }

  /** Removes the rows of a partition and reports it, unless another process did, so that it is filled again. */
  async lose(space: Space, partition: number, reason: string): Promise<void> {
    const id = this.idOf(space);
    if (
      id !== undefined &&
      (await LOSE.run(this.#writes, this.#keys.partition(id, partition))) === 1
    )
      this.#onDiscarded?.(`${space}, partition ${partition}: ${reason}`);
  }

  /** Completes drops that a process began and did not finish. */
  async finishDrops(): Promise<void> {
    await this.refresh(this.#writes);
    for (const field of Object.keys(this.#table))
      if (field.startsWith('dropping:')) await this.#clear(field.slice('dropping:'.length));
  }

  async #clear(id: string): Promise<void> {
    const clear = (partition: number) =>
      CLEAR.run(this.#writes, this.#keys.partition(id, partition), [DROPPED_SECONDS]);
    for (let first = 0; first < PARTITIONS; first += CLEARED_AT_ONCE)
      await Promise.all(Array.from({ length: CLEARED_AT_ONCE }, (_, i) => clear(first + i)));
    await this.#writes.hdel(this.#keys.spaces, `dropping:${id}`);
  }
}
