/** What an owner's agents find of their records, by tool and as resources. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LISTED_KINDS, type ListedKind } from '#contracts/records/records.ts';
import type { Scope } from '#contracts/scopes.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { mcpAgent, type McpAgent, toldBy } from '../support/clients/mcp.ts';
import { configure } from '../support/world/outreach.ts';

let app: TestApp;
let agent: McpAgent;
let rival: McpAgent;
/** Ids by kind, oldest first. */
const made: Record<ListedKind, string[]> = { link: [], handoff: [], outreach: [] };

type Row = { id: string; name?: string; status: string; updated_at: string };
type Page = { data: Row[]; page: { next_cursor: string | null; has_more: boolean } };

const create = async (tool: string, input: object, who = agent): Promise<Record<string, unknown>> =>
  who.done(tool, { idempotency_key: freshKey(), ...input });

const list = async (input: object, who = agent): Promise<Page> =>
  (await who.done('list_records', input)) as Page;

/** The scope that a refused call names. */
const missing = async (who: McpAgent, name: string, input: object): Promise<unknown> =>
  (await who.legacy('tools/call', { name, arguments: input })).body.error?.data['required_scope'];

const idsOf = ({ data }: Page): string[] => data.map(({ id }) => id);

beforeAll(async () => {
  app = await testApp();
  await app.publish([
    feedProduct('MUG-1', { title: 'Speckled Stoneware Mug' }),
    feedProduct('POT-1'),
  ]);
  await Promise.all(['acme', 'rival'].map((owner) => configure(app, owner)));
  agent = mcpAgent(app, (await app.agent('acme')).key);
  rival = mcpAgent(app, (await app.agent('rival')).key);
  for (const n of [1, 2, 3]) {
    app.clock.advance(1_000);
    const campaign = n === 1 ? 'autumn' : 'spring';
    const link = await create('create_link', {
      target: { kind: 'product', ref: n === 3 ? 'POT-1' : 'MUG-1' },
      campaign,
      external_id: `ref ${n}`,
    });
    const handoff = await create('create_handoff', {
      title: `Café list ${n}`,
      link_id: link['id'],
      external_id: `ref ${n}`,
      buyer: { email: 'ada@shop.example' },
      line_items: [{ sku: 'MUG-1', quantity: 4 }],
    });
    const outreach = await create('request_social_post', {
      network: 'x',
      account_ref: `shop ${n}`,
      external_id: `ref ${n}`,
      link_ids: [link['id']],
      text: `Mugs: ${String(link['short_url'])} ${String(link['disclosure'])}`,
    });
    made.link.push(String(link['id']));
    made.handoff.push(String(handoff['id']));
    made.outreach.push(String(outreach['id']));
  }
});
afterAll(() => app.close());

