/** Authorization decisions, compared with a table that was written from the specification. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operations, type RestOperationId } from '#contracts/registries/agents.ts';
import type { AgentCaller } from '#src/shared/call.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { person } from '../support/world/outreach.ts';
import { expectProblem, type Problem } from '../support/world/problems.ts';
import { verifies } from '../support/source/verifies.ts';

// Independent of the registry, which is under test here.
const NEEDS: Record<RestOperationId, string | null> = {
  getConnection: null,
  searchProducts: 'products:read',
  createLink: 'links:write',
  createHandoff: 'handoffs:write',
  listLeads: 'leads:read',
  submitLead: 'leads:write',
  getPerformance: 'performance:read',
};
const SCOPES = [
  'products:read',
  'performance:read',
  'leads:read',
  'links:write',
  'handoffs:write',
  'leads:write',
  'social:write',
  'messages:write',
  'agents:notify',
];
const IDS = Object.keys(NEEDS) as RestOperationId[];
const V1 = '/api/affiliate/v1';

let app: TestApp;
type Agent = Awaited<ReturnType<TestApp['agent']>>;
let acme: Agent;
let rival: Agent;

beforeAll(async () => {
  app = await testApp({
    READS_PER_MINUTE: '1000000',
    WRITES_PER_MINUTE: '1000000',
  });
  await app.publish([feedProduct('MUG-1', { category: 'Mugs' })]);
  acme = await app.agent('acme');
  rival = await app.agent('rival');
});
afterAll(() => app.close());

let intents = 0;
/** Returns a valid input of the operation, with another intent in each call. */
const bodyOf = (id: RestOperationId): Record<string, unknown> => {
  intents += 1;
  switch (id) {
    case 'createLink':
      return { target: { kind: 'product', ref: 'MUG-1' } };
    case 'createHandoff':
      return { title: 'List', line_items: [{ sku: 'MUG-1', quantity: 4 }] };
    case 'submitLead':
      return { external_id: `crm-${intents}`, company: { name: 'Shop', country: 'GB' } };
    default:
      return {};
  }
};

const call = (id: RestOperationId, key: string | undefined, over: object = {}) => {
  const { http } = operations[id];
  const write = http.method === 'POST';
  return app.send({
    method: http.method,
    url: V1 + http.path,
    key,
    ...(write && {
      payload: { ...bodyOf(id), ...over },
      headers: { 'idempotency-key': freshKey() },
    }),
  });
};

/** Removes the fields of a problem that differ from request to request. */
const stable = ({ request_id: _id, instance: _instance, ...problem }: Problem) => problem;

