/** A projection whose events change several rows of their scope. */
import { expect, test } from 'vitest';
import { memoryEventLog } from '#src/adapters/memory/event-log.ts';
import { memoryStore } from '#src/adapters/memory/read-model.ts';
import { fill } from '#projections/engine/fill.ts';
import { openTarget } from '#projections/engine/target.ts';
import type { Projection } from '#projections/projection.ts';
import { append } from '../../support/world/engine.ts';

type Tail = { count: number; blocks: number };
type Block = { block: number; of: number };
type Seen = { times: number };

const BLOCK = 3;
const fingerprintOf = ({ data }: { data: object }): string =>
  (data as { fingerprint: string }).fingerprint;

/** Counts events in a tail, cuts a block of every third one, and counts each fingerprint in a row of its own. */
const blocks: Projection<Tail | Block | Seen> = {
  name: 'blocks',
  version: 1,
  handles: ['RequestBound'],
  place: (event) => ({ scope: event.owner, key: 'tail', others: [`seen/${fingerprintOf(event)}`] }),
  evolve(row, event, others) {
    const { count, blocks: cut } = (row as Tail | undefined) ?? { count: 0, blocks: 0 };
    const key = `seen/${fingerprintOf(event)}`;
    const seen = others.get(key) as Seen | undefined;
    if (fingerprintOf(event) === 'forget') others.set('seen/a', null);
    others.set(key, { times: (seen?.times ?? 0) + 1 });
    if (count + 1 < BLOCK) return { count: count + 1, blocks: cut };
    others.set(`block/${cut}`, { block: cut, of: BLOCK });
    return { count: 0, blocks: cut + 1 };
  },
  sort: (row) => ('block' in row ? row.block : null),
};

const FINGERPRINTS = ['a', 'b', 'a', 'a', 'c', 'b', 'forget', 'a'];

test.each([1, 2, 3, 100])(
  'The rows are the same whatever the size of the batches: %i events',
  async (batchEvents) => {
    const log = memoryEventLog();
    for (const fingerprint of FINGERPRINTS)
      for (const owner of ['anna', 'bo']) await append(log, owner, fingerprint);
    const store = memoryStore();
    const target = await openTarget(store, { projection: blocks, space: 'blocks@1.1' });
    await fill({ log, store, targets: [target], batchEvents });
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
      expect(listed.map(({ row: one }) => one)).toEqual([
        { block: 1, of: BLOCK },
        { block: 0, of: BLOCK },
      ]);
    }
    expect(target.parked.size).toBe(0);
  },
);

test('An event that reads a row that its place does not name parks its partition', async () => {
  const log = memoryEventLog();
  await append(log, 'anna', 'a');
  const store = memoryStore();
  const projection: Projection = {
    ...blocks,
    evolve: (_row, _event, others) => others.get('elsewhere') ?? null,
  };
  const target = await openTarget(store, { projection, space: 'blocks@1.1' });
  await fill({ log, store, targets: [target] });
  expect(Array.from(target.parked.values(), ({ reason }) => reason)).toEqual([
    expect.stringContaining('does not name elsewhere'),
  ]);
});
