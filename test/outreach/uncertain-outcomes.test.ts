/** Requests whose outcome is uncertain are never reported as failed, and stale answers change nothing. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DeliveryResult } from '#src/ports/delivery.ts';
import { dispatching } from '../support/dispatch/dispatching.ts';
import { DAY_MS, outreachActs } from '../support/world/outreach-acts.ts';

const FILE = { adapter: 'file' as const };
const HOOK = { adapter: 'webhook' as const, url: 'https://hook.example/in' };
const UNKNOWN = { outcome: 'unknown', reason: 'connection_lost' } as const;
const DELIVERED = { outcome: 'delivered', evidence: 'e' } as const;

let w: Awaited<ReturnType<typeof dispatching>>;
beforeEach(async () => {
  w = await dispatching();
});
afterEach(async () => {
  expect(w.faults).toEqual([]);
  await w.end();
});

describe('A request that may have been delivered', () => {
  it('A request that may have been delivered has an unknown outcome when there is no time for another attempt', async () => {
    await w.configure('acme', FILE);
    w.start();
    w.play(() => UNKNOWN);
    const id = await w.approved('acme', FILE, { not_after: w.time.clock.now() + 3_000 });
    expect(await w.state('acme', id)).toMatchObject({ status: 'outcome_unknown', attempts: 1 });
  });

  it('A request that may have been delivered has an unknown outcome when all further attempts had no effect', async () => {
    await w.configure('acme', FILE);
    w.start();
    const results: DeliveryResult[] = [UNKNOWN];
    w.play(() => results.shift() ?? { outcome: 'retry', reason: 'disk_full' });
    const id = await w.approved('acme', FILE);
    await w.advance(6 * DAY_MS);
    expect(await w.state('acme', id)).toMatchObject({ status: 'outcome_unknown', attempts: 10 });
  });

  it('A request that may have been delivered is not confirmed by the late answer of an attempt before the last', async () => {
    await w.configure('acme', FILE);
    let answer = (_result: DeliveryResult): void => {};
    w.play(() => new Promise((resolve) => (answer = resolve)));
    const stalled = w.start({ schedule: () => () => {} });
    const id = await w.propose('acme', FILE);
    await stalled.idle();
    await w.approve('acme', id);
    await w.sending(1);
    const { content_sha256: contentSha256 } = await w.state('acme', id);
    const at = w.time.clock.now();
    const senderGone = { attempt: 1, reason: 'sender_gone' };
    await w.command('acme', id, { type: 'Defer', ...senderGone, retry_at: at, uncertain: true });
    await w.command('acme', id, { type: 'Dispatch', at, contentSha256, until: at + 60_000 });
    await w.command('acme', id, { type: 'LoseTrack', ...senderGone, attempt: 2 });
    answer(DELIVERED);
    await stalled.idle();
    expect(await w.state('acme', id)).toMatchObject({ status: 'outcome_unknown', attempts: 2 });
  });
});

describe('A receiver that is gone', () => {
  it('A receiver that is gone does not disable the receiver that replaced it', async () => {
    const other = { ...HOOK, url: 'https://hook.example/new' };
    const { configure } = outreachActs({ ...w.deps, now: w.time.clock.now });
    await w.configure('acme', HOOK);
    w.start();
    w.play(async () => {
      await configure('acme', other);
      return { outcome: 'refused', reason: 'http_410', disable: true };
    });
    await w.approved('acme', HOOK);
    w.play(() => DELIVERED);
    const id = await w.approved('acme', other);
    expect((await w.state('acme', id)).status).toBe('confirmed');
    expect(w.sent.map(({ url }) => url)).toEqual([HOOK.url, other.url]);
  });
});