describe('Scopes', () => {
  it('Scopes decide on every operation in each of their 512 combinations', async () => {
    expect(Object.keys(operations).sort()).toEqual([...IDS].sort());
    const { agentId, keyId } = acme;
    let decisions = 0;
    for (let set = 0; set < 512; set += 1) {
      const granted = SCOPES.filter((_, bit) => set & (1 << bit));
      const scopes = new Set(granted);
      const caller: AgentCaller = {
        kind: 'agent',
        ownerId: 'acme',
        agentId,
        keyId,
        scopes,
        environment: 'live',
      };
      for (const id of IDS) {
        const write = operations[id].kind === 'command';
        const input = { ...bodyOf(id), ...(write && { idempotency_key: freshKey() }) };
        const requestId = app.service.deps.ids.uuid();
        const outcome = await app.service.app.agents.performAs(id, {
          caller,
          surface: 'rest',
          requestId,
          input,
        });
        const needed = NEEDS[id];
        const mayDo = needed === null || granted.includes(needed);
        expect(outcome.ok, `${id} with ${granted.join()}`).toBe(mayDo);
        if (!outcome.ok)
          expect(outcome).toMatchObject({
            code: 'scope_missing',
            extra: { required_scope: needed, granted_scopes: granted },
          });
        decisions += 1;
      }
    }
    expect(decisions).toBe(512 * 7);
  });

  it('Scopes decide in the same way over REST, for keys with one scope and with all but one', async () => {
    verifies('errors.5');
    for (const scope of SCOPES) {
      const one = await app.agent('narrow', [scope]);
      const others = await app.agent(
        'wide',
        SCOPES.filter((other) => other !== scope),
      );
      for (const id of IDS) {
        const needed = NEEDS[id];
        for (const [key, mayDo] of [
          [one.key, needed === null || needed === scope],
          [others.key, needed !== scope],
        ] as const) {
          const answer = await call(id, key);
          if (mayDo) {
            expect([200, 201], `${id} ${scope} ${answer.text}`).toContain(answer.status);
            continue;
          }
          expect(expectProblem(answer)).toMatchObject({
            code: 'scope_missing',
            required_scope: needed,
          });
          expect(answer.headers['www-authenticate']).toContain(`scope="${needed}"`);
        }
      }
    }
  });

  it('Missing scopes deny a write whatever its body is, and nothing is written', async () => {
    const reader = await app.agent('reader', ['products:read']);
    for (const payload of ['{', '[]', '{"surprise":1}', JSON.stringify(bodyOf('createLink'))]) {
      const headers = { 'content-type': 'application/json' };
      const answer = await app.send({
        method: 'POST',
        url: `${V1}/links`,
        key: reader.key,
        payload,
        headers,
      });
      expect(expectProblem(answer).code).toMatch(
        /^(scope_missing|malformed_json|validation_failed)$/,
      );
    }
    const events = await app.service.deps.log.readOwner('reader', { after: 0, limit: 100 });
    expect(events.map(({ type }) => type)).not.toContain('LinkCreated');
  });

  it('Missing scopes leave an audit record with key, operation, code and request', async () => {
    const reader = await app.agent('watched', ['products:read']);
    const ids = IDS.filter((id) => NEEDS[id] !== null && NEEDS[id] !== 'products:read');
    const requestIds = new Map<string, string>();
    for (const id of ids) {
      const answer = await call(id, reader.key);
      requestIds.set(id, String(answer.headers['request-id']));
    }
    await app.service.deps.audit.flush();
    const events = await app.service.deps.log.readOwner('watched', { after: 0, limit: 1_000 });
    const entries = events
      .filter(({ type }) => type === 'ActivityRecorded')
      .flatMap(({ data }) => (data as { entries: Record<string, unknown>[] }).entries);
    for (const id of ids)
      expect(entries).toContainEqual(
        expect.objectContaining({
          operation: id,
          decision: 'denied',
          code: 'scope_missing',
          key_id: reader.keyId,
          request_id: requestIds.get(id),
        }),
      );
    expect(JSON.stringify(entries)).not.toContain(reader.key);
  });
});

const idOf = (answer: { body: never }): string => (answer.body as { id: string }).id;

