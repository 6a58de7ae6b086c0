/** The moment of a time in an owner's history, and what finding it costs. */
import { afterAll, expect, test, vi } from 'vitest';
import { deskOperations } from '#contracts/registries/desk.ts';
import { auditedMoment, type OwnerLog } from '#src/audits/moments.ts';
import { NO_STREAM } from '#src/ports/event-log.ts';
import type { DeskCall } from '#src/shared/call.ts';
import { isRefusal } from '#src/shared/outcome.ts';
import { sqliteEventLog } from '#src/stores/sqlite/log/event-log.ts';
import { bound, metaAt } from '../conformance/log-events.ts';
import { randomFrom } from '../support/audit/random-history.ts';
import { directories } from '../support/processes/directories.ts';
import { seedOr } from '../support/seed.ts';
import { testApp } from '../support/world/app.ts';

const { fresh, removeAll } = directories('moments-');
afterAll(removeAll);

const START = 1_700_000_000_000;
/** As much as the clocks of two processes may differ. */
const SKEW_MS = 300_000;
const EVENTS = 400;

/** Two owners' events, `apartMs` from each other, by clocks that differ; returns the log and the times of one of them. */
const worldOf = async (apartMs: number) => {
  const random = randomFrom(seedOr(1));
  const log = sqliteEventLog({ directory: fresh() });
  const times: { position: number; at: number }[] = [];
  for (let n = 0; n < EVENTS; n += 1) {
    const at = START + n * apartMs + Math.floor(random() * SKEW_MS);
    const owner = random() < 0.5 ? 'anna' : 'ben';
    const event = { ...bound(`f${n}`), meta: metaAt(at) };
    const result = await log.append(`${owner}-lead_${n}`, NO_STREAM, [event]);
    if (owner === 'anna' && result.outcome === 'appended')
      times.push({ position: result.position, at });
  }
  return { log, times, random };
};

const momentAt = async (log: OwnerLog, time: number) => {
  const call = { caller: {}, at: START + 10 * EVENTS * SKEW_MS } as DeskCall;
  const text = new Date(time).toISOString();
  const moment = await auditedMoment({ log }, call, { owner: 'anna', field: 'at', text });
  if (isRefusal(moment)) throw new Error(moment.detail);
  return moment;
};

test.each([1, 1_000, 60_000])(
  "A moment of a time is the owner's last event before its first later one, with clocks that differ and events %i ms apart",
  async (apartMs) => {
    const { log, times, random } = await worldOf(apartMs);
    const { readTimesBack: _read, ...logWithoutTimes } = log;
    for (let question = 0; question < 40; question += 1) {
      const time = START + Math.floor(random() * (EVENTS * apartMs + 2 * SKEW_MS)) - SKEW_MS / 2;
      const later = times.findIndex(({ at }) => at > time);
      const last = later < 0 ? times.at(-1) : times[later - 1];
      for (const one of [log, logWithoutTimes])
        expect(await momentAt(one, time)).toMatchObject({
          position: last?.position ?? 0,
          at: last?.at ?? null,
        });
    }
    await log.close();
  },
);

test('Finding the moment of a time reads few events, however many lie around it', async () => {
  const { log } = await worldOf(1);
  const read = vi.spyOn(log, 'readBack');
  await momentAt(log, START + SKEW_MS / 2);
  const events = await Promise.all(
    read.mock.results.map(({ value }) => value as Promise<unknown[]>),
  );
  // Two bisections, and the events that decide.
  expect(events.flat().length).toBeLessThan(2 * (Math.log2(EVENTS) + 1) + 3);
  await log.close();
});

test("Every audit that reads an owner's events waits for its turn, unless its caller may not read them", async () => {
  const app = await testApp();
  await app.agent('acme');
  const stranger = await app.desk('POST', '/desk-tokens', {
    name: 'Ben',
    roles: ['owner'],
    owner_id: 'other',
  });
  const waits = vi.spyOn(app.service.deps.replays, 'inPlace');
  const asked: string[] = [];
  for (const [id, { http }] of Object.entries(deskOperations)) {
    // Progress is asked for meanwhile, and a check is a run of its own.
    if (!http.path.startsWith('/audit/') || /progress|check/.test(http.path)) continue;
    const path = http.path.replace('{id}', '01a22436-394d-7000-8000-000000000000');
    const query = `owner_id=acme${id === 'auditDiff' ? '&from=0' : ''}`;
    const ask = (key: string) =>
      app.send({ method: 'GET', url: `/api/desk/v1${path}?${query}`, key });
    await ask((stranger.body as { token: string }).token);
    expect(waits, id).toHaveBeenCalledTimes(asked.length);
    await ask(app.deskToken);
    asked.push('acme');
    expect(
      waits.mock.calls.map(([owner]) => owner),
      id,
    ).toEqual(asked);
  }
  expect(asked.length).toBeGreaterThan(5);
  await app.close();
});
