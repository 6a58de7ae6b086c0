/** The daily digest of outreach and access that wait for approval. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { queueDigest } from '#src/outreach/approvals.ts';
import { EVERYBODY } from '#src/sending/settings.ts';
import { systemCall } from '#src/calls/handlers.ts';
import { mailing } from '../support/dispatch/mailing.ts';
import { STAFF_MAIL } from '../support/dispatch/rfqs.ts';
import { configure, person, post, proposed } from '../support/world/outreach.ts';

const DAY = '2026-11-20';

let w: Awaited<ReturnType<typeof mailing>>;
beforeEach(async () => {
  w = await mailing();
  await configure(w.app, 'acme');
  w.start();
});
afterEach(async () => {
  expect(w.faults).toEqual([]);
  await w.end();
});

const digest = async (day = DAY): Promise<boolean> => {
  const { deps } = w.app.service;
  const by = { ownerId: EVERYBODY, signal: new AbortController().signal };
  const isQueued = await queueDigest(deps, day, systemCall(deps, 'queueDigest', by));
  await w.settle();
  return isQueued;
};
const propose = (space: 'live' | 'test' = 'live') =>
  proposed(w.app, w.keys[space], 'requestSocialPost', post());

describe('The digest of approvals', () => {
  it('The digest of approvals is mailed to staff once a day while requests wait', async () => {
    await propose();
    await propose();
    expect([await digest(), await digest()]).toEqual([true, false]);
    expect(w.live.sent).toMatchObject([
      { to: STAFF_MAIL, subject: '2 requests wait for approval', attempt: 1 },
    ]);
    expect(w.live.sent[0]?.text).toContain('20 November 2026');
    expect(await digest('2026-11-21')).toBe(true);
  });

  it('The digest of approvals is not mailed while nothing waits, or only requests of test spaces', async () => {
    expect(await digest()).toBe(false);
    await propose('test');
    expect(await digest()).toBe(false);
    expect(w.live.sent).toEqual([]);
  });

  it('The digest of approvals leaves out what was decided or has expired', async () => {
    const { id, content_sha256 } = await propose();
    const key = await person(w.app, ['owner'], 'acme');
    const answer = await w.app.send({
      method: 'POST',
      url: `/api/desk/v1/approvals/${id}/refuse`,
      key,
      headers: { 'idempotency-key': 'refuse' },
      payload: { content_sha256, reason: 'No' },
    });
    expect(answer.status, answer.text).toBe(200);
    expect(await digest()).toBe(false);
    await propose();
    w.app.clock.advance(90 * 86_400_000);
    expect(await digest()).toBe(false);
  });

  it('The digest of approvals counts requests for access, until they are decided', async () => {
    const asked = await w.app.desk('POST', '/agents', {
      owner_id: 'acme',
      name: 'Letter agent',
      purpose: 'Our monthly letter',
      scopes: ['links:write'],
    });
    expect(asked.status, asked.text).toBe(201);
    expect(await digest()).toBe(true);
    expect(w.live.sent).toMatchObject([
      { to: STAFF_MAIL, subject: '1 request waits for approval' },
    ]);
    expect(w.live.sent[0]?.text).toContain('Access for agents: 1 of 1 promoter.');
    expect(w.live.sent[0]?.text).toContain('tributary access requests --state pending');
    expect(w.live.sent[0]?.text).not.toContain('Outreach');
    const { id } = asked.body as { id: string };
    const denied = await w.app.desk('POST', `/agents/${id}/deny`, { reason: 'Unknown' });
    expect(denied.status, denied.text).toBe(200);
    expect(await digest('2026-11-21')).toBe(false);
  });

  it('The digest of approvals is queued by one of two processes', async () => {
    await propose();
    const both = await Promise.all([digest(), digest()]);
    expect(both.filter((queued) => queued)).toHaveLength(1);
    expect(w.live.sent).toHaveLength(1);
  });
});
