/** A credential that ends while a call with it is in progress: the call appends nothing after that. */
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import type { EventType } from '#contracts/registries/events.ts';
import { NO_STREAM } from '#src/ports/event-log.ts';
import { includesType, interceptAppends } from '../support/appends.ts';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.close());
afterEach(() => vi.restoreAllMocks());

/** Does something right before the next append of an event type reaches the log. */
const beforeAppendOf = (type: EventType, act: () => Promise<unknown>): void => {
  const { log } = app.service.deps;
  let isDone = false;
  interceptAppends(log, async (appends, write) => {
    if (!isDone && includesType(appends, type)) {
      isDone = true;
      await act();
    }
    return write(appends);
  });
};
const typesSince = async (after: number): Promise<string[]> =>
  (await app.service.deps.log.readAll({ after, limit: 100 })).map(({ type }) => type);
const head = async (): Promise<number> => (await app.service.deps.log.head()).position;
const submit = (key: string) =>
  app.send({
    method: 'POST',
    url: '/api/affiliate/v1/leads',
    key,
    payload: { external_id: 'crm-1', company: { name: 'Corner Shop', country: 'GB' } },
    headers: { 'idempotency-key': freshKey() },
  });

it.each<[string, (agent: { keyId: string; agentId: string }) => Promise<unknown>, object]>([
  [
    'A key that is revoked',
    ({ keyId }) => app.desk('POST', `/keys/${keyId}/revoke`, { reason: 'Leaked' }),
    { status: 401, body: { code: 'credential_revoked' } },
  ],
  [
    'The key of an agent that is suspended',
    ({ agentId }) => app.desk('POST', `/agents/${agentId}/suspend`, { reason: 'Odd' }),
    { status: 403, body: { code: 'agent_suspended' } },
  ],
])('%s while a lead is being written writes no lead', async (_, end, refusal) => {
  const agent = await app.agent('acme');
  const before = await head();
  beforeAppendOf('LeadSubmitted', () => end(agent));
  expect(await submit(agent.key)).toMatchObject(refusal);
  expect(await typesSince(before)).not.toContain('LeadSubmitted');
});

it('An event that was written with a key after its revocation is marked in the history', async () => {
  const { key, keyId } = await app.agent('bert');
  expect(await submit(key)).toMatchObject({ status: 201 });
  await app.desk('POST', `/keys/${keyId}/revoke`, { reason: 'Leaked' });
  const { log, ids } = app.service.deps;
  const stored = await log.readOwner('bert', { after: 0, limit: 100 });
  const [lead] = stored.filter(({ type }) => type === 'LeadSubmitted');
  if (!lead) throw new Error('no lead was stored');
  // What a log on a server accepts, because it cannot check the stream of the key.
  const { type, data, meta } = lead;
  await log.append('bert-lead_late', NO_STREAM, [{ id: ids.uuid(), type, data, meta }]);
  const { body } = await app.desk('GET', '/events?owner_id=bert');
  const { data: events } = body as { data: { stream: string; after_revocation?: true }[] };
  const marked = events.filter(({ after_revocation }) => after_revocation);
  expect(marked).toMatchObject([{ stream: 'bert-lead_late' }]);
});

it('An agent that asks for more access while its lead is being written gets its lead', async () => {
  const { key, agentId } = await app.agent('acme');
  const request = { owner_id: 'acme', agent_id: agentId, name: 'A', purpose: 'P' };
  beforeAppendOf('LeadSubmitted', () =>
    app.desk('POST', '/agents', { ...request, scopes: ['leads:read', 'leads:write'] }),
  );
  expect(await submit(key)).toMatchObject({ status: 201 });
});

it('A desk token that is revoked while a halt is being written halts nothing', async () => {
  const issued = await app.desk('POST', '/desk-tokens', { name: 'Ann Lee', roles: ['staff'] });
  const { id, token } = issued.body as { id: string; token: string };
  const before = await head();
  beforeAppendOf('OutreachHalted', () =>
    app.desk('POST', `/desk-tokens/${id}/revoke`, { reason: 'Left' }),
  );
  const halted = await app.send({
    method: 'POST',
    url: '/api/desk/v1/outreach-halt',
    key: token,
    payload: { owner_id: 'acme', reason: 'Odd' },
    headers: { 'idempotency-key': freshKey() },
  });
  expect(halted).toMatchObject({ status: 401, body: { code: 'credential_revoked' } });
  expect(await typesSince(before)).not.toContain('OutreachHalted');
});
