/** What waits for staff, over all owners. */
import { atDesk } from '../support/world/desk-scenes.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { person } from '../support/world/outreach.ts';
import { buyerOver } from '../support/world/server-over.ts';

const V1 = '/api/affiliate/v1';
const VALUE = { amount: 49_690, currency: 'GBP' };
const DAY_MS = 86_400_000;
type Row = { id: string; owner_id: string; state: string; handoff_id: string };
type Page = { data: Row[]; next_before: number | null; next_after: number | null };

let app: TestApp;
let ownerToken: string;
/** The leads in the order in which they were submitted. */
const ids: string[] = [];
const lists: string[] = [];

const keys: Record<string, { key: string; agentId: string }> = {};
const post = async <Body>(owner: string, path: string, payload: object): Promise<Body> => {
  const headers = { 'idempotency-key': freshKey() };
  const { key } = keys[owner] ?? { key: '' };
  return (await app.send({ method: 'POST', url: V1 + path, key, payload, headers })).body;
};
const submit = async (owner: string): Promise<string> => {
  const { id } = await post<Row>(owner, '/leads', {
    external_id: freshKey(),
    company: { name: 'Shop', country: 'GB' },
    contact: { name: 'Ada Byron', email: `${freshKey()}@buyer.example` },
    consent: { basis: 'consent', obtained_at: '2026-11-19T09:00:00Z' },
  });
  ids.push(id);
  return id;
};
const sendRfq = async (owner: string, quantity: number): Promise<void> => {
  const line_items = [{ sku: 'MUG-1', quantity }];
  const list = await post<{ id: string; review_url: string }>(owner, '/handoffs', {
    title: 'Mugs',
    line_items,
  });
  const contact = { name: 'Bea Buyer', email: 'bea@shop.example' };
  const sent = { list_revision: 1, consent: true, contact };
  expect(await buyerOver(app.service.deps, list.review_url).request(sent)).toMatchObject({
    ok: true,
  });
  lists.push(list.id);
};
const move = (owner: string, id: string, to: string, more = {}) =>
  app.desk('POST', `/leads/${id}/move`, { owner_id: owner, to, ...more });
const read = async (path: string, key = app.deskToken): Promise<Page> => {
  const { status, body } = await app.send({ method: 'GET', url: `/api/desk/v1${path}`, key });
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
};
const idsOf = ({ data }: Page): string[] => data.map(({ id }) => id);
/** Reads pages of two rows, in the direction of the first. */
const readAll = async (path: string, first: 'before' | 'after'): Promise<string[]> => {
  const found: string[] = [];
  for (let place: number | null | undefined = first === 'after' ? 0 : undefined; ; ) {
    const from = place === undefined ? '' : `&${first}=${place}`;
    const page = await read(`${path}&limit=2${from}`);
    found.push(...idsOf(page));
    place = first === 'after' ? page.next_after : page.next_before;
    if (place === null) return found;
  }
};

beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1')]);
  for (const owner of ['acme', 'rival']) keys[owner] = await app.agent(owner);
  for (const owner of ['acme', 'rival', 'acme', 'rival', 'acme']) await submit(owner);
  await move('rival', ids[1] ?? '', 'accepted');
  await sendRfq('acme', 48);
  await sendRfq('rival', 4);
  const token = { name: 'Acme', roles: ['owner'], owner_id: 'acme' };
  ownerToken = ((await app.desk('POST', '/desk-tokens', token)).body as { token: string }).token;
});
afterAll(() => app.close());

