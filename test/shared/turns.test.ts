/** How long work is divided among the turns of the event loop, with counted turns and an injected clock. */
import { describe, expect, it } from 'vitest';
import { randomFrom } from '../support/clients/journal.ts';
import { inTurns, sortedInTurns, TurnQueue } from '#src/shared/work.ts';

const TURN_ITEMS_MAX = 500;
/** Those of 5 ms, and of one part of the work. */
const COMPARISONS_MAX = 65_000;

/** A queue whose clock advances by 1 ms for every 100 items. The test runs the turns of its event loop. */
const world = () => {
  let now = 0;
  let items = 0;
  const scheduled: (() => void)[] = [];
  const turns = new TurnQueue({
    monotonic: () => now,
    nextTurn: (task) => void scheduled.push(task),
  });
  const itemsByTurn: number[] = [];
  return {
    turns,
    itemsByTurn,
    /** Compares numbers as if 10,000 comparisons took 1 ms, each as one item. */
    compare: (a: number, b: number): number => {
      items += 1;
      if (items % 10_000 === 0) now += 1;
      return a - b;
    },
    advance: (ms: number) => void (now += ms),
    read: async (count: number): Promise<void> => {
      const each = (): void => {
        items += 1;
        if (items % 100 === 0) now += 1;
      };
      await inTurns(Array.from({ length: count }), each, turns);
    },
    /** Runs the tasks of one turn. */
    step: (): void => {
      for (const task of scheduled.splice(0)) task();
    },
    /** Runs turns until nothing is left to do, and records how many items were handled in each. */
    async run(): Promise<void> {
      for (let before = 0; ; before = items) {
        // Promises settle within the turn.
        await new Promise((resolve) => setImmediate(resolve));
        itemsByTurn.push(items - before);
        const tasks = scheduled.splice(0);
        if (tasks.length === 0) return;
        for (const task of tasks) task();
      }
    },
  };
};

describe('Long work', () => {
  it('Long work holds the event loop for a bounded number of items a turn', async () => {
    const { read, run, itemsByTurn } = world();
    const reading = read(20_000);
    await run();
    await reading;
    expect(Math.max(...itemsByTurn)).toBeLessThanOrEqual(TURN_ITEMS_MAX);
    expect(itemsByTurn.reduce((sum, count) => sum + count)).toBe(20_000);
  });

  it.each([0, 1, 2, 1_024, 1_025, 5_000, 100_000])(
    'Long work sorts %i items as toSorted does, equal ones in their order, in a bounded number of comparisons a turn',
    async (length) => {
      const { turns, compare, run, itemsByTurn } = world();
      const random = randomFrom(length + 1);
      const items = Array.from({ length }, (_, at) => [random(length + 1), at] as const);
      const sorting = sortedInTurns(items, ([a], [b]) => compare(a, b), turns);
      await run();
      expect(await sorting).toEqual(items.toSorted(([a], [b]) => a - b));
      expect(Math.max(...itemsByTurn)).toBeLessThanOrEqual(COMPARISONS_MAX);
    },
  );

  it('The work of 40 requests at once holds a turn no longer than that of one', async () => {
    const { read, run, itemsByTurn } = world();
    const reading = Promise.all(Array.from({ length: 40 }, () => read(2_000)));
    await run();
    await reading;
    expect(Math.max(...itemsByTurn)).toBeLessThanOrEqual(TURN_ITEMS_MAX);
    expect(itemsByTurn.reduce((sum, count) => sum + count)).toBe(80_000);
  });

  it('Long work continues in the order in which it began to wait, and reports how long the first has waited', async () => {
    const { turns, advance, run } = world();
    const order: string[] = [];
    const wait = async (name: string): Promise<void> => {
      await turns.next();
      order.push(name);
    };
    const waiting = [wait('a'), wait('b')];
    advance(7);
    expect(turns.waitMs()).toBe(7);
    await run();
    await Promise.all(waiting);
    expect(order).toEqual(['a', 'b']);
    expect(turns.waitMs()).toBe(0);
  });

  it('Long work would wait for one turn for each task in the queue, even if the first one has just begun to wait', () => {
    const { turns, advance, step } = world();
    for (let turn = 0; turn < 50; turn += 1) {
      void turns.next();
      advance(40);
      step();
    }
    expect(turns.waitMs()).toBe(0);
    for (let task = 0; task < 10; task += 1) void turns.next();
    expect(turns.waitMs()).toBeGreaterThan(350);
    expect(turns.waitMs()).toBeLessThanOrEqual(400);
  });

  it('Long work does not wait while the turn has time left', async () => {
    const { turns, advance } = world();
    expect(turns.pause()).toBeUndefined();
    advance(4);
    expect(turns.pause()).toBeUndefined();
    advance(1);
    expect(turns.pause()).toBeInstanceOf(Promise);
  });
});
