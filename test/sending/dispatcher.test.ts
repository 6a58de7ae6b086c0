import { hash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { memoryEventLog } from '../support/memory-event-log.ts';
import { EVERYBODY } from '#src/sending/settings.ts';
import { webhookSecret } from '#src/outreach/controls.ts';
import type { DeliveryResult } from '#src/ports/delivery.ts';
import { type EventLog, type NewEvent, replaceAppends } from '#src/ports/event-log.ts';
import { includesType } from '../support/appends.ts';
import { dispatching } from '../support/dispatch/dispatching.ts';
import { DAY_MS, HOUR_MS } from '../support/world/outreach-acts.ts';

type World = Awaited<ReturnType<typeof dispatching>>;

const FILE = { adapter: 'file' as const };
const HOOK = { adapter: 'webhook' as const, url: 'https://hook.example/in' };
const HALT = { type: 'Halt' as const, reason: 'stop' };
const RETRY = { outcome: 'retry', reason: 'http_503' } as const;
const UNKNOWN = { outcome: 'unknown', reason: 'connection_lost' } as const;

const open: World[] = [];
const world = async (log?: EventLog): Promise<World> => {
  const created = await dispatching(log);
  open.push(created);
  return created;
};
afterEach(async () => {
  for (const one of open.splice(0)) {
    expect(one.faults).toEqual([]);
    await one.end();
  }
});

/** Starts a dispatcher that sends the messages of acme through `via`. */
const running = async (via: Parameters<World['configure']>[1], log?: EventLog): Promise<World> => {
  const created = await world(log);
  await created.configure('acme', via);
  created.start();
  return created;
};

describe('An approved request', () => {
  it('An approved request is sent once with the approved bytes, and every event is attributed', async () => {
    const w = await running(FILE);
    const id = await w.propose('acme', FILE);
    await w.settle();
    expect(w.sent).toEqual([]);
    await w.approve('acme', id, 'req_yes');
    await w.settle();
    expect(w.sent).toHaveLength(1);
    const { envelope = '', sha256 } = w.sent[0] ?? {};
    const state = await w.state('acme', id);
    expect(hash('sha256', envelope, 'hex')).toBe(state.content_sha256);
    expect(sha256).toBe(state.content_sha256);
    expect(state).toMatchObject({ status: 'confirmed', evidence: 'seen', attempts: 1 });
    const stored = await w.log.readStream(`acme-outbound_${id.slice(4)}`);
    for (const { meta } of stored.slice(-2))
      expect(meta).toMatchObject({
        actor: 'system',
        surface: 'system',
        operation: 'dispatchOutbound',
        correlation: 'req_yes',
      });
  });

  it('An approved request is written ahead and sent at its time', async () => {
    const w = await running(FILE);
    const seen: string[][] = [];
    let id = '';
    w.play(async () => {
      seen.push(await w.events('acme', id));
      return { outcome: 'delivered', evidence: 'e' };
    });
    id = await w.approved('acme', FILE, {
      not_before: w.time.clock.now() + 40 * DAY_MS,
      not_after: w.time.clock.now() + 41 * DAY_MS,
    });
    await w.advance(40 * DAY_MS - 1);
    expect(seen).toEqual([]);
    await w.advance(1);
    expect(seen.map((events) => events.at(-1))).toEqual(['OutboundDispatched']);
  });

  it('An approved request expires without being sent while it waits for approval or for the end of a halt', async () => {
    const w = await running(FILE);
    await w.settings('acme', HALT);
    const not_after = w.time.clock.now() + HOUR_MS;
    const pending = await w.propose('acme', FILE, { not_after });
    const halted = await w.approved('acme', FILE, { not_after });
    await w.advance(HOUR_MS - 1);
    expect((await w.state('acme', halted)).status).toBe('approved');
    await w.advance(1);
    for (const id of [pending, halted])
      expect((await w.events('acme', id)).at(-1)).toBe('OutboundExpired');
    expect(w.sent).toEqual([]);
  });

  it('An approved request of a test space goes to a file, whatever channel is configured', async () => {
    const w = await running(HOOK);
    await w.approved('testacme', FILE);
    expect(w.sent.map(({ ownerId, url }) => [ownerId, url])).toEqual([['testacme', undefined]]);
  });

  it('An approved request fails without being sent when its channel was changed, disabled or removed', async () => {
    const w = await running(HOOK);
    await w.settings('acme', HALT);
    const moved = await w.approved('acme', { ...HOOK, url: 'https://old.example/in' });
    const closed = await w.approved('acme', HOOK);
    await w.settings('acme', { type: 'DisableChannel', kind: 'message', reason: 'x' });
    const stranger = await w.approved('nobody', HOOK);
    await w.settings('acme', { type: 'Resume', reason: 'on' });
    const reasonOf = async (owner: string, id: string) => (await w.state(owner, id)).status_reason;
    expect(await reasonOf('acme', moved)).toBe('channel_disabled');
    expect(await reasonOf('acme', closed)).toBe('channel_disabled');
    expect(await reasonOf('nobody', stranger)).toBe('channel_changed');
    await w.configure('acme', HOOK);
    const other = await w.approved('acme', { ...HOOK, url: 'https://old.example/in' });
    expect(await w.state('acme', other)).toMatchObject({
      status: 'failed',
      status_reason: 'channel_changed',
    });
    expect(w.sent).toEqual([]);
  });

  it.each([
    ['content', { text: 'Mugs are back!', link_ids: [] }],
    ['target', { channel: 'email', recipient_ref: 'list:cafés' }],
    ['schedule', { not_after: Date.parse('2027-01-01') }],
  ])(
    'An approved request is not sent when its stored %s was changed after the approval',
    async (member, other) => {
      const log = memoryEventLog();
      let tampers = false;
      const readStream: EventLog['readStream'] = async (stream, from) => {
        const events = await log.readStream(stream, from);
        return events.map((event) => {
          if (!tampers || event.type !== 'OutboundProposed') return event;
          return { ...event, data: { ...event.data, [member]: other } };
        });
      };
      const w = await running(FILE, { ...log, readStream });
      await w.settings('acme', HALT);
      const id = await w.approved('acme', FILE);
      tampers = true;
      await w.settings('acme', { type: 'Resume', reason: 'on' });
      expect(w.sent).toEqual([]);
      expect((await w.state('acme', id)).status_reason).toBe('content_changed');
    },
  );
});

describe('A halt', () => {
  it.each(['acme', EVERYBODY])(
    'A halt of %s stops all requests until outreach is resumed',
    async (whose) => {
      const w = await running(FILE);
      await w.settings(whose, HALT);
      const id = await w.approved('acme', FILE);
      await w.approved('testacme', FILE);
      await w.advance(DAY_MS);
      expect(w.sent).toEqual([]);
      expect((await w.state('acme', id)).attempts).toBe(0);
      await w.settings(whose, { type: 'Resume', reason: 'on' });
      expect(w.sent).toHaveLength(2);
    },
  );

  it('A halt applies to the requests of a suspended agent until the agent is reinstated', async () => {
    const w = await running(FILE);
    const agent_id = 'agt_1';
    const request = { agent_id, name: 'A', purpose: 'P', scopes: ['messages:write'] };
    await w.judge(
      'acme',
      { type: 'RequestAccess', request: request },
      { type: 'ApproveAccess', scopes: request.scopes, reason: 'known' },
      { type: 'SuspendAgent', role: 'staff', reason: 'odd' },
    );
    await w.approved('acme', FILE);
    await w.approved('testacme', FILE);
    await w.advance(HOUR_MS);
    expect(w.sent).toEqual([]);
    await w.judge('acme', { type: 'ReinstateAgent', role: 'staff', reason: 'well again' });
    await w.advance(1);
    expect(w.sent).toHaveLength(2);
  });

  it('A halt that is stored before the write-ahead event stops the attempt', async () => {
    const log = memoryEventLog();
    let w: World | undefined;
    const appendAll: EventLog['appendAll'] = async (appends) => {
      if (includesType(appends, 'OutboundDispatched')) {
        const first = appends.at(-1)?.events[0] as NewEvent;
        const halt = {
          ...first,
          id: w?.deps.ids.uuid() ?? '',
          type: 'OutreachHalted',
          data: { reason: 'now' },
        };
        await log.append('desk-outreach_settings', -1, [halt]);
      }
      return log.appendAll(appends);
    };
    w = await running(FILE, replaceAppends(log, appendAll));
    const id = await w.approved('acme', FILE);
    expect(w.sent).toEqual([]);
    expect(await w.events('acme', id)).toContain('OutboundDeferred');
    await w.settings(EVERYBODY, { type: 'Resume', reason: 'on' });
    await w.advance(HOUR_MS);
    expect(w.sent.map(({ attempt }) => attempt)).toEqual([2]);
  });
});

describe('Several dispatchers on one log', () => {
  it('Several dispatchers on one log send each request once', async () => {
    const w = await world();
    await w.configure('acme', HOOK);
    const ids = await Promise.all(Array.from({ length: 30 }, () => w.propose('acme', HOOK)));
    for (const id of ids.slice(0, 15)) await w.approve('acme', id);
    for (let i = 0; i < 3; i += 1) w.start();
    for (const id of ids.slice(15)) await w.approve('acme', id);
    await w.advance(60_000);
    expect(w.sent.map(({ outboundId }) => outboundId).sort()).toEqual([...ids].sort());
    for (const id of ids) expect((await w.state('acme', id)).status).toBe('confirmed');
  });
});

describe('An attempt without effect', () => {
  it('An attempt without effect is repeated with the same id up to ten attempts over three days', async () => {
    const w = await running(HOOK);
    const at: number[] = [];
    w.play(() => (at.push(w.time.clock.now()), RETRY));
    const id = await w.approved('acme', HOOK);
    await w.advance(6 * DAY_MS);
    const waits = at.slice(1).map((time, i) => (time - (at[i] ?? 0)) / 1_000);
    const plan = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
    expect(waits).toHaveLength(plan.length);
    for (const [i, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(plan[i] ?? 0);
      expect(wait).toBeLessThanOrEqual(1.2 * (plan[i] ?? 0) + 1);
    }
    expect(
      new Set(w.sent.map(({ revision, outboundId }) => `${outboundId}.${revision}`)).size,
    ).toBe(1);
    expect(await w.state('acme', id)).toMatchObject({
      status: 'failed',
      status_reason: 'gave up: http_503',
    });
  });

  it('An attempt without effect is repeated after the time that the receiver requested, within the time of the request', async () => {
    const w = await running(HOOK);
    w.play(() => ({ ...RETRY, retryAfterMs: HOUR_MS }));
    const not_after = w.time.clock.now() + 90 * 60_000;
    const id = await w.approved('acme', HOOK, { not_after });
    expect((await w.state('acme', id)).retry_at).toBe(w.time.clock.now() + HOUR_MS);
    await w.advance(HOUR_MS);
    expect(await w.state('acme', id)).toMatchObject({ status: 'failed', attempts: 2 });
  });

  it('An attempt without effect is not repeated during a halt or after the channel has changed', async () => {
    const w = await running(HOOK);
    w.play(() => RETRY);
    const id = await w.approved('acme', HOOK);
    await w.settings('acme', HALT);
    await w.advance(HOUR_MS);
    expect(w.sent).toHaveLength(1);
    await w.configure('acme', FILE);
    await w.settings('acme', { type: 'Resume', reason: 'on' });
    expect(await w.state('acme', id)).toMatchObject({
      status: 'failed',
      status_reason: 'channel_changed',
    });
    expect(w.sent).toHaveLength(1);
  });
});

describe('An attempt that may have had an effect', () => {
  it('An attempt that may have had an effect is never repeated when the receiver does not ignore repeated ids', async () => {
    const w = await running(HOOK);
    w.play(() => UNKNOWN);
    const id = await w.approved('acme', HOOK);
    await w.advance(6 * DAY_MS);
    expect(w.sent).toHaveLength(1);
    expect(await w.state('acme', id)).toMatchObject({
      status: 'outcome_unknown',
      outcome: 'unknown',
      status_reason: 'connection_lost',
    });
  });

  it.each([FILE, { ...HOOK, receiver_idempotent: true }])(
    'An attempt that may have had an effect is repeated when the receiver ignores repeated ids, and never reported as failed: %o',
    async ({ adapter, ...channel }) => {
      const w = await running({ adapter, ...channel });
      const via = adapter === 'file' ? FILE : HOOK;
      const results: DeliveryResult[] = [UNKNOWN, RETRY, { outcome: 'delivered', evidence: 'e' }];
      w.play(() => results.shift() ?? { outcome: 'refused', reason: 'http_422' });
      const id = await w.approved('acme', via);
      expect(await w.state('acme', id)).toMatchObject({ status: 'dispatched', uncertain: true });
      await w.advance(HOUR_MS);
      expect(await w.state('acme', id)).toMatchObject({ status: 'confirmed', attempts: 3 });
      results.push(UNKNOWN);
      const refused = await w.approved('acme', via);
      await w.advance(HOUR_MS);
      // This attempt was refused, but the one before may have had an effect.
      expect(await w.state('acme', refused)).toMatchObject({
        status: 'outcome_unknown',
        attempts: 2,
      });
      w.play(() => UNKNOWN);
      const endless = await w.approved('acme', via);
      await w.advance(6 * DAY_MS);
      expect(await w.state('acme', endless)).toMatchObject({
        status: 'outcome_unknown',
        attempts: 10,
      });
    },
  );

  it('An attempt that may have had an effect leaves an unknown outcome when the request expires before the next attempt', async () => {
    const w = await running(FILE);
    w.play(() => UNKNOWN);
    const not_after = w.time.clock.now() + 60_000;
    const id = await w.approved('acme', FILE, { not_after });
    await w.settings('acme', HALT);
    await w.advance(60_000);
    expect(await w.state('acme', id)).toMatchObject({ status: 'outcome_unknown', attempts: 1 });
  });
});

describe('A refused attempt', () => {
  it('A refused attempt ends the request and disables the channel only when the receiver is gone', async () => {
    const w = await running(HOOK);
    w.play(() => ({ outcome: 'refused', reason: 'http_404' }));
    const first = await w.approved('acme', HOOK);
    expect(await w.state('acme', first)).toMatchObject({
      status: 'failed',
      status_reason: 'http_404',
    });
    w.play(() => ({ outcome: 'refused', reason: 'http_410', disable: true }));
    await w.approved('acme', HOOK);
    expect(w.sent).toHaveLength(2);
    const third = await w.approved('acme', HOOK);
    expect((await w.state('acme', third)).status_reason).toBe('channel_disabled');
    expect(w.sent).toHaveLength(2);
  });
});

describe('A channel that fails', () => {
  const failing = async (w: World): Promise<void> => {
    w.play(() => RETRY);
    const id = await w.approved('acme', HOOK);
    await w.advance(4 * DAY_MS);
    expect((await w.state('acme', id)).status).toBe('failed');
  };
  const disabled = async (w: World) =>
    (await w.log.readStream('acme-outreach_settings')).filter(({ type }) =>
      type.endsWith('Disabled'),
    );

  it('A channel that fails for five days without a success is disabled', async () => {
    const w = await running(HOOK);
    await failing(w);
    expect(await disabled(w)).toHaveLength(0);
    await w.advance(2 * DAY_MS);
    await failing(w);
    expect(await disabled(w)).toHaveLength(1);
    expect((await disabled(w))[0]?.data).toMatchObject({ kind: 'message' });
  });

  it.each(['a success', 'a new configuration'])(
    'A channel that fails is not disabled after %s',
    async (what) => {
      const w = await running(HOOK);
      await failing(w);
      w.play(() => ({ outcome: 'delivered', evidence: 'e' }));
      if (what === 'a success') await w.approved('acme', HOOK);
      else await w.configure('acme', HOOK);
      await w.advance(2 * DAY_MS);
      await failing(w);
      expect(await disabled(w)).toHaveLength(0);
    },
  );
});

describe('The secrets that sign a webhook', () => {
  it('The secrets that sign a webhook are the current one and, during a rotation, the previous one', async () => {
    const w = await world();
    const until = w.time.clock.now() + DAY_MS;
    await w.configure('acme', { ...HOOK, secret_version: 3, rotating_until: until });
    w.start();
    const secret = (version: number) =>
      webhookSecret(w.secrets, { ownerId: 'acme', kind: 'message', version });
    await w.approved('acme', HOOK);
    await w.advance(DAY_MS);
    await w.approved('acme', HOOK);
    expect(w.sent.map(({ signingSecrets }) => signingSecrets)).toEqual([
      [secret(3), secret(2)],
      [secret(3)],
    ]);
  });
});
