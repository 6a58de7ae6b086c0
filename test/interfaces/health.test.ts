/** /readyz: whether a process can work, also when positions of the log are byte offsets. */
import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { healthRoutes } from '#src/web/health.ts';
import { type EventLog, type FoldEvent, LogUnavailable } from '#src/ports/event-log.ts';

const BYTES = 900;
/** Events have the time 0. */
const clock = { now: () => 2_000, monotonic: () => 0 };

/** A log of `events` events, each `size` positions long. */
const logOf = (events: number, size: number): EventLog =>
  ({
    head: async () => ({ position: events * size, at: 0 }),
    readFold: async ({ after, limit }: { after: number; limit: number }) => {
      const first = Math.floor(after / size) + 1;
      const count = Math.max(0, Math.min(limit, events - first + 1));
      return Array.from({ length: count }, (_, i) => ({ position: (first + i) * size, at: 0 }));
    },
  }) as unknown as EventLog & { readFold(): Promise<FoldEvent[]> };

const readyz = async (
  log: EventLog,
  folded: number,
  {
    unreadable = [],
    ...leads
  }: { parked?: readonly unknown[]; lagEvents?: number; unreadable?: string[] } = {},
) => {
  const server = Fastify();
  const asOf = () => ({ position: folded, at: 0 });
  const following = { passed: async () => true, asOf, unreadable: () => unreadable };
  const statuses = [
    {
      name: 'leads',
      checkpoint: folded - (leads.lagEvents ?? 0),
      lagEvents: 0,
      parked: [],
      skipped: 0,
      ...leads,
    },
    { name: 'links', checkpoint: folded, lagEvents: 0, parked: [], skipped: 0 },
  ];
  const projections = { status: async () => statuses };
  healthRoutes(server, { log, clock, following, projections });
  const answer = await server.inject({ method: 'GET', url: '/readyz' });
  await server.close();
  return { status: answer.statusCode, body: answer.json() as Record<string, unknown> };
};

describe('/readyz', () => {
  it.each([
    ['numbers', 1],
    ['bytes', BYTES],
  ])('`/readyz` counts the lag in events when positions are %s', async (_what, size) => {
    const at = (behind: number) => readyz(logOf(50_000, size), (50_000 - behind) * size);
    expect(await at(0)).toMatchObject({ status: 200, body: { events_behind: 0 } });
    expect(await at(300)).toMatchObject({ status: 200, body: { events_behind: 300 } });
    expect(await at(9_900)).toMatchObject({
      status: 200,
      body: { status: 'ready', position: 50_000 * size, events_behind: 9_900 },
    });
    expect(await at(10_100)).toMatchObject({
      status: 503,
      body: { status: 'not_ready', events_behind: 10_100 },
    });
  });

  it('`/readyz` does not count positions between events as lag', async () => {
    const log = { ...logOf(0, 1), head: async () => ({ position: 5_000_000, at: 0 }) };
    expect(await readyz(log, 1_000)).toMatchObject({ status: 200, body: { events_behind: 0 } });
  });

  it('`/readyz` names parked read models and stays ready, because everything else works', async () => {
    expect(await readyz(logOf(1, 1), 1)).toMatchObject({ status: 200, body: { parked: [] } });
    const body = { status: 'ready', parked: ['leads'], waiting: [] };
    expect(await readyz(logOf(1, 1), 1, { parked: [{}] })).toMatchObject({ status: 200, body });
  });

  it('`/readyz` names read models that no process folds and stays ready, because writes and redirects work', async () => {
    expect(await readyz(logOf(9, 1), 9)).toMatchObject({ status: 200, body: { waiting: [] } });
    const body = { status: 'ready', events_behind: 0, waiting: ['leads'] };
    expect(await readyz(logOf(9, 1), 9, { lagEvents: 3 })).toMatchObject({ status: 200, body });
  });

  it('`/readyz` reports unknown values while the log is unavailable', async () => {
    const away = async () => Promise.reject(new LogUnavailable('fault', 'no', 'away'));
    const { status, body } = await readyz({ ...logOf(1, 1), head: away }, 1);
    expect(status).toBe(503);
    expect(body).toEqual({
      status: 'not_ready',
      position: null,
      folded: 1,
      events_behind: null,
      parked: null,
      waiting: null,
      unreadable: [],
    });
  });

  it('`/readyz` names read models of this process that cannot be read, and is not ready', async () => {
    const { status, body } = await readyz(logOf(9, 1), 9, { unreadable: ['credentials'] });
    expect(status).toBe(503);
    expect(body).toMatchObject({ status: 'not_ready', unreadable: ['credentials'] });
  });
});
