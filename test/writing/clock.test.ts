/** A clock that is behind the newest event, because it stepped back or because an event has a wrong time. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { timeline } from '#src/writing/timeline.ts';
import { freshKey, testApp, testClock, type TestApp } from '../support/world/app.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEARS = 14 * 365 * DAY;

let app: TestApp;
beforeEach(async () => {
  app = await testApp();
});
afterEach(() => app.close());

const read = async (key: string) =>
  app.send({ method: 'GET', url: '/api/affiliate/v1/connection', key });
const write = (key: string) =>
  app.send({
    method: 'POST',
    url: '/api/affiliate/v1/links',
    key,
    payload: { target: { kind: 'search', ref: 'mugs' } },
    headers: { 'idempotency-key': freshKey() },
  });
const readyz = () => app.send({ method: 'GET', url: '/readyz' });
const fault = async (): Promise<string | undefined> => {
  const { body } = await app.service.server.inject({ method: 'GET', url: '/metrics' });
  return /^tributary_clock_behind (\d)$/m.exec(body)?.[1];
};
const behind = { status: 503, body: { code: 'clock_behind' } };

/** Appends an event with this time, as a process with another clock does. */
const appendAt = async (at: number): Promise<void> => {
  const { log, ids } = app.service.deps;
  const meta = { at, actor: 'desk:t', surface: 'desk', operation: 'moveLead', request: 'r', v: 1 };
  const data = { stream: 's', fingerprint: 'f' };
  await log.append(`acme-key_${freshKey()}`, -1, [
    { id: ids.uuid(), type: 'RequestBound', data, meta },
  ]);
};
const key = async (days: number): Promise<string> => {
  const { agentId } = await app.agent('acme');
  const body = { expires_in_days: days };
  const issued = await app.desk('POST', `/agents/${agentId}/keys`, body);
  return (issued.body as { api_key: string }).api_key;
};

describe('A clock that steps back', () => {
  it('A clock that steps back revives no expired or rotated key, and refuses writes until it is right again', async () => {
    const short = await key(1);
    const long = await key(30);
    app.clock.advance(2 * DAY);
    expect(await read(short)).toMatchObject({ status: 401, body: { code: 'credential_expired' } });
    expect((await write(long)).status).toBe(201);
    app.clock.advance(-2 * DAY);
    expect(await read(short)).toMatchObject({ status: 401, body: { code: 'credential_expired' } });
    expect((await read(long)).status).toBe(200);
    expect(await write(long)).toMatchObject(behind);
    expect(await readyz()).toMatchObject({
      status: 503,
      body: { status: 'not_ready', reason: 'clock_behind' },
    });
    expect(await fault()).toBe('1');
    app.clock.advance(2 * DAY);
    expect(await fault()).toBe('0');
    expect((await write(long)).status).toBe(201);
    expect((await readyz()).status).toBe(200);
  });

  it('A clock that steps back by five minutes is tolerated, and revives no key', async () => {
    const short = await key(1);
    const long = await key(30);
    app.clock.advance(DAY + MINUTE);
    expect((await write(long)).status).toBe(201);
    app.clock.advance(-5 * MINUTE);
    expect((await write(long)).status).toBe(201);
    expect((await readyz()).status).toBe(200);
    expect(await read(short)).toMatchObject({ status: 401, body: { code: 'credential_expired' } });
  });
});

describe('An event that is dated years ahead', () => {
  it('An event that is dated years ahead expires no key and stops writes until an operator accepts the clock', async () => {
    const long = await key(30);
    await appendAt(app.clock.now() + YEARS);
    expect((await read(long)).status).toBe(200);
    expect(await write(long)).toMatchObject(behind);
    expect(await app.desk('POST', '/outreach-halt', { reason: 'No' })).toMatchObject(behind);
    expect((await readyz()).status).toBe(503);
    const accept = () =>
      app.send({
        method: 'POST',
        url: '/api/desk/v1/clock/accept',
        key: app.deskToken,
        payload: { reason: 'A wrong event' },
        headers: { 'idempotency-key': 'decision' },
      });
    const accepted = await accept();
    expect(accepted).toMatchObject({
      status: 200,
      body: { event_at: new Date(app.clock.now() + YEARS).toISOString() },
    });
    expect((await write(long)).status).toBe(201);
    expect((await readyz()).status).toBe(200);
    expect((await read(long)).status).toBe(200);
    expect((await accept()).text).toBe(accepted.text);
    const events = await app.desk('GET', '/events?last=20');
    expect(events.text).toContain('ClockAccepted');
    const again = await app.desk('POST', '/clock/accept', { reason: 'Again' });
    expect(again).toMatchObject({ status: 409, body: { code: 'state_conflict' } });
    app.clock.advance(31 * DAY);
    expect(await read(long)).toMatchObject({ status: 401, body: { code: 'credential_expired' } });
  });
});

it('A process that starts with a clock that is behind knows only what clock and log agree on', async () => {
  const clock = testClock();
  const now = clock.now();
  const time = timeline(clock);
  time.observe({ position: 1, at: now + HOUR });
  expect(time.hasPassed(now - 1)).toBe(true);
  expect(time.hasPassed(now + MINUTE)).toBeUndefined();
  expect(time.hasPassed(now + HOUR + 1)).toBe(false);
  clock.advance(HOUR - 5 * MINUTE);
  expect(time.conflict()).toBeUndefined();
  expect(time.hasPassed(now + MINUTE)).toBe(true);
  expect(time.hasPassed(now + HOUR)).toBe(true);
});
