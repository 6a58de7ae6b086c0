/** How a dispatcher recovers from senders that stopped, from log failures, and how it stops. */
import { afterEach, describe, expect, it } from 'vitest';
import { memoryEventLog } from '../support/memory-event-log.ts';
import { backOffMs } from '#src/sending/dispatcher.ts';
import type { DeliveryResult } from '#src/ports/delivery.ts';
import { type EventLog, LogUnavailable, replaceAppends } from '#src/ports/event-log.ts';
import { includesType } from '../support/appends.ts';
import { dispatching } from '../support/dispatch/dispatching.ts';
import { HOUR_MS } from '../support/world/outreach-acts.ts';

type World = Awaited<ReturnType<typeof dispatching>>;

const FILE = { adapter: 'file' as const };
const HOOK = { adapter: 'webhook' as const, url: 'https://hook.example/in' };
const HALT = { type: 'Halt' as const, reason: 'stop' };

const open: World[] = [];
const world = async (log?: EventLog): Promise<World> => {
  const created = await dispatching(log);
  open.push(created);
  return created;
};
afterEach(async () => {
  for (const one of open.splice(0)) await one.end();
});

const DELIVERED: DeliveryResult = { outcome: 'delivered', evidence: 'e' };

describe('An attempt whose sender stopped', () => {
  /** Dispatches a request as another process that stops; its attempt may take one more minute. */
  const orphan = async (w: World, via: typeof FILE | typeof HOOK): Promise<string> => {
    const id = await w.approved('acme', via);
    const { content_sha256: contentSha256 } = await w.state('acme', id);
    const at = w.time.clock.now();
    await w.command('acme', id, { type: 'Dispatch', at, contentSha256, until: at + 60_000 });
    return id;
  };

  it('An attempt whose sender stopped has an unknown outcome after the time that the sender had', async () => {
    const w = await world();
    await w.configure('acme', HOOK);
    const id = await orphan(w, HOOK);
    w.start();
    await w.advance(59_999);
    expect((await w.state('acme', id)).status).toBe('dispatched');
    await w.advance(1);
    expect(await w.state('acme', id)).toMatchObject({
      status: 'outcome_unknown',
      status_reason: 'sender_gone',
    });
    await w.advance(HOUR_MS);
    expect(w.sent).toEqual([]);
  });

  it.each([FILE, HOOK])(
    'An attempt whose sender stopped is repeated when the receiver ignores repeated ids: %o',
    async (via) => {
      const w = await world();
      await w.configure('acme', via === FILE ? FILE : { ...HOOK, receiver_idempotent: true });
      const id = await orphan(w, via);
      w.time.jump(60_000);
      w.start();
      await w.settle();
      expect(w.sent.map(({ attempt }) => attempt)).toEqual([2]);
      expect(await w.events('acme', id)).toEqual([
        'OutboundProposed',
        'OutboundApproved',
        'OutboundDispatched',
        'OutboundDeferred',
        'OutboundDispatched',
        'OutboundConfirmed',
      ]);
      expect((await w.state('acme', id)).uncertain).toBe(true);
    },
  );

  it('An attempt whose sender stopped is not repeated during a halt or after the request has expired', async () => {
    const w = await world();
    await w.configure('acme', FILE);
    const id = await orphan(w, FILE);
    await w.settings('acme', HALT);
    w.time.jump(60_000);
    w.start();
    await w.advance(HOUR_MS);
    expect(w.sent).toEqual([]);
    expect((await w.state('acme', id)).status).toBe('dispatched');
    w.time.jump(40 * 24 * HOUR_MS);
    await w.settings('acme', { type: 'Resume', reason: 'on' });
    expect((await w.state('acme', id)).status).toBe('outcome_unknown');
    expect(w.sent).toEqual([]);
  });

  it('An attempt whose sender stopped is confirmed when the answer arrives later', async () => {
    const w = await world();
    await w.configure('acme', HOOK);
    let answer = (_result: DeliveryResult): void => {};
    w.play(() => new Promise((resolve) => (answer = resolve)));
    const stalled = w.start({ schedule: () => () => {} });
    const id = await w.propose('acme', HOOK);
    await stalled.idle();
    await w.approve('acme', id);
    await w.sending(1);
    const { until = 0 } = await w.state('acme', id);
    await w.command('acme', id, { type: 'LoseTrack', attempt: 1, reason: 'sender_gone' });
    w.time.jump(until - w.time.clock.now());
    answer(DELIVERED);
    await stalled.idle();
    expect(await w.state('acme', id)).toMatchObject({ status: 'confirmed', evidence: 'e' });
  });
});

describe('A channel', () => {
  it('A channel that does not answer or throws leaves an unknown outcome', async () => {
    const w = await world();
    await w.configure('acme', HOOK);
    w.start();
    w.play(() => new Promise(() => {}));
    const id = await w.propose('acme', HOOK);
    await w.approve('acme', id);
    await w.sending(1);
    w.time.fire(21_000);
    await w.settle();
    expect(await w.state('acme', id)).toMatchObject({
      status: 'outcome_unknown',
      status_reason: 'timeout',
    });
    w.play(() => {
      throw new Error('a bug');
    });
    const second = await w.approved('acme', HOOK);
    expect((await w.state('acme', second)).status_reason).toBe('channel_fault');
    expect(w.faults).toHaveLength(1);
  });

  it('A channel is aborted when its time limit has passed', async () => {
    const w = await world();
    await w.configure('acme', HOOK);
    w.start();
    w.play(
      (_delivery, signal) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () => resolve({ outcome: 'retry', reason: 'timeout' })),
        ),
    );
    const id = await w.propose('acme', HOOK);
    await w.approve('acme', id);
    await w.sending(1);
    w.time.fire(20_000);
    await w.settle();
    expect((await w.events('acme', id)).at(-1)).toBe('OutboundDeferred');
  });
});

