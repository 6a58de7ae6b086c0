/** A projection whose events change several rows of their scope. */
import { expect, test } from 'vitest';
import { memoryEventLog } from '../support/memory-event-log.ts';
import { batchStore } from '../support/world/engine.ts';
import { fill } from '#projections/engine/fill.ts';
import { openTarget } from '#projections/engine/target.ts';
import type { Projection } from '#projections/projection.ts';
import type { ProjectionStore } from '#src/ports/read-model.ts';
import { append, appendMany, tally, type Tally } from '../support/world/engine.ts';

type Tail = { count: number; blocks: number };
type Block = { block: number; of: number };
type Seen = { times: number };

const BLOCK = 3;
const fingerprintOf = ({ data }: { data: object }): string =>
  (data as { fingerprint: string }).fingerprint;

/**
 * Counts events in a tail, cuts a block of every third one, replaces two blocks by one, and counts each fingerprint in a row
 * of its own.
 */
const blocks: Projection<Tail | Block | Seen> = {
  name: 'blocks',
  version: 1,
  handles: ['RequestBound'],
  place: (event) => ({ scope: event.owner, key: 'tail' }),
  others: (event) => [`seen/${fingerprintOf(event)}`],
  evolve(row, event, others) {
    const { count, blocks: cut } = (row as Tail | undefined) ?? { count: 0, blocks: 0 };
    const isPair = count + 1 === BLOCK && cut % 2 === 1;
    const blockBefore = `block/${cut - 1}`;
    if (isPair) others.load([blockBefore]);
    const key = `seen/${fingerprintOf(event)}`;
    const seen = others.get(key) as Seen | undefined;
    if (fingerprintOf(event) === 'forget') others.set('seen/a', null);
    others.set(key, { times: (seen?.times ?? 0) + 1 });
    if (count + 1 < BLOCK) return { count: count + 1, blocks: cut };
    const before = isPair ? (others.get(blockBefore) as Block) : { of: 0 };
    if (isPair) others.set(blockBefore, null);
    others.set(`block/${cut}`, { block: cut, of: before.of + BLOCK });
    return { count: 0, blocks: cut + 1 };
  },
  sort: (row) => ('block' in row ? row.block : null),
};

const FINGERPRINTS_OF_SEVEN = Array.from({ length: 7 }, (_, n) => `f${n}`);
const FINGERPRINTS = ['a', 'b', 'a', 'a', 'c', 'b', 'forget', 'a'];

test.each([
  [1, Infinity],
  [2, Infinity],
  [3, Infinity],
  [100, Infinity],
  [100, 1],
  [100, 3],
  [7, 4],
])(
  'The rows are the same whatever the size of the batches: %i events, %i rows of a partition',
  async (batchEvents, commitRowsMax) => {
    const log = memoryEventLog();
    for (const fingerprint of FINGERPRINTS)
      for (const owner of ['anna', 'bo']) await append(log, owner, fingerprint);
    const store = batchStore();
    const limited = { ...store, commitRowsMax };
    const target = await openTarget(limited, { projection: blocks, space: 'blocks@1.1' });
    await fill({ log, targets: [target], batchEvents });
    for (const scope of ['anna', 'bo']) {
      const row = (key: string) => store.peek(target.space, scope, key);
      expect(row('tail')).toEqual({ count: 2, blocks: 2 });
      expect(['a', 'b', 'c', 'forget'].map((name) => row(`seen/${name}`))).toEqual([
        { times: 1 },
        { times: 2 },
        { times: 1 },
        { times: 1 },
      ]);
      const listed = store.list(target.space, { scope, limit: 10 });
      expect(listed.map(({ row: one }) => one)).toEqual([{ block: 1, of: 2 * BLOCK }]);
    }
    expect(target.parked.size).toBe(0);
  },
);

