/** What agents did stays countable while the log is not well: nothing is lost, nothing doubled. */
import { describe, expect, it, vi } from 'vitest';
import { memoryEventLog } from '#src/adapters/memory/event-log.ts';
import { activityLog } from '#src/app/pipeline/activity.ts';
import { recorder } from '#src/app/events/recorder.ts';
import type { EventLog } from '#src/ports/event-log.ts';
import { LogUnavailable } from '#src/ports/event-log.ts';

type Entries = { request_id: string; operation: string; count: number }[];
type Illness = 'well' | 'full' | 'lost answer' | 'lost request';

const world = () => {
  const log = memoryEventLog();
  let illness: Illness = 'well';
  let meanwhile = (): void => {};
  const append: EventLog['append'] = async (...asked) => {
    meanwhile();
    if (illness === 'well') return log.append(...asked);
    if (illness === 'full') throw new LogUnavailable('full', 'no', 'no room');
    if (illness === 'lost answer') await log.append(...asked);
    throw new LogUnavailable('fault', 'unknown', 'no answer');
  };
  const lost: unknown[] = [];
  let made = 0;
  const uuid = () => `00000000-0000-7000-8000-${(made += 1).toString(16).padStart(12, '0')}`;
  const ids = { uuid, base62: () => 'x' };
  const activity = activityLog({
    recorder: recorder({ ...log, append }, 'p'),
    clock: { now: () => 0, monotonic: () => 0 },
    ids,
    schedule: () => {},
    onLost: (error) => lost.push(error),
  });
  let calls = 0;
  return {
    lost,
    ids,
    activity,
    turn(to: Illness, during = (): void => {}) {
      illness = to;
      meanwhile = during;
    },
    note: (operation: string, agentId = 'agt_1') =>
      activity.note(
        { ownerId: 'acme', agentId, keyId: 'key' },
        { operation, surface: 'rest', request_id: `r${(calls += 1)}`, decision: 'allowed' },
      ),
    recorded: async (): Promise<Entries[]> =>
      (await log.readAll({ after: 0, limit: 100 })).map(
        ({ data }) => (data as { entries: Entries }).entries,
      ),
  };
};

describe('activity', () => {
  it('that found no room is one with what came since', async () => {
    const { activity, turn, note, recorded, lost } = world();
    note('listLeads');
    turn('full', () => {
      note('searchProducts');
      note('listLeads');
    });
    for (let n = 0; n < 3; n++) await activity.flush();
    turn('well');
    await activity.flush();
    expect(await recorded()).toMatchObject([
      [
        { operation: 'listLeads', count: 4, request_id: 'r1' },
        { operation: 'searchProducts', count: 3, request_id: 'r2' },
      ],
    ]);
    expect(lost).toEqual([]);
  });

  it.each(['lost answer', 'lost request'] as const)('is counted once after a %s', async (how) => {
    const { activity, turn, note, recorded, lost } = world();
    note('listLeads');
    await activity.flush();
    turn(how);
    note('listLeads');
    await activity.flush();
    // Also when the next try says that itself did nothing.
    turn('full');
    note('listLeads');
    note('listLeads', 'agt_2');
    await activity.flush();
    turn('well');
    await activity.flush();
    const of = (count: number, request_id: string) => [{ count, request_id }];
    const all = await recorded();
    expect(all).toHaveLength(4);
    expect(all).toMatchObject([of(1, 'r1'), of(1, 'r2'), of(1, 'r3'), of(1, 'r4')]);
    expect(lost).toEqual([]);
  });

  it('that a bug keeps from being written is lost alone', async () => {
    const { activity, ids, note, recorded, lost } = world();
    const bug = new TypeError('a bug');
    vi.spyOn(ids, 'uuid').mockImplementationOnce(() => {
      throw bug;
    });
    note('listLeads', 'agt_1');
    note('listLeads', 'agt_2');
    await activity.flush();
    expect(lost).toEqual([bug]);
    expect(await recorded()).toHaveLength(1);
  });

  it('goes on after a writing that broke', async () => {
    const { activity, turn, note, recorded, lost } = world();
    const { push } = lost;
    lost.push = () => {
      throw new Error('nobody to tell');
    };
    turn('well', () => {
      throw new TypeError('a bug');
    });
    note('listLeads');
    await expect(activity.flush()).rejects.toThrow('nobody to tell');
    lost.push = push;
    turn('well');
    note('listLeads');
    await activity.flush();
    expect(await recorded()).toHaveLength(1);
  });
});
