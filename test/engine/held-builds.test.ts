import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FillControl } from '#projections/engine/fill-control.ts';
import {
  compareHeld,
  dropHeld,
  fillHeld,
  findHeld,
  switchToHeld,
  withoutHeld,
} from '#projections/engine/held-builds.ts';
import { verify } from '#projections/engine/operator.ts';
import type { Projection } from '#projections/projection.ts';
import { partitionOf, PARTITIONS } from '#src/ports/read-model.ts';
import { append, appendMany, awaitPassed, rebuild, tally, world } from '../support/world/engine.ts';

const OWNERS = ['anna', 'boris', 'carla', 'dora'];
/** Counts twice as much as the live version of the code does. */
const doubling = {
  ...tally(),
  evolve: (row: { count: number } | undefined, event: never) => {
    const next = tally().evolve(row as never, event);
    next.count += 1;
    return next;
  },
} as unknown as Projection;
/** One scope in each partition. */
const SCOPES = new Array<string>(PARTITIONS).fill('');
for (let n = 0; SCOPES.includes(''); n++) SCOPES[partitionOf(`s${n}`)] ||= `s${n}`;

let { log, store: bare, start, countOf, end } = world();
let store: typeof bare;
beforeEach(() => {
  ({ log, store: bare, start, countOf, end } = world());
  store = withoutHeld(bare);
});
afterEach(() => end());

const begin = async () => {
  const engine = await start({ store });
  await awaitPassed(engine, await appendMany(log, OWNERS, 5));
  const { signal } = new AbortController();
  const filling = { log, store, engine, control: new FillControl(), signal };
  return { engine, filling, held: { ...filling, projection: doubling } };
};
const compare = (held: Parameters<typeof compareHeld>[0], space: string) =>
  compareHeld(held, space, (partition) => SCOPES[partition] ?? '');

describe('A held build', () => {
  test('A held build is compared at the checkpoint of the live rows while events arrive, and the live rows stay', async () => {
    const { engine, held } = await begin();
    const space = await fillHeld(held);
    expect(space).toBe('tally@1.2');
    await awaitPassed(engine, await appendMany(log, OWNERS, 1));
    let isWriting = true;
    const writing = (async () => {
      while (isWriting) await awaitPassed(engine, await append(log, 'anna'));
    })();
    const found = await compare(held, space);
    isWriting = false;
    await writing;
    expect(found).toMatchObject({ rows: 4, compared: 4, fields: { count: 4 }, notCompared: [] });
    for (const { before, after } of found.first) {
      const [had, has] = [before, after].map((json) => JSON.parse(json ?? '') as { count: number });
      expect(has?.count).toBe(2 * (had?.count ?? 0));
    }
    expect(store.live('tally')).toBe('tally@1.1');
    expect(countOf('boris')).toBe(6);
    const equal = await compare({ ...held, projection: tally() }, await fillHeld(held));
    expect(equal.rows).toBe(4);
  });

  test('A held build of the same code is equal', async () => {
    const { filling } = await begin();
    const held = { ...filling, projection: tally() };
    const found = await compare(held, await fillHeld(held));
    expect(found).toMatchObject({ rows: 0, compared: 4, first: [], notCompared: [] });
  });

  test('A held build survives starts, rebuilds of others and losses, and no engine takes it for a later build', async () => {
    const { engine, filling, held } = await begin();
    const space = await fillHeld(held);
    await engine.stop();
    const next = await start({ store });
    await awaitPassed(next, await append(log, 'anna'));
    await rebuild({ log, store, projection: { ...tally(), name: 'other' }, engine: next });
    await bare.drop('tally@1.1');
    next.recheck();
    await awaitPassed(next, await append(log, 'anna'));
    while (countOf('anna') !== 7) await new Promise((turn) => setImmediate(turn));
    expect(await findHeld(store, 'tally')).toBe(space);
    expect(store.live('tally')).not.toBe(space);
    expect(await compare({ ...held, engine: next }, space)).toMatchObject({ rows: 4, compared: 4 });
    expect(filling.control.isFilling).toBe(false);
  });

  test('A switch fills a held build up to the head first, and follows it from there', async () => {
    const { engine, held } = await begin();
    const space = await fillHeld(held);
    await awaitPassed(engine, await appendMany(log, OWNERS, 2));
    expect(await switchToHeld(held, space)).toBeUndefined();
    expect(store.live('tally')).toBe(space);
    expect(await findHeld(store, 'tally')).toBeUndefined();
    expect(OWNERS.map(countOf)).toEqual([14, 14, 14, 14]);
    await awaitPassed(engine, await append(log, 'anna'));
    expect((await store.spaces('tally')).all.toSorted()).toEqual(['tally@1.1', 'tally@1.2']);
    const { mismatches } = await verify({
      log,
      store,
      projections: [doubling],
    });
    expect(mismatches.map(({ partition }) => partition)).toEqual([]);
  });

  test('A switch to a build that stopped before an event is refused, and the build stays held', async () => {
    const { engine, filling } = await begin();
    await awaitPassed(engine, await append(log, 'anna', 'bad'));
    const held = { ...filling, projection: tally({ poison: 'bad' }) };
    const space = await fillHeld(held);
    const found = await compare(held, space);
    expect(found.notCompared).toEqual([partitionOf('anna')]);
    expect(found).toMatchObject({ rows: 0, compared: 3 });
    expect(await switchToHeld(held, space)).toContain('stopped before position');
    expect(store.live('tally')).toBe('tally@1.1');
    expect(await findHeld(store, 'tally')).toBe(space);
    await dropHeld(store, space);
    expect(await findHeld(store, 'tally')).toBeUndefined();
    expect((await bare.spaces('tally')).all).toEqual(['tally@1.1']);
  });

  test('A switch that was interrupted after the build went live is complete, and one to another version is refused', async () => {
    const { held } = await begin();
    const space = await fillHeld(held);
    const refusal = await switchToHeld({ ...held, projection: tally({ version: 2 }) }, space);
    expect(refusal).toContain('has rows of another version than 2');
    await store.goLive(space);
    expect(await findHeld(store, 'tally')).toBeUndefined();
    expect((await store.spaces('tally')).all).toContain(space);
  });
});