describe('A write-ahead event', () => {
  it('A write-ahead event that took too long to append is not followed by a delivery', async () => {
    const log = memoryEventLog();
    let w: World | undefined;
    const appendAll: EventLog['appendAll'] = async (appends) => {
      const result = await log.appendAll(appends);
      if (includesType(appends, 'OutboundDispatched')) w?.time.jump(10_000);
      return result;
    };
    w = await world(replaceAppends(log, appendAll));
    await w.configure('acme', HOOK);
    w.start();
    const id = await w.approved('acme', HOOK);
    expect(w.sent).toEqual([]);
    expect(await w.state('acme', id)).toMatchObject({ status_reason: 'late', outcome: 'none' });
  });

  it('A write-ahead event after which the log cannot be read is followed by another attempt, not by a delivery', async () => {
    const log = memoryEventLog();
    let outages = 1;
    let isCut = false;
    const appendAll: EventLog['appendAll'] = async (appends) => {
      isCut = includesType(appends, 'OutboundDispatched') && (outages -= 1) >= 0;
      return log.appendAll(appends);
    };
    const readStream: EventLog['readStream'] = async (stream, from) => {
      if (isCut && stream.includes('-outreach_'))
        throw new LogUnavailable('fault', 'no', 'no answer');
      return log.readStream(stream, from);
    };
    const w = await world({ ...replaceAppends(log, appendAll), readStream });
    await w.configure('acme', HOOK);
    w.start();
    const id = await w.approved('acme', HOOK);
    expect(w.sent).toEqual([]);
    expect(w.faults).toHaveLength(1);
    expect(await w.state('acme', id)).toMatchObject({
      status: 'dispatched',
      status_reason: 'log_unavailable',
      outcome: 'none',
    });
    await w.advance(HOUR_MS);
    expect(w.sent.map(({ attempt }) => attempt)).toEqual([2]);
    expect((await w.state('acme', id)).status).toBe('confirmed');
  });

  it('A write-ahead event without an answer from the log is not followed by a delivery', async () => {
    const log = memoryEventLog();
    const appendAll: EventLog['appendAll'] = async (appends) => {
      const result = await log.appendAll(appends);
      if (!includesType(appends, 'OutboundDispatched')) return result;
      throw new LogUnavailable('fault', 'unknown', 'no answer');
    };
    const w = await world(replaceAppends(log, appendAll));
    await w.configure('acme', HOOK);
    w.start();
    const id = await w.approved('acme', HOOK);
    await w.advance(HOUR_MS);
    expect(w.sent).toEqual([]);
    expect((await w.state('acme', id)).status).toBe('outcome_unknown');
    expect(w.faults).toHaveLength(1);
  });
});

describe('The result of a delivery', () => {
  it('The result of a delivery is appended again while the log is unavailable', async () => {
    const log = memoryEventLog();
    let failures = 2;
    const appendAll: EventLog['appendAll'] = async (appends) => {
      if (includesType(appends, 'OutboundConfirmed') && (failures -= 1) >= 0)
        throw new LogUnavailable('full', 'no', 'no room');
      return log.appendAll(appends);
    };
    const w = await world(replaceAppends(log, appendAll));
    await w.configure('acme', HOOK);
    w.start();
    const id = await w.propose('acme', HOOK);
    await w.approve('acme', id);
    for (let tries = 0; tries < 2; tries += 1) {
      await w.time.scheduled(1_000);
      w.time.fire(1_000);
    }
    await w.settle();
    expect((await w.state('acme', id)).status).toBe('confirmed');
    expect(w.sent).toHaveLength(1);
  });
});

describe('A dispatcher that stops', () => {
  it('A dispatcher that stops waits for deliveries, aborts them after a grace period, and records their outcome', async () => {
    const w = await world();
    await w.configure('acme', HOOK);
    const one = w.start();
    w.play(
      (_delivery, signal) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () =>
            resolve({ outcome: 'unknown', reason: 'timeout' }),
          ),
        ),
    );
    const first = await w.propose('acme', HOOK);
    const second = await w.propose('acme', HOOK);
    await w.approve('acme', first);
    await w.approve('acme', second);
    await w.sending(1);
    const stopped = one.stop();
    w.time.fire(3_000);
    await stopped;
    expect((await w.state('acme', first)).status).toBe('outcome_unknown');
    expect((await w.state('acme', second)).status).toBe('approved');
    expect(w.time.waiting()).toBe(0);
    expect(w.sent).toHaveLength(1);
  });
});

describe('The wait between attempts', () => {
  it('The wait between attempts differs between requests and ends after the tenth attempt', () => {
    const waits = Array.from({ length: 100 }, (_, n) => backOffMs(`out_${n}`, 1) ?? 0);
    expect(new Set(waits).size).toBeGreaterThan(90);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(5_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(6_000);
    expect(backOffMs('out_1', 10)).toBeUndefined();
  });
});
