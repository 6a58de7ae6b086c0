/** Audits of one owner on the stand-in for EventStoreDB: the answers of the log itself, at a cost that other owners do not raise. */
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { type EventLog, eventTimeOf, NO_STREAM } from '#src/ports/event-log.ts';
import { several } from '../conformance/log-events.ts';
import { randomFrom, randomHistory } from '../support/audit/random-history.ts';
import { endStandIns, standIn, type StandIn } from '../support/eventstoredb/start.ts';
import { seedOr } from '../support/seed.ts';
import { testApp, type TestApp } from '../support/world/app.ts';
import { reviews } from '../support/world/reviews.ts';
import { HANG_MS } from '../support/hang.ts';
import { patientLog } from '../support/eventstoredb/eventstoredb-logs.ts';

const ROOT_KEY = Buffer.alloc(32, 6).toString('base64');
const OWNER = 'acme';
const SEED = seedOr(5);

type Act = { at: string; position: number; request_id: string };
type World = { app: TestApp; server: StandIn; log: EventLog };

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});
afterAll(endStandIns);

/** Opens a service on an empty log, and the log without an index. */
const openWorld = async (): Promise<World> => {
  const server = await standIn();
  const app = await testApp({ EVENT_LOG_URL: server.url, ROOT_KEY });
  const log = await patientLog({ url: server.url });
  opened.push(
    () => app.close(),
    () => log.close(),
  );
  return { app, server, log };
};

/** 30 acts of the owner and its buyers, about 80 events, with this many events of another owner after each. */
const actAmong = async ({ app, log }: World, others: number): Promise<void> => {
  const history = await randomHistory(app, OWNER, SEED);
  for (let act = 0; act < 30; act += 1) {
    await history.act();
    const at = app.clock.now();
    const events = several(others).map((event) => ({ ...event, meta: { ...event.meta, at } }));
    if (others > 0) await log.append(`busy-lead_${act}`, NO_STREAM, events);
  }
  const { handoff, post } = reviews({ app: () => app, key: () => history.key });
  const { path } = await handoff({ line_items: [{ sku: 'MUG-1', quantity: 8 }] });
  const { following, audit } = app.service.deps;
  await following.passed((await log.head()).position, HANG_MS);
  // A refused form has an audit record only, whose owner is found by the token of the list.
  expect((await post(`${path}/send`, { list_revision: '1' })).status).toBeGreaterThan(400);
  await audit.flush();
  const acts = await log.readOwner(OWNER, { after: 0, limit: 1_000 });
  expect(acts.map(({ type }) => type)).toContain('CallsAudited');
};

const answer = async ({ app }: World, path: string): Promise<Record<string, unknown>> => {
  const { status, body, text } = await app.desk('GET', `/audit${path}`);
  expect(status, text).toBe(200);
  return body;
};

/** Counts what the server did for a question; `records` counts those of reads only. */
const costOf = async ({ server }: World, ask: () => Promise<unknown>) => {
  const before = await server.stats();
  await ask();
  const after = await server.stats();
  return {
    reads: after.reads - before.reads,
    records: after.recordsRead - before.recordsRead,
    subscriptions: after.subscriptions - before.subscriptions,
  };
};

describe('The newest events of an owner', () => {
  it.each([1, 2])(
    'The newest events of an owner are those of the log up to every position, with seed %i',
    async (seed) => {
      const world = await openWorld();
      await actAmong(world, 3);
      const { log } = world.app.service.deps;
      const { position: head } = await log.head();
      const random = randomFrom(seedOr(seed));
      for (const owner of [OWNER, 'busy', 'desk', 'catalog', 'nobody'])
        for (let question = 0; question < 8; question += 1) {
          const upTo = question === 0 ? head : Math.floor(random() * head * 1.1);
          const query = { owner, upTo, limit: 1 + Math.floor(random() * 40) };
          const events = await world.log.readBack(query);
          expect(await log.readBack(query), JSON.stringify(query)).toEqual(events);
          const times = (await log.readTimesBack?.(query)) ?? [];
          expect(times.map(({ position, at }) => ({ position, at }))).toEqual(
            events.map(eventTimeOf),
          );
        }
    },
  );
});

describe('The cost of an audit of one owner', () => {
  it('The cost of an audit of one owner does not grow with the events of others, at 10 and at 100 times as many', async () => {
    const costs = [];
    for (const others of [25, 250]) {
      const world = await openWorld();
      await actAmong(world, others);
      const history = `/history?owner_id=${OWNER}&limit=10`;
      const { data } = await answer(world, `${history}&kind=HandoffCreated`);
      const [{ at, position, request_id: request } = {} as Act] = data as Act[];
      costs.push({
        ofTime: await costOf(world, () => answer(world, `${history}&to=${at}`)),
        ofPosition: await costOf(world, () => answer(world, `${history}&to=${position - 1}`)),
        ofRequest: await costOf(world, () => answer(world, `/trace/${request}?owner_id=${OWNER}`)),
        ofAnyRequest: await costOf(world, () => answer(world, `/trace/${request}`)),
      });
    }
    const [few, many] = costs;
    for (const [question, { reads, records, subscriptions }] of Object.entries(many ?? {})) {
      const before = few?.[question as keyof typeof few];
      // A bisection has a step more each time that the log is twice as long.
      expect(reads, question).toBeLessThan(1.5 * (before?.reads ?? 0));
      expect(records, question).toBeLessThan(1.5 * (before?.records ?? 0));
      expect(subscriptions, question).toBe(0);
    }
  });
});