describe('Records of other owners', () => {
  const MISSING = { lnk: `lnk_${'0'.repeat(24)}`, hnd: `hnd_${'0'.repeat(24)}` };

  it('Records of other owners get the same answer as missing records wherever an operation accepts an id', async () => {
    verifies('resources.own-records');
    const own = {
      lnk: idOf(await call('createLink', acme.key)),
      hnd: idOf(await call('createHandoff', acme.key)),
    };
    const theirs = {
      lnk: idOf(await call('createLink', rival.key)),
      hnd: idOf(await call('createHandoff', rival.key)),
    };
    const NAMED: [RestOperationId, (ids: typeof own) => object][] = [
      ['createHandoff', ({ lnk }) => ({ link_id: lnk })],
      ['submitLead', ({ lnk }) => ({ source: { kind: 'link', ref: lnk } })],
      ['submitLead', ({ hnd }) => ({ source: { kind: 'handoff', ref: hnd } })],
    ];
    for (const [id, over] of NAMED) {
      expect((await call(id, acme.key, over(own))).status).toBe(201);
      const other = expectProblem(await call(id, acme.key, over(theirs)));
      expect(other.code).toBe('resource_not_found');
      expect(stable(other)).toEqual(stable(expectProblem(await call(id, acme.key, over(MISSING)))));
    }
    const test = await app.agent('acme', SCOPES, 'test');
    const inTest = await call('createHandoff', test.key, { link_id: own.lnk });
    expect(expectProblem(inTest).code).toBe('resource_not_found');
  });

  it('Records of other owners appear in no list, filter, sum or page', async () => {
    const rivalLink = idOf(await call('createLink', rival.key));
    for (let n = 0; n < 3; n += 1)
      await call('submitLead', rival.key, { source: { kind: 'link', ref: rivalLink } });
    const get = (path: string, key: string) => app.send({ method: 'GET', url: V1 + path, key });
    const filtered = await get(`/leads?link_id=${rivalLink}`, acme.key);
    expect((filtered.body as { data: object[] }).data).toEqual([]);
    const numbers = await get(`/performance?granularity=total&link_id=${rivalLink}`, acme.key);
    expect(numbers.body).toMatchObject({ totals: { handoffs_created: 0 } });
    const listed = await get('/leads?limit=100', acme.key);
    expect(listed.text).not.toContain('"owner_id":"rival"');
    const page = await get('/leads?limit=1', rival.key);
    const { next_cursor } = (page.body as { page: { next_cursor: string } }).page;
    expect((await get(`/leads?limit=1&cursor=${next_cursor}`, rival.key)).status).toBe(200);
    const foreign = await get(`/leads?limit=1&cursor=${next_cursor}`, acme.key);
    expect(expectProblem(foreign).code).toBe('cursor_invalid');
  });

  it('Records of two owners can have the same idempotency key', async () => {
    const sent = { payload: bodyOf('createLink'), headers: { 'idempotency-key': 'the-same' } };
    const of = (key: string) => app.send({ method: 'POST', url: `${V1}/links`, key, ...sent });
    const [one, other] = [await of(acme.key), await of(rival.key)];
    expect([one.status, other.status]).toEqual([201, 201]);
    expect(idOf(one)).not.toBe(idOf(other));
    expect(other.headers['idempotent-replayed']).toBeUndefined();
  });

  it("Records of other owners get the same answer as missing records for an owner's desk token", async () => {
    const issue = (owner: string) =>
      app.desk('POST', '/desk-tokens', { name: owner, roles: ['owner'], owner_id: owner });
    const { token } = (await issue('acme')).body as { token: string };
    const link = idOf(await call('createLink', rival.key));
    const reason = 'Because';
    const absent = `agt_${'0'.repeat(24)}`;
    const CASES: [string, object, string, object][] = [
      [`/agents/${rival.agentId}/suspend`, { reason }, `/agents/${absent}/suspend`, { reason }],
      [`/agents/${rival.agentId}/keys`, {}, `/agents/${absent}/keys`, {}],
      [`/keys/${rival.keyId}/revoke`, { reason }, '/keys/000000000000/revoke', { reason }],
      [`/keys/${rival.keyId}/rotate`, {}, '/keys/000000000000/rotate', {}],
      [
        `/links/${link}/disable`,
        { reason, owner_id: 'rival' },
        `/links/${MISSING.lnk}/disable`,
        { reason, owner_id: 'acme' },
      ],
    ];
    const post = (path: string, payload: object) =>
      app.send({
        method: 'POST',
        url: `/api/desk/v1${path}`,
        key: token,
        payload,
        headers: { 'idempotency-key': freshKey() },
      });
    for (const [path, body, absentPath, absentBody] of CASES) {
      const other = expectProblem(await post(path, body), path);
      expect(other.code, path).toBe('resource_not_found');
      expect(stable(other), path).toEqual(
        stable(expectProblem(await post(absentPath, absentBody), absentPath)),
      );
    }
    const read = (query: string) =>
      app.send({ method: 'GET', url: `/api/desk/v1/events?${query}`, key: token });
    for (const query of [
      'owner_id=rival',
      'stream=rival-link_a',
      '',
      'last=5',
      'stream=catalog-product_a',
    ])
      expect(expectProblem(await read(query), query).code).toBe('resource_not_found');
    expect((await read('owner_id=acme')).status).toBe(200);
    expect((await call('getConnection', rival.key)).status).toBe(200);
  });
});

describe('An owner', () => {
  it('An owner lifts a suspension that an owner imposed, and none that staff imposed', async () => {
    const { agentId, key } = await app.agent('landlord');
    const owner = await person(app, ['owner'], 'landlord');
    const staff = await person(app, ['staff']);
    const decide = async (verb: 'suspend' | 'reinstate', token: string) =>
      app.send({
        method: 'POST',
        url: `/api/desk/v1/agents/${agentId}/${verb}`,
        key: token,
        payload: { reason: 'Because' },
        headers: { 'idempotency-key': freshKey() },
      });
    expect((await decide('suspend', owner)).body).toMatchObject({ suspended_by: 'owner' });
    const own = await decide('reinstate', owner);
    expect([own.status, (own.body as { status: string }).status]).toEqual([200, 'approved']);
    expect(own.body).not.toHaveProperty('suspended_by');

    await decide('suspend', owner);
    expect((await decide('suspend', staff)).body).toMatchObject({ suspended_by: 'staff' });
    const refused = expectProblem(await decide('reinstate', owner));
    expect(refused).toMatchObject({ code: 'role_missing', status: 403 });
    expect(refused.detail).toContain('staff');
    expect(expectProblem(await call('getConnection', key)).code).toBe('agent_suspended');
    expect((await decide('reinstate', staff)).status).toBe(200);
    expect((await call('getConnection', key)).status).toBe(200);
  });
});