describe('The open leads', () => {
  it('The open leads of all owners are listed in pages, newest or oldest first, without any contact', async () => {
    expect(await readAll('/leads?', 'before')).toEqual(ids.toReversed());
    expect(await readAll('/leads?', 'after')).toEqual(ids);
    const all = JSON.stringify(await read('/leads'));
    for (const secret of ['Ada', 'buyer.example', 'contact']) expect(all).not.toContain(secret);
  });

  it('The open leads are filtered by owner, agent, state and time of submission', async () => {
    const of = (owner: number) => ids.filter((_, n) => n % 2 === owner).toReversed();
    const agent = keys['rival']?.agentId;
    expect(idsOf(await read('/leads?owner_id=acme'))).toEqual(of(0));
    expect(idsOf(await read(`/leads?agent_id=${agent}`))).toEqual(of(1));
    expect(idsOf(await read(`/leads?agent_id=${agent}&owner_id=acme`))).toEqual([]);
    expect(idsOf(await read('/leads?state=accepted'))).toEqual([ids[1]]);
    const now = new Date(app.clock.now()).toISOString();
    const later = new Date(app.clock.now() + 1).toISOString();
    expect(idsOf(await read(`/leads?to=${now}`))).toHaveLength(ids.length);
    expect(idsOf(await read(`/leads?from=${later}`))).toEqual([]);
  });

  it('The open leads of other owners are not shown to the token of one', async () => {
    const own = idsOf(await read('/leads', ownerToken));
    expect(own).toEqual(ids.filter((_, n) => n % 2 === 0).toReversed());
    expect(idsOf(await read('/leads?owner_id=rival', ownerToken))).toEqual([]);
    const url = `/api/desk/v1/leads/${ids[0]}`;
    expect(await app.send({ method: 'GET', url, key: ownerToken })).toMatchObject({
      status: 403,
      body: { code: 'role_missing' },
    });
  });

  it('The list of open leads loses a lead at its end, or when its claim expires without contact', async () => {
    const [rejected, lapsed] = [await submit('acme'), await submit('rival')];
    await move('acme', rejected, 'rejected');
    const newest = async (query = '') => idsOf(await read(`/leads?limit=1${query}`));
    expect(await newest()).toEqual([lapsed]);
    await move('rival', lapsed, 'accepted');
    await move('rival', ids[1] ?? '', 'contacted');
    app.clock.advance(91 * DAY_MS);
    expect(await newest('&state=lapsed')).toEqual([lapsed]);
    expect(await newest()).toEqual([ids[1]]);
    await app.desk('POST', `/subjects/${rejected}/erase`, { reason: 'Asked' });
    expect(await newest('&owner_id=acme')).toEqual([]);
  });
});

describe('A lead', () => {
  it('A lead is read by its id alone with its contact, even at its end', async () => {
    const id = await submit('rival');
    const answer = await app.desk('GET', `/leads/${id}`);
    expect(answer.body).toMatchObject({ id, owner_id: 'rival', contact: { name: 'Ada Byron' } });
    await move('rival', id, 'rejected');
    expect((await app.desk('GET', `/leads/${id}`)).body).toMatchObject({ state: 'rejected' });
    expect(await app.desk('GET', `/leads/led_${'0'.repeat(24)}`)).toMatchObject({
      status: 404,
      body: { code: 'resource_not_found' },
    });
  });

  it('A lead without a handoff is won by staff once it is qualified, and the numbers show its value', async () => {
    const id = await submit('acme');
    for (const to of ['accepted', 'contacted', 'qualified']) await move('acme', id, to);
    expect((await move('acme', id, 'won', { value: VALUE })).body).toMatchObject({
      state: 'qualified',
      proposed: { number: 1, to: 'won' },
    });
    const approval = { path: `/leads/${id}/approve`, body: { owner_id: 'acme', proposal: 1 } };
    expect((await atDesk(app, approval)).body).toMatchObject({ state: 'won' });
    const numbers = await app.send({
      method: 'GET',
      url: `${V1}/performance?from=2026-11-20&granularity=total`,
      key: keys['acme']?.key,
    });
    expect(numbers.body).toMatchObject({ totals: { leads_won: 1, won_value: [VALUE] } });
  });

  it('A lead can turn out to be unqualified after it was qualified', async () => {
    const id = await submit('acme');
    for (const to of ['accepted', 'contacted', 'qualified']) await move('acme', id, to);
    expect((await move('acme', id, 'unqualified')).body).toMatchObject({ state: 'unqualified' });
  });
});

