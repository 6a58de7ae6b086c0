/** Which promoter has the claim of a contact, for how long, and in which space. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { StreamQueue } from '#src/app/events/stream-queue.ts';
import { openApp } from '#src/app/app.ts';
import { authenticator } from '#src/app/pipeline/authenticate.ts';
import { replaceAppends } from '#src/ports/event-log.ts';
import { freshKey, testApp, type TestApp } from '../../support/world/app.ts';

const DAY_MS = 86_400_000;
const company = { name: 'Corner Shop', country: 'GB' };
let app: TestApp;
let acme: string;
let rival: string;

beforeAll(async () => {
  app = await testApp();
  acme = (await app.agent('acme')).key;
  rival = (await app.agent('rival')).key;
});
afterAll(() => app.close());

const submit = async (key: string, email: string): Promise<{ state: string }> => {
  const answer = await app.send({
    method: 'POST',
    url: '/api/affiliate/v1/leads',
    key,
    payload: {
      external_id: freshKey(),
      company,
      contact: { name: 'Ada Byron', email },
      consent: { basis: 'consent', obtained_at: '2026-11-19T09:00:00Z' },
    },
    headers: { 'idempotency-key': freshKey() },
  });
  expect(answer.status).toBe(201);
  return answer.body;
};
const alreadyKnown = { state: 'rejected', state_reason: 'already_known' };

it('A claim of a contact ends after 90 days, and any promoter can claim the contact again', async () => {
  const email = 'once@buyer.example';
  expect(await submit(acme, email)).toMatchObject({ state: 'submitted' });
  app.clock.advance(90 * DAY_MS - 1);
  expect(await submit(rival, email)).toMatchObject(alreadyKnown);
  app.clock.advance(1);
  expect(await submit(rival, email)).toMatchObject({ state: 'submitted' });
  expect(await submit(acme, email)).toMatchObject(alreadyKnown);
});

it('Spaces of test keys claim contacts among themselves only', async () => {
  const tests = await app.agent('acme', undefined, 'test');
  const others = await app.agent('rival', undefined, 'test');
  const email = 'tried@buyer.example';
  expect(await submit(tests.key, email)).toMatchObject({ state: 'submitted' });
  expect(await submit(acme, email)).toMatchObject({ state: 'submitted' });
  expect(await submit(rival, email)).toMatchObject(alreadyKnown);
  expect(await submit(others.key, email)).toMatchObject(alreadyKnown);
});

it('A lead whose contact is claimed by another one at the same time is called known', async () => {
  const email = 'raced@buyer.example';
  const answers = await Promise.all([submit(acme, email), submit(rival, email)]);
  expect(answers.map(({ state }) => state).sort()).toEqual(['rejected', 'submitted']);
});

it('A lead whose appends conflict again and again is refused as overloaded', async () => {
  const { deps } = app.service;
  let races = 0;
  const log = replaceAppends(deps.log, async () => {
    races += 1;
    return { outcome: 'conflict' };
  });
  let now = 0;
  const streamQueue = new StreamQueue({
    monotonic: () => now,
    random: () => 1,
    pause: async (ms) => void (now += ms),
  });
  const found = authenticator(deps).agent(acme);
  if (!found.ok) throw new Error(found.detail);
  const { agents } = openApp({ ...deps, streamQueue, log });
  const input = {
    external_id: freshKey(),
    company,
    contact: { name: 'Ada Byron', email: 'contended@buyer.example' },
    consent: { basis: 'consent', obtained_at: '2026-11-19T09:00:00Z' },
    idempotency_key: freshKey(),
  };
  const call = { caller: found.value, surface: 'rest', requestId: 'req_1', input } as const;
  expect(await agents.performAs('submitLead', call)).toMatchObject({ code: 'overloaded' });
  expect(races).toBeGreaterThan(1);
});
