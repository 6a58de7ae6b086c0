/** Changes of one stream: what is read and appended, in which order, and what begins again after a conflict. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { changeStream, decideAndAppend, issue } from '#src/writing/decide-and-append.ts';
import { StreamQueue } from '#src/writing/idempotency.ts';
import { NO_LIST } from '#src/handoffs/review.ts';
import type { Call } from '#src/shared/call.ts';
import { outreach } from '#src/sending/settings.decider.ts';
import { handoff } from '#src/handoffs/handoff.decider.ts';
import { type Append, type EventLog, replaceAppends } from '#src/ports/event-log.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { reviews } from '../support/world/reviews.ts';

let app: TestApp;
let key: string;
let stream: string;
beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
  await app.publish([feedProduct('MUG-1'), feedProduct('MUG-2')]);
});
afterAll(() => app.close());

const { handoff: make, events } = reviews({ app: () => app, key: () => key });
const types = (): Promise<string[]> => events(stream.replace('acme-handoff_', 'hnd_'));
beforeEach(async () => {
  stream = `acme-handoff_${(await make()).id.slice(4)}`;
});

const callOf = (more: Partial<Call> = {}): Call => ({
  ownerId: 'acme',
  actor: 'buyer',
  surface: 'portal',
  operation: 'declineHandoff',
  requestId: app.service.deps.ids.uuid(),
  at: app.clock.now(),
  ...more,
});

/** The writer of a call whose log reports reads and appends; `before` runs before each append. */
const watched = (before: () => Promise<unknown> = async () => undefined) => {
  const { log, ids, streamQueue } = app.service.deps;
  const reads: string[] = [];
  const appended: (readonly Append[])[] = [];
  const watchedLog: EventLog = {
    ...replaceAppends(log, async (appends) => {
      await before();
      appended.push(appends);
      return log.appendAll(appends);
    }),
    readStream(name, ...range) {
      reads.push(name);
      return log.readStream(name, ...range);
    },
  };
  return { writer: { log: watchedLog, ids, streamQueue }, reads, appended };
};

/** Opens the list and declines it, by two appends. */
const openAndDecline = (writer: ReturnType<typeof watched>['writer'], call: Call) =>
  changeStream(writer, call, {
    stream,
    decider: handoff,
    async work(change) {
      const opened = await change.execute(issue({ type: 'OpenHandoff', at: call.at }));
      if (opened === 'conflict' || !opened.ok) return opened;
      return change.execute(issue({ type: 'DeclineHandoff', at: call.at }));
    },
  });

const DECLINED = ['HandoffCreated', 'HandoffOpenedByBuyer', 'HandoffDeclinedByBuyer'];

describe('A change of a stream', () => {
  it('A change of a stream reads once and appends twice, the second time after its first append', async () => {
    const { writer, reads, appended } = watched();
    const written = await openAndDecline(writer, callOf());
    expect(written).toMatchObject({
      ok: true,
      before: { status: 'in_review' },
      state: { status: 'declined' },
      position: (await app.service.deps.log.head()).position,
    });
    expect(await types()).toEqual(DECLINED);
    expect(reads).toEqual([stream]);
    expect(appended.flat().map(({ expected }) => expected)).toEqual([0, 1]);
  });

  it('A change of a stream claims the key of its call once, and a retry finds the effect of both appends', async () => {
    const { writer, appended } = watched();
    const settings = 'acme-outreach';
    const haltAndResume = (call: Call) =>
      changeStream(writer, call, {
        stream: settings,
        decider: outreach,
        async work(change) {
          const halted = await change.execute(issue({ type: 'Halt', reason: 'a test' }));
          if (halted === 'conflict' || !halted.ok) return halted;
          return change.execute(issue({ type: 'Resume', reason: 'a test' }));
        },
      });
    const keyed = {
      actor: 'desk:t1',
      operation: 'haltOutreach',
      idem: `idem-${stream}`,
      fingerprints: ['one'],
    } satisfies Partial<Call>;
    const first = await haltAndResume(callOf(keyed));
    const claims = appended.flat().filter((append) => append.stream !== settings);
    expect(claims.map((append) => append.stream)).toEqual([`acme-request_${keyed.idem}`]);
    const retry = await haltAndResume(callOf(keyed));
    expect(retry).toMatchObject({ ok: true, state: { disabled: {} } });
    expect(retry).toHaveProperty('replayOf');
    expect('position' in retry && retry.position).toBe('position' in first && first.position);
    const other = await haltAndResume(callOf({ ...keyed, fingerprints: ['two'] }));
    expect(other).toMatchObject({ code: 'idempotency_key_reused' });
    const stored = await app.service.deps.log.readStream(settings);
    expect(stored.map(({ type }) => type)).toEqual(['OutreachHalted', 'OutreachResumed']);
  });

  it('A change of a stream begins again with what another process appended first', async () => {
    const { deps } = app.service;
    const call = callOf();
    const streamQueue = new StreamQueue({
      monotonic: deps.clock.monotonic,
      random: () => 0,
      pause: async () => undefined,
    });
    const openElsewhere = () =>
      decideAndAppend({ ...deps, streamQueue }, call, {
        stream,
        decider: handoff,
        command: () => issue({ type: 'OpenHandoff' as const, at: call.at }),
      });
    const { writer, reads } = watched(openElsewhere);
    const seen: (string | undefined)[] = [];
    const written = await decideAndAppend(writer, call, {
      stream,
      decider: handoff,
      command(state) {
        seen.push(state?.status);
        return issue({ type: 'DeclineHandoff' as const, at: call.at });
      },
    });
    expect(seen).toEqual(['awaiting_buyer', 'in_review']);
    expect(reads).toEqual([stream, stream]);
    expect(written).toMatchObject({ ok: true, before: { status: 'in_review' } });
    expect(await types()).toEqual(DECLINED);
  });

  it('A change of a stream appends nothing for a refused and for a rejected command', async () => {
    const { writer, appended } = watched();
    const call = callOf();
    const refused = await decideAndAppend(writer, call, {
      stream,
      decider: handoff,
      command: () => NO_LIST,
    });
    expect(refused).toBe(NO_LIST);
    const late = call.at + 400 * 86_400_000;
    const rejected = await decideAndAppend(writer, call, {
      stream,
      decider: handoff,
      command: () => issue({ type: 'DeclineHandoff' as const, at: late }),
    });
    expect(rejected).toMatchObject({ ok: false, rejected: 'handoff_expired' });
    expect(appended).toEqual([]);
  });
});