describe('list_records', () => {
  it.each(LISTED_KINDS)('list_records pages through each %s, newest first', async (kind) => {
    const newest = made[kind].toReversed();
    expect(idsOf(await list({ kind }))).toEqual(newest);
    const first = await list({ kind, limit: 2 });
    expect([idsOf(first), first.page.has_more]).toEqual([newest.slice(0, 2), true]);
    const cursor = first.page.next_cursor;
    expect(idsOf(await list({ kind, limit: 2, cursor }))).toEqual(newest.slice(2));
    const other = mcpAgent(app, (await app.agent('acme')).key);
    for (const who of [rival, other])
      expect(toldBy(await who.call('list_records', { kind, limit: 2, cursor }))['code']).toBe(
        'cursor_invalid',
      );
  });

  it.each(LISTED_KINDS)('list_records finds a %s by each filter', async (kind) => {
    const [one, two, three] = made[kind];
    const shown = async (filter: object) => idsOf(await list({ kind, ...filter }));
    expect(await shown({ campaign: 'spring' })).toEqual([three, two]);
    expect(await shown({ campaign: 'Spring' })).toEqual([]);
    expect(await shown({ external_id: 'ref 2' })).toEqual([two]);
    expect(await shown({ text: 'AUTU' })).toEqual([one]);
    expect(await shown({ text: 'ref 3' })).toEqual([three]);
    expect(await shown({ text: 'nothing' })).toEqual([]);
    const state =
      kind === 'link' ? 'active' : kind === 'handoff' ? 'awaiting_buyer' : 'pending_approval';
    expect(await shown({ state })).toHaveLength(3);
    expect(await shown({ state, campaign: 'autumn', text: 'ref' })).toEqual([one]);
    expect(await shown({ state: 'expired' })).toEqual([]);
  });

  it('list_records finds words of names without accents, and shows the names', async () => {
    expect(idsOf(await list({ kind: 'handoff', text: 'cafe' }))).toHaveLength(3);
    const { data } = await list({ kind: 'link', text: 'stone mug' });
    expect(data.map(({ name }) => name)).toEqual(Array(2).fill('Speckled Stoneware Mug'));
    expect((await list({ kind: 'outreach' })).data[0]?.name).toBe('shop 3');
  });

  it('list_records shows the newest change first with updated_since', async () => {
    const since = new Date(app.clock.now() + 1_000).toISOString();
    expect((await list({ kind: 'link', updated_since: since })).data).toEqual([]);
    app.clock.advance(60_000);
    const link = await create('create_link', { target: { kind: 'search', ref: 'mugs' } });
    const id = made.link[0] ?? '';
    await app.desk('POST', `/links/${id}/disable`, { owner_id: 'acme', reason: 'Recalled' });
    const changed = await list({ kind: 'link', updated_since: since });
    expect(idsOf(changed)).toEqual([id, link['id']]);
    expect(changed.data[0]?.status).toBe('disabled');
  });

  it.each([
    ['link', 'links:write'],
    ['handoff', 'handoffs:write'],
    ['outreach', 'social:write'],
  ] as const)('list_records of a %s needs %s', async (kind, scope) => {
    const holder = mcpAgent(app, (await app.agent('acme', [scope])).key);
    expect(idsOf(await list({ kind }, holder)).length).toBeGreaterThan(0);
    const all: Scope[] = ['links:write', 'handoffs:write', 'agents:notify', 'messages:write'];
    const others = all.filter((one) => one !== scope);
    const other = mcpAgent(app, (await app.agent('acme', others)).key);
    if (kind === 'outreach') expect(idsOf(await list({ kind }, other))).toEqual([]);
    else expect(await missing(other, 'list_records', { kind })).toBe(scope);
    const id = made[kind][1];
    expect(await holder.done('get_record', { id })).toMatchObject({ id });
    expect(await missing(other, 'get_record', { id })).toBe(scope);
  });

  it('list_records refuses a state of another kind and names those of this one', async () => {
    const told = toldBy(await agent.call('list_records', { kind: 'link', state: 'confirmed' }));
    expect(told['errors']).toMatchObject([
      { pointer: '/state', detail: 'a link is one of active, disabled, expired' },
    ]);
  });
});

describe('A record', () => {
  it.each(LISTED_KINDS)('A listed %s has the members that get_record shows', async (kind) => {
    const { data } = await list({ kind });
    for (const row of data)
      expect(await agent.done('get_record', { id: row.id })).toMatchObject(row);
  });

  it.each(LISTED_KINDS)('A %s shows no review link and no contact to agents', async (kind) => {
    const whole = await agent.done('get_record', { id: made[kind][0] });
    const text = JSON.stringify([await list({ kind }), whole]);
    for (const hidden of ['review_url', '/h/', 'ada@shop.example', '"contact"'])
      expect(text).not.toContain(hidden);
  });

  it('A record of another owner is not found and not listed', async () => {
    for (const kind of LISTED_KINDS) {
      expect((await list({ kind }, rival)).data).toEqual([]);
      for (const id of made[kind])
        expect(toldBy(await rival.call('get_record', { id }))['code']).toBe('resource_not_found');
    }
  });

  it('A link counts what it led to, for a key that reads performance', async () => {
    const link = await create('create_link', { target: { kind: 'product', ref: 'POT-1' } });
    const agents = { 'user-agent': 'Mozilla/5.0 (X11; Linux) Firefox/140.0' };
    await app.send({
      method: 'GET',
      url: new URL(String(link['short_url'])).pathname,
      headers: agents,
    });
    await create('create_handoff', {
      title: 'Counted',
      link_id: link['id'],
      line_items: [{ sku: 'POT-1', quantity: 4 }],
    });
    const shown = await agent.done('get_record', { id: link['id'] });
    expect(shown['counts']).toEqual({
      clicks_raw: 1,
      clicks_valid: 1,
      clicks_unique: 1,
      handoffs_created: 1,
    });
    const narrow = mcpAgent(app, (await app.agent('acme', ['links:write'])).key);
    expect(await narrow.done('get_record', { id: link['id'] })).not.toHaveProperty('counts');
  });
});
