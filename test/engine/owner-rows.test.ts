import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { replaceOwnerRows } from '#projections/engine/owner-rows.ts';
import type { Projection } from '#projections/projection.ts';
import type { EventLog, Position } from '#src/ports/event-log.ts';
import { partitionOf, type ProjectionStore, type Row } from '#src/ports/read-model.ts';
import {
  append,
  appendMany,
  awaitPassed,
  copying,
  type Tally,
  tally,
  world,
} from '../support/world/engine.ts';

const OWNERS = ['anna', 'boris', 'carla'];
/** A row for each owner in a list of all, which has two lists of its own. */
const everybody: Projection<Tally> = {
  ...tally(),
  name: 'everybody',
  place: ({ owner }) => ({ scope: 'all', key: owner }),
  lists: ({ count, sort }) => [[count % 2 === 0 ? 'even' : 'odd', sort]],
};
/** One row, which the events of all owners change. */
const total: Projection<Tally> = {
  ...tally(),
  name: 'total',
  place: () => ({ scope: 'all', key: 'total' }),
};
const projections = [tally(), everybody, total];

let { log, store, start, countOf, end } = world();
beforeEach(() => ({ log, store, start, countOf, end } = world()));
afterEach(() => end());

const eventsOf = (owner: string, source: EventLog = log) =>
  async function* (range: { after: Position; upTo: Position }) {
    yield await source.readOwnerFold(owner, { ...range, limit: 1_000 });
  };

/** Writes a row as damage would: past the engine, at the checkpoint of its partition. */
const damage = async (name: string, scope: string, key: string, row: Row | null) => {
  const space = store.live(name) ?? '';
  const partition = partitionOf(scope);
  const from = (await store.checkpoints(space))[partition] ?? 0;
  const writes = [{ scope, key, row, sort: row === null ? null : (row as Tally).sort }];
  await store.commit(space, [{ partition, from, to: from, writes }]);
};
const rowOf = (name: string, scope: string, key: string) =>
  store.peek(store.live(name) ?? '', scope, key) as Tally | undefined;

const begin = async () => {
  const engine = await start({ projections });
  await awaitPassed(engine, await appendMany(log, OWNERS, 5));
  return engine;
};
type Started = Awaited<ReturnType<typeof begin>>;
const replace = (
  engine: Started,
  projection: Projection,
  over: Partial<{ store: ProjectionStore }> = {},
) =>
  replaceOwnerRows('anna', { log, store, engine, projection, events: eventsOf('anna'), ...over });

describe('The rows of an owner', () => {
  test('The rows of an owner that differ are replaced: a wrong one, a missing one and a surplus one in its own scope', async () => {
    const engine = await begin();
    const right = { ...rowOf('tally', 'anna', 'tally') } as Tally;
    await damage('tally', 'anna', 'tally', { ...right, count: 99 });
    await damage('tally', 'anna', 'surplus', { count: 1, last: 1, sort: 1 });
    await damage('tally', 'boris', 'tally', { count: 77, last: 1, sort: 1 });
    const found = await replace(engine, tally());
    expect(found).toMatchObject({ compared: 2, shared: [], notReplaced: [] });
    expect(found?.differences).toMatchObject({ rows: 2, onlyBefore: 1, fields: { count: 1 } });
    expect(rowOf('tally', 'anna', 'tally')).toEqual(right);
    expect(rowOf('tally', 'anna', 'surplus')).toBeUndefined();
    // Rows of others stay as they are.
    expect(countOf('boris')).toBe(77);
    await damage('tally', 'anna', 'tally', null);
    expect((await replace(engine, tally()))?.differences).toMatchObject({ rows: 1, onlyAfter: 1 });
    expect(rowOf('tally', 'anna', 'tally')).toEqual(right);
    await awaitPassed(engine, await append(log, 'anna'));
    expect(countOf('anna')).toBe(6);
    expect((await replace(engine, tally()))?.differences.rows).toBe(0);
  });

  test('The rows of an owner in a list of all owners are replaced with their entries, and those of others are not', async () => {
    const engine = await begin();
    await damage('everybody', 'all', 'anna', { count: 4, last: 13, sort: 1 });
    await damage('everybody', 'all', 'boris', { count: 4, last: 14, sort: 2 });
    const found = await replace(engine, everybody);
    expect(found).toMatchObject({ compared: 1, shared: [], notReplaced: [] });
    expect(rowOf('everybody', 'all', 'anna')).toMatchObject({ count: 5 });
    expect(rowOf('everybody', 'all', 'boris')).toMatchObject({ count: 4 });
    const listed = store.list(store.live('everybody') ?? '', {
      scope: 'all',
      list: 'odd',
      limit: 9,
    });
    expect(listed.map(({ key }) => key)).toContain('anna');
  });

  test('A row that events of other owners place as well is named and left as it is', async () => {
    const engine = await begin();
    const found = await replace(engine, total);
    expect(found?.shared).toEqual([{ scope: 'all', key: 'total' }]);
    expect(rowOf('total', 'all', 'total')).toMatchObject({ count: 15 });
  });

  test('The rows of an owner are replaced beside traffic that changes them, and no event is lost', async () => {
    const engine = await begin();
    let isWriting = true;
    const writing = (async () => {
      while (isWriting) await awaitPassed(engine, await append(log, 'anna'));
    })();
    for (let times = 0; times < 5; times++) {
      const row = rowOf('tally', 'anna', 'tally');
      if (row) row.count = 1_000;
      expect(await replace(engine, tally())).toMatchObject({ notReplaced: [] });
    }
    isWriting = false;
    await writing;
    expect(await replace(engine, tally())).toMatchObject({ differences: { rows: 0 } });
    expect(countOf('anna')).toBeLessThan(1_000);
  });

  test('Another process that folds the partition meanwhile folds the replaced row', async () => {
    const shared = copying(store);
    const engine = await start({ projections, store: shared });
    await awaitPassed(engine, await appendMany(log, OWNERS, 5));
    const right = { ...rowOf('tally', 'anna', 'tally') } as Tally;
    await damage('tally', 'anna', 'tally', { ...right, count: 99 });
    const space = store.live('tally') ?? '';
    const partition = partitionOf('anna');
    const from = (await store.checkpoints(space))[partition] ?? 0;
    await awaitPassed(engine, await append(log, 'boris'));
    await replace(engine, tally(), { store: shared });
    expect(countOf('anna')).toBe(5);
    // A commit on what another process has loaded before the row was replaced is stale.
    const late = [{ partition, from, to: from + 9, writes: [] }];
    expect(await store.commit(space, late)).toEqual(['stale']);
  });

  test('A parked partition is named, and its rows are left as they are', async () => {
    const engine = await start({ projections: [tally({ poison: 'bad' })] });
    await awaitPassed(engine, await append(log, 'anna'));
    await awaitPassed(engine, await append(log, 'anna', 'bad'));
    await damage('tally', 'anna', 'tally', { count: 9, last: 1, sort: 1 });
    const found = await replace(engine, tally());
    expect(found?.notReplaced).toEqual([partitionOf('anna')]);
    expect(countOf('anna')).toBe(9);
  });

  test('An owner without events has no rows to replace', async () => {
    const engine = await begin();
    const options = { log, store, engine, projection: tally(), events: eventsOf('nobody') };
    expect(await replaceOwnerRows('nobody', options)).toBeUndefined();
  });
});