describe('The RFQs', () => {
  const handoffsOf = ({ data }: Page): string[] => data.map(({ handoff_id }) => handoff_id);

  it('RFQs of all owners are listed by value or otherwise, and read by their id alone', async () => {
    const page = await read('/rfqs');
    expect(handoffsOf(page)).toEqual(lists.toReversed());
    expect(JSON.stringify(page)).not.toContain('bea@');
    expect(handoffsOf(await read('/rfqs?after=0'))).toEqual(lists);
    const valued = await read('/rfqs?currency=GBP&min_amount=5000');
    expect(handoffsOf(valued)).toEqual([lists[0]]);
    expect(handoffsOf(await read('/rfqs?currency=EUR'))).toEqual([]);
    expect(handoffsOf(await read('/rfqs?owner_id=rival'))).toEqual([lists[1]]);
    expect((await app.desk('GET', `/handoffs/${lists[1]}/rfq`)).body).toMatchObject({
      owner_id: 'rival',
      contact: { email: 'bea@shop.example' },
    });
  });

  it('RFQs are not compared by an amount without a currency', async () => {
    expect(await app.desk('GET', '/rfqs?min_amount=1')).toMatchObject({
      status: 400,
      body: { code: 'parameter_invalid', errors: [{ pointer: '/currency', code: 'required' }] },
    });
  });
});

describe('The requests for access', () => {
  type Request = { agent_id: string; owner_id: string; outcome: string };
  type Requests = { data: Request[]; next_before: number | null };
  const listed = async (query: string, key = app.deskToken): Promise<Request[]> => {
    const page: unknown = await read(`/access-requests?${query}`, key);
    return (page as Requests).data;
  };
  const SCOPES = ['products:read', 'links:write'];
  const ask = async (owner_id: string, agent_id?: string): Promise<string> => {
    const request = { owner_id, name: 'Asking', purpose: 'Asks', scopes: SCOPES };
    const asked = { ...request, ...(agent_id !== undefined && { agent_id }) };
    return ((await app.desk('POST', '/agents', asked)).body as { id: string }).id;
  };
  const decide = async (id: string, verb: string, more: object = {}) =>
    app.send({
      method: 'POST',
      url: `/api/desk/v1/agents/${id}/${verb}`,
      key: await person(app, ['staff']),
      headers: { 'idempotency-key': freshKey() },
      payload: { reason: 'Said so', ...more },
    });
  const agentsOf = (rows: Request[]): string[] => rows.map(({ agent_id }) => agent_id);

  it('Requests for access of all owners are listed by outcome, with what was asked and what is granted', async () => {
    const [waits, partly, denied] = [await ask('acme'), await ask('rival'), await ask('acme')];
    await decide(partly, 'approve', { scopes: ['products:read'] });
    await decide(denied, 'deny');
    expect(agentsOf(await listed('limit=3'))).toEqual([denied, partly, waits]);
    expect(agentsOf(await listed('state=pending'))).toEqual([waits]);
    expect(await listed('state=partial')).toMatchObject([
      {
        agent_id: partly,
        owner_id: 'rival',
        scopes: SCOPES,
        granted_scopes: ['products:read'],
        reason: 'Said so',
        decided_at: expect.any(String) as string,
      },
    ]);
    expect(agentsOf(await listed(`state=denied&owner_id=acme`))).toEqual([denied]);
    expect(agentsOf(await listed(`agent_id=${partly}`))).toEqual([partly]);
    expect(await listed('owner_id=rival', ownerToken)).toEqual([]);
    const later = new Date(app.clock.now() + 1).toISOString();
    expect(await listed(`from=${later}`)).toEqual([]);
  });

  it("Requests for access are listed by the time of each agent's newest one, which keeps what it was granted", async () => {
    const { agentId = '' } = keys['acme'] ?? {};
    await ask('acme', agentId);
    const [newest] = await listed('limit=1');
    expect(newest).toMatchObject({
      agent_id: agentId,
      outcome: 'pending',
      agent_status: 'approved',
      scopes: SCOPES,
    });
    expect(newest).not.toMatchObject({ granted_scopes: SCOPES });
    expect(agentsOf(await listed('after=0&limit=1'))).not.toContain(agentId);
  });
});
