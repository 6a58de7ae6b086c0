/** The order of commands on one stream, and the time for their attempts. */
import { describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { StreamQueue } from '#src/writing/idempotency.ts';

const world = ({ chance = 1 } = {}) => {
  let now = 0;
  const pauses: number[] = [];
  const queue = new StreamQueue({
    monotonic: () => now,
    random: () => chance,
    async pause(ms) {
      pauses.push(ms);
      now += ms;
    },
  });
  return { queue, pauses, advance: (ms: number) => void (now += ms) };
};

/** Fails each attempt; returns the number of attempts. */
const failing = async (mayAttempt: () => Promise<boolean>): Promise<number> => {
  let attempts = 0;
  while (await mayAttempt()) attempts += 1;
  return attempts;
};

describe('The queue of a stream', () => {
  it("A stream's queue runs the commands on one stream one after another, and those on others at once", async () => {
    const { queue } = world();
    const order: string[] = [];
    let finish = (): void => {};
    const first = queue.run('a', async () => {
      order.push('a1');
      await new Promise<void>((resolve) => (finish = resolve));
      throw new Error('the first command fails');
    });
    const second = queue.run('a', async () => order.push('a2'));
    await queue.run('b', async () => order.push('b1'));
    expect(order).toEqual(['a1', 'b1']);
    finish();
    await expect(first).rejects.toThrow('the first command fails');
    await second;
    expect(order).toEqual(['a1', 'b1', 'a2']);
  });

  it("A stream's queue repeats a command for as long as a handler may take, with growing pauses", async () => {
    const { queue, pauses } = world();
    const attempts = await queue.run('a', failing);
    // The pauses count towards the time: 10, 20, 40, 80, then 160 ms each.
    expect(attempts).toBeGreaterThan(30);
    expect(pauses.slice(0, 6)).toEqual([10, 20, 40, 80, 160, 160]);
    const total = pauses.reduce((sum, ms) => sum + ms, 0);
    expect(total).toBeGreaterThanOrEqual(LIMITS.HANDLER_WAIT_MS);
    expect(total).toBeLessThanOrEqual(LIMITS.HANDLER_WAIT_MS + 160);
  });

  it("A stream's queue pauses for a random part of the longest pause", async () => {
    const { queue, pauses } = world({ chance: 0.25 });
    await queue.run('a', failing);
    expect(pauses.slice(0, 5)).toEqual([2.5, 5, 10, 20, 40]);
  });

  it("A stream's queue attempts no command that waited in the queue for longer than a handler may take", async () => {
    const { queue, advance } = world();
    const first = queue.run('a', async (mayAttempt) => {
      await mayAttempt();
      advance(LIMITS.HANDLER_WAIT_MS);
    });
    const second = queue.run('a', failing);
    await first;
    expect(await second).toBe(0);
  });
});
