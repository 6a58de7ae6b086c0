/** Calls whose key or agent changes between the admission and the body of the request. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testApp, type TestApp } from '../support/world/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.close());

type Agent = Awaited<ReturnType<TestApp['agent']>>;
const revoke = ({ keyId }: Agent) =>
  app.desk('POST', `/keys/${keyId}/revoke`, { reason: 'Leaked' });
const suspend = ({ agentId }: Agent) =>
  app.desk('POST', `/agents/${agentId}/suspend`, { reason: 'Odd' });
const narrow = ({ agentId }: Agent) =>
  app.desk('POST', `/agents/${agentId}/approve`, { scopes: ['links:write'], reason: 'Less' });
const expire = async () => app.clock.advance(400 * 86_400_000);

it.each([
  ['whose key is revoked', revoke, { code: 'credential_revoked' }],
  ['whose agent is suspended', suspend, { code: 'agent_suspended' }],
  ['whose agent loses the scope', narrow, { code: 'scope_missing' }],
  ['whose key expires', expire, { code: 'credential_expired' }],
  ['whose key stays valid', async () => {}, { ok: true }],
])('A call %s after its admission gets the answer of the present', async (_which, end, answer) => {
  const agent = await app.agent('acme');
  const { agents } = app.service.app;
  const { ids } = app.service.deps;
  const arrival = { surface: 'rest', address: '192.0.2.1', credential: agent.key } as const;
  const admitted = await agents.admit({ ...arrival, requestId: ids.uuid() }, 'getPerformance');
  if (!admitted.ok) throw new Error(admitted.detail);
  await end(agent);
  const outcome = await agents.perform(admitted.value, 'getPerformance', { input: {} });
  expect(outcome).toMatchObject(answer);
});