test('An event that reads a row that its place does not name parks its partition', async () => {
  const log = memoryEventLog();
  await append(log, 'anna', 'a');
  const store = batchStore();
  const projection: Projection = {
    ...blocks,
    evolve: (_row, _event, others) => others.get('elsewhere') ?? null,
  };
  const target = await openTarget(store, { projection, space: 'blocks@1.1' });
  await fill({ log, targets: [target] });
  expect(Array.from(target.parked.values(), ({ reason }) => reason)).toEqual([
    expect.stringContaining('does not name elsewhere'),
  ]);
});

test('No commit has more rows of a partition than the store wants, and those of an event', async () => {
  const log = memoryEventLog();
  const ROWS_PER_EVENT = 3;
  const commitRowsMax = 10;
  for (let event = 0; event < 200; event += 1) await append(log, 'anna', `f${event}`);
  const last = await append(log, 'bo', 'f');
  const inner = batchStore();
  const sizes: number[] = [];
  const store: ProjectionStore = {
    ...inner,
    commitRowsMax,
    commit(space, batches) {
      sizes.push(...batches.map(({ writes }) => writes.length));
      return inner.commit(space, batches);
    },
  };
  const target = await openTarget(store, { projection: blocks, space: 'blocks@1.1' });
  expect(await fill({ log, targets: [target], batchEvents: 1_000 })).toBe(last);
  // A row for each event, the pairs of blocks, and two tails.
  expect(await inner.count(target.space)).toBe(201 + Math.floor(200 / BLOCK / 2) + 2);
  const blocksMax = Math.ceil(commitRowsMax / BLOCK);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(commitRowsMax + ROWS_PER_EVENT + blocksMax);
  expect(sizes.length).toBeGreaterThan(200 / commitRowsMax);
});

test('No commit has more events in one row than the store wants rows and events', async () => {
  const log = memoryEventLog();
  const commitRowsMax = 10;
  const last = await appendMany(log, ['anna'], 100);
  const inner = batchStore();
  const counts: number[] = [0];
  const store: ProjectionStore = {
    ...inner,
    commitRowsMax,
    commit(space, batches) {
      for (const { row } of batches.flatMap(({ writes }) => writes))
        counts.push((row as Tally).count);
      return inner.commit(space, batches);
    },
  };
  const target = await openTarget(store, { projection: tally(), space: 'tally@1.1' });
  expect(await fill({ log, targets: [target], batchEvents: 1_000 })).toBe(last);
  expect(counts.at(-1)).toBe(100);
  for (const [i, count] of counts.entries())
    expect(count - (counts[i - 1] ?? 0)).toBeLessThanOrEqual(commitRowsMax);
});

test.each(['throws', 'is stale', 'is stored without an answer'] as const)(
  'A part of a batch whose commit %s is folded once',
  async (fault) => {
    const log = memoryEventLog();
    for (let event = 0; event < 60; event += 1) await append(log, 'anna', `f${event % 7}`);
    const inner = batchStore();
    let commits = 0;
    const store: ProjectionStore = {
      ...inner,
      commitRowsMax: 4,
      async load(space, keys, at) {
        return structuredClone(await inner.load(space, keys, at));
      },
      async commit(space, batches) {
        if (batches.every(({ writes }) => writes.length === 0)) return inner.commit(space, batches);
        commits += 1;
        // Few, because the pause before the next attempt doubles.
        const fails = commits % 3 === 0 && commits <= 12;
        if (fails && fault === 'throws') throw new Error('away');
        if (fails && fault === 'is stale') return batches.map(() => 'stale');
        const results = await inner.commit(space, structuredClone(batches));
        if (fails) throw new Error('no answer');
        return results;
      },
    };
    const target = await openTarget(store, { projection: blocks, space: 'blocks@1.1' });
    await fill({ log, targets: [target] });
    expect(commits).toBeGreaterThan(12);
    expect(inner.peek(target.space, 'anna', 'tail')).toEqual({ count: 0, blocks: 20 });
    const times = FINGERPRINTS_OF_SEVEN.map(
      (name) => (inner.peek(target.space, 'anna', `seen/${name}`) as Seen).times,
    );
    expect(times).toEqual([9, 9, 9, 9, 8, 8, 8]);
  },
);
