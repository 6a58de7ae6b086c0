/** A poison event parks a partition of a read model: rows of the partition are shown to nobody. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { NO_STREAM } from '#src/ports/event-log.ts';
import { partitionOf } from '#src/ports/read-model.ts';
import { freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { HANG_MS } from '../support/hang.ts';

const LEADS = '/api/affiliate/v1/leads';
const CONNECTION = '/api/affiliate/v1/connection';

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app.close());

/** Appends an event that no fold accepts, like a bug or a newer version could. */
const poison = async (stream: string, type: string, data: object): Promise<void> => {
  const { log, ids, following } = app.service.deps;
  const meta = { at: 1, actor: 'x', surface: 'cli', operation: 'x', request: 'x', v: 1 } as const;
  const result = await log.append(stream, NO_STREAM, [{ id: ids.uuid(), type, data, meta }]);
  if (result.outcome !== 'appended') throw new Error('the stream was taken');
  await following.passed(result.position, HANG_MS);
};

const submit = (key: string, external_id: string) =>
  app.send({
    method: 'POST',
    url: LEADS,
    key,
    headers: { 'idempotency-key': freshKey() },
    payload: { external_id, company: { name: 'A', country: 'DE' }, source: { kind: 'manual' } },
  });

const first = (accepts: (n: number) => boolean): number => {
  for (let n = 0; ; n++) if (accepts(n)) return n;
};

const share = (one: string, other: string): boolean => partitionOf(one) === partitionOf(other);

describe('Leads in a parked partition', () => {
  it('Leads in a parked partition answer 503 for the owners of the partition, with and without a token, and 200 for all others', async () => {
    const { agentId, key } = await app.agent('acme');
    const neighbour = await app.agent(`own${first((n) => share(`own${n}`, 'acme'))}`);
    const rival = await app.agent(`own${first((n) => !share(`own${n}`, 'acme'))}`);
    expect(await submit(key, 'one')).toMatchObject({ status: 201 });
    const lead_id = `led_${'0'.repeat(24)}`;
    const data = { lead_id, agent_id: agentId, dims: {} };
    await poison(`acme-lead_${'0'.repeat(24)}`, 'LeadContacted', data);

    const written = await submit(key, 'two');
    expect(written).toMatchObject({ status: 201 });
    const token = written.headers['consistency-token'] ?? '';
    const unavailable = {
      status: 503,
      headers: { 'retry-after': '60' },
      body: {
        code: 'read_model_rebuilding',
        detail: expect.stringContaining('an operator must repair it') as string,
        recovery: { action: 'wait', retryable: true, retry_after_s: 60 },
      },
    };
    const list = (asking: string, headers = {}) =>
      app.send({ method: 'GET', url: LEADS, key: asking, headers });
    expect(await list(key)).toMatchObject(unavailable);
    expect(await list(key, { 'consistency-token': token })).toMatchObject(unavailable);
    expect(await list(neighbour.key)).toMatchObject(unavailable);
    expect(await list(rival.key)).toMatchObject({ status: 200 });
    const links = await app.desk('GET', '/links?owner_id=acme');
    expect(links).toMatchObject({ status: 200 });

    const health = await app.send({ method: 'GET', url: '/readyz' });
    expect(health).toMatchObject({ status: 200, body: { status: 'ready', parked: ['leads'] } });
  });
});

describe('Credentials in a parked partition', () => {
  const park = async (id: string): Promise<void> => {
    const idOf = (n: number): string => n.toString(36).padStart(12, '0');
    const token_id = idOf(first((n) => share(idOf(n), id)));
    await poison(`desk-token_${token_id}`, 'DeskTokenRevoked', { token_id, reason: 'x' });
  };
  const unavailable = {
    status: 503,
    headers: { 'retry-after': '60' },
    body: {
      code: 'read_model_rebuilding',
      detail: 'The service cannot know just now whether the credential is still valid.',
    },
  };
  const agentApart = async (ids: readonly string[]) => {
    for (;;) {
      const created = await app.agent('anna');
      if (!ids.some((id) => share(id, created.keyId) || share(id, created.agentId))) return created;
    }
  };

  it('Credentials in a parked partition answer 503, and do not count as failed attempts', async () => {
    const root = app.deskToken.slice('trbd_'.length).slice(0, 12);
    // Authentication reads the holder of a token too.
    const holder = app.service.deps.credentials.deskToken(root)?.person_id ?? '';
    const parkedAgent = await agentApart([root, holder]);
    const good = await agentApart([root, parkedAgent.keyId]);
    const ask = (key: string) => app.send({ method: 'GET', url: CONNECTION, key });
    const atDesk = () => app.desk('GET', '/links?owner_id=anna');
    expect(await ask(parkedAgent.key)).toMatchObject({ status: 200 });

    await park(parkedAgent.keyId);
    for (let n = 0; n <= LIMITS.FAILED_CREDENTIALS_PER_MINUTE; n++)
      expect(await ask(parkedAgent.key)).toMatchObject(unavailable);
    expect(await ask(good.key)).toMatchObject({ status: 200 });
    expect(await atDesk()).toMatchObject({ status: 200 });

    await park(root);
    expect(await atDesk()).toMatchObject(unavailable);
  });
});
