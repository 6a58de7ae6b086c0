/** Visits beyond the limit of an address are summed: numbers stay true, and the log does not grow. */
import { describe, expect, it } from 'vitest';
import { memoryEventLog } from '../support/memory-event-log.ts';
import { recorder } from '#src/writing/recorder.ts';
import { surplusVisits, type Visit, visitRecorder } from '#src/links/visitors.ts';
import { type EventLog, LogUnavailable } from '#src/ports/event-log.ts';
import type { CodeRow } from '#src/ports/rows.ts';

type Fault = 'none' | 'full' | 'lost answer' | 'lost request';

const PER_MINUTE = 120;
const BEFORE_MIDNIGHT = Date.parse('2026-11-20T23:59:59Z');

const world = ({ holdsSums = false } = {}) => {
  const log = memoryEventLog();
  let fault: Fault = 'none';
  let now = BEFORE_MIDNIGHT;
  let monotonic = 0;
  const append: EventLog['append'] = async (...args) => {
    if (fault === 'none') return log.append(...args);
    if (fault === 'full') throw new LogUnavailable('full', 'no', 'no room');
    if (fault === 'lost answer') await log.append(...args);
    throw new LogUnavailable('fault', 'unknown', 'no answer');
  };
  let idCount = 0;
  const uuid = () => `00000000-0000-7000-8000-${(idCount += 1).toString(16).padStart(12, '0')}`;
  const ids = { uuid, base62: () => 'x' };
  const records = recorder({ ...log, append }, 'p');
  const due: (() => void)[] = [];
  const lost: unknown[] = [];
  const surplus = surplusVisits({
    recorder: records,
    ids,
    schedule: (task) => void due.push(task),
    onLost: (error) => lost.push(error),
  });
  const visits = visitRecorder({
    recorder: records,
    secrets: { mac: () => 'm'.repeat(32) } as never,
    clock: { now: () => now, monotonic: () => monotonic },
    ids,
    surplus,
    perMinute: PER_MINUTE,
    holdsSums,
  });
  const code = (linkId: string): CodeRow => ({
    link_id: linkId,
    owner: 'acme',
    agent_id: 'agt_1',
    dims: {},
    disabled: false,
    destination_url: 'https://t.example/s',
  });
  return {
    visits,
    due,
    lost,
    turn(to: Fault) {
      fault = to;
    },
    pass(ms: number) {
      now += ms;
      monotonic += ms;
    },
    async visit(count: number, linkId = 'lnk_1', address = '192.0.2.1') {
      const visit: Visit = { method: 'GET', address, user_agent: 'Mozilla/5.0', via_qr: false };
      const visited = { ...code(linkId), window_days: 30 };
      for (let n = 0; n < count; n += 1) await visits.record(visited, visit, 'r1');
    },
    async counts() {
      const events = await log.readAll({ after: 0, limit: 5_000 });
      const single = events.filter(({ type }) => type === 'VisitRecorded').length;
      const sums = events
        .filter(({ type }) => type === 'VisitsSummed')
        .map(({ data, meta }) => {
          const { link_id, visits: sum } = data as { link_id: string; visits: number };
          return [link_id, sum, new Date(meta.at).toISOString()];
        });
      return { single, sums };
    },
  };
};

describe('Visits of one network address to one link beyond the limit of a minute', () => {
  it('Surplus visits of one network address to one link are one event for each link and minute, with their number', async () => {
    const { visit, visits, counts, due, pass } = world();
    await visit(PER_MINUTE + 1_000);
    await visit(PER_MINUTE + 1, 'lnk_2');
    await visit(1, 'lnk_1', '192.0.2.2');
    expect(due).toHaveLength(1);
    await visits.flush();
    const at = '2026-11-20T23:59:59.000Z';
    expect(await counts()).toEqual({
      single: 2 * PER_MINUTE + 1,
      sums: [
        ['lnk_1', 1_000, at],
        ['lnk_2', 1, at],
      ],
    });
    pass(60_000);
    await visit(1);
    await visits.flush();
    expect((await counts()).single).toBe(2 * PER_MINUTE + 2);
  });

  it('Surplus visits count for all addresses of an IPv6 network together', async () => {
    const { visit, visits, counts } = world();
    for (let host = 0; host <= PER_MINUTE; host += 1)
      await visit(1, 'lnk_1', `2001:db8::${host.toString(16)}`);
    await visits.flush();
    expect(await counts()).toMatchObject({
      single: PER_MINUTE,
      sums: [['lnk_1', 1, expect.any(String)]],
    });
  });

  it('Surplus visits are counted on the day of the visit', async () => {
    const { visit, visits, counts, pass } = world();
    await visit(PER_MINUTE + 2);
    pass(1_500);
    await visit(PER_MINUTE);
    await visits.flush();
    const { single, sums } = await counts();
    expect(sums).toEqual([
      ['lnk_1', 2, '2026-11-20T23:59:59.000Z'],
      ['lnk_1', 2 * PER_MINUTE - single, '2026-11-21T00:00:00.500Z'],
    ]);
  });

  it.each(['full', 'lost answer', 'lost request'] as const)(
    'Surplus visits are neither lost nor counted twice when the log fails: %s',
    async (fault) => {
      const { visit, visits, counts, turn, due, lost } = world();
      await visit(PER_MINUTE + 5);
      turn(fault);
      await visits.flush();
      await visit(3);
      await visits.flush();
      turn('none');
      expect(due.length).toBeGreaterThan(1);
      await visits.flush();
      await visits.flush();
      const { sums } = await counts();
      expect(sums.map(([, sum]) => sum)).toEqual([5, 3]);
      expect(lost).toEqual([]);
    },
  );

  it('Surplus visits are recorded one by one while VisitsSummed is held', async () => {
    const { visit, visits, counts } = world({ holdsSums: true });
    await visit(PER_MINUTE + 5);
    await visits.flush();
    expect(await counts()).toEqual({ single: PER_MINUTE + 5, sums: [] });
  });
});
