/** Audit records while the log fails: none is lost, none is stored twice. */
import { describe, expect, it, vi } from 'vitest';
import { memoryEventLog } from '../support/memory-event-log.ts';
import { auditLog } from '#src/calls/audit.ts';
import { done } from '#src/shared/outcome.ts';
import { recorder } from '#src/writing/recorder.ts';
import { type EventLog, LogUnavailable } from '#src/ports/event-log.ts';

type Entries = { request_id: string; operation: string; count: number }[];
type Illness = 'well' | 'full' | 'lost answer' | 'lost request';

const world = ({ holdsCalls = false } = {}) => {
  const log = memoryEventLog();
  let illness: Illness = 'well';
  let meanwhile = (): void => {};
  const append: EventLog['append'] = async (...args) => {
    meanwhile();
    if (illness === 'well') return log.append(...args);
    if (illness === 'full') throw new LogUnavailable('full', 'no', 'no room');
    if (illness === 'lost answer') await log.append(...args);
    throw new LogUnavailable('fault', 'unknown', 'no answer');
  };
  const lost: unknown[] = [];
  let idCount = 0;
  const uuid = () => `00000000-0000-7000-8000-${(idCount += 1).toString(16).padStart(12, '0')}`;
  const ids = { uuid, base62: () => 'x' };
  const audit = auditLog({
    recorder: recorder({ ...log, append }, 'p'),
    clock: { now: () => 0, monotonic: () => 0 },
    ids,
    schedule: () => {},
    onLost: (error) => lost.push(error),
    holdsCalls,
    handoffOf: async () => undefined,
  });
  let calls = 0;
  return {
    lost,
    ids,
    audit,
    turn(to: Illness, during = (): void => {}) {
      illness = to;
      meanwhile = during;
    },
    note: (operation: string, agentId = 'agt_1') =>
      audit.record(
        { kind: 'agent', ownerId: 'acme', agentId, keyId: 'key' },
        { operation, surface: 'rest', requestId: `r${(calls += 1)}` },
        done(null),
      ),
    noteAtDesk: (operation: string) =>
      audit.record(
        { kind: 'desk', id: 'token' },
        { operation, surface: 'desk', requestId: `r${(calls += 1)}` },
        done(null),
      ),
    recorded: async (): Promise<Entries[]> =>
      (await log.readAll({ after: 0, limit: 100 })).map(
        ({ data }) => (data as { entries: Entries }).entries,
      ),
  };
};

describe('The audit log', () => {
  it('The audit log stores the calls of agents only while `CallsAudited` is held', async () => {
    for (const holdsCalls of [false, true]) {
      const { audit, note, noteAtDesk, recorded } = world({ holdsCalls });
      note('listLeads');
      noteAtDesk('readRfq');
      await audit.flush();
      const operations = (await recorded()).flat().map(({ operation }) => operation);
      expect(operations).toEqual(holdsCalls ? ['listLeads'] : ['listLeads', 'readRfq']);
    }
  });

  it('The audit log stores a batch that did not fit together with the later calls', async () => {
    const { audit, turn, note, recorded, lost } = world();
    note('listLeads');
    turn('full', () => {
      note('searchProducts');
      note('listLeads');
    });
    for (let n = 0; n < 3; n++) await audit.flush();
    turn('well');
    await audit.flush();
    expect(await recorded()).toMatchObject([
      [
        { operation: 'listLeads', count: 4, request_id: 'r1' },
        { operation: 'searchProducts', count: 3, request_id: 'r2' },
      ],
    ]);
    expect(lost).toEqual([]);
  });

  it.each(['lost answer', 'lost request'] as const)(
    'The audit log counts each call once after a %s',
    async (how) => {
      const { audit, turn, note, recorded, lost } = world();
      note('listLeads');
      await audit.flush();
      turn(how);
      note('listLeads');
      await audit.flush();
      // Also when the retry reports that it appended nothing.
      turn('full');
      note('listLeads');
      note('listLeads', 'agt_2');
      await audit.flush();
      turn('well');
      await audit.flush();
      const of = (count: number, request_id: string) => [{ count, request_id }];
      const all = await recorded();
      expect(all).toHaveLength(4);
      expect(all).toMatchObject([of(1, 'r1'), of(1, 'r2'), of(1, 'r3'), of(1, 'r4')]);
      expect(lost).toEqual([]);
    },
  );

  it('The audit log loses only the batch that a bug prevents from being written', async () => {
    const { audit, ids, note, recorded, lost } = world();
    const bug = new TypeError('a bug');
    vi.spyOn(ids, 'uuid').mockImplementationOnce(() => {
      throw bug;
    });
    note('listLeads', 'agt_1');
    note('listLeads', 'agt_2');
    await audit.flush();
    expect(lost).toEqual([bug]);
    expect(await recorded()).toHaveLength(1);
  });

  it('The audit log writes later calls after a write that threw', async () => {
    const { audit, turn, note, recorded, lost } = world();
    const { push } = lost;
    lost.push = () => {
      throw new Error('nobody to tell');
    };
    turn('well', () => {
      throw new TypeError('a bug');
    });
    note('listLeads');
    await expect(audit.flush()).rejects.toThrow('nobody to tell');
    lost.push = push;
    turn('well');
    note('listLeads');
    await audit.flush();
    expect(await recorded()).toHaveLength(1);
  });
});
