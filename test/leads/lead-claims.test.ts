/** Which promoter has the claim of a contact, for how long, and in which space. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { StreamQueue } from '#src/writing/idempotency.ts';
import { openApp } from '#src/registries/app.ts';
import { authenticator } from '#src/calls/authenticate.ts';
import { replaceAppends } from '#src/ports/event-log.ts';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';

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

const send = (key: string, payload: object) =>
  app.send({
    method: 'POST',
    url: '/api/affiliate/v1/leads',
    key,
    payload,
    headers: { 'idempotency-key': freshKey() },
  });
const submit = async (
  key: string,
  email: string,
  external_id = freshKey(),
): Promise<{ state: string }> => {
  const answer = await send(key, {
    external_id,
    company,
    contact: { name: 'Ada Byron', email },
    consent: { basis: 'consent', obtained_at: '2026-11-19T09:00:00Z' },
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

it('All addresses of one mailbox are one contact, where the provider documents how it folds them', async () => {
  expect(await submit(acme, 'Ada.Byron+shop@gmail.com')).toMatchObject({ state: 'submitted' });
  for (const email of ['adabyron@gmail.com', 'a.d.a.byron@googlemail.com'])
    expect(await submit(rival, email)).toMatchObject(alreadyKnown);
  expect(await submit(acme, 'ada.byron+2@gmail.com')).toMatchObject({ state: 'duplicate' });
  expect(await submit(acme, 'ada.byron+shop@buyer.example')).toMatchObject({ state: 'submitted' });
  for (const email of ['ada.byron@buyer.example', 'adabyron+shop@buyer.example'])
    expect(await submit(rival, email)).toMatchObject({ state: 'submitted' });
});

it('A rejected lead has no claim, so it keeps no promoter from its contact', async () => {
  const email = 'rejected@buyer.example';
  expect(await submit(acme, email)).toMatchObject({ state: 'submitted' });
  expect(await submit(rival, email)).toMatchObject(alreadyKnown);
  app.clock.advance(90 * DAY_MS);
  expect(await submit(acme, email)).toMatchObject({ state: 'submitted' });
});

it('An amendment without the contact releases its claim', async () => {
  const email = 'omitted@buyer.example';
  expect(await submit(acme, email, 'crm-omitted')).toMatchObject({ state: 'submitted' });
  expect(await send(acme, { external_id: 'crm-omitted', company })).toMatchObject({ status: 200 });
  expect(await submit(rival, email)).toMatchObject({ state: 'submitted' });
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
