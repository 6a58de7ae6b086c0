/** What agents check before a write, and change after it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { mcpAgent, type McpAgent, toldBy } from '../support/clients/mcp.ts';
import { reviews } from '../support/world/reviews.ts';
import { configure } from '../support/world/outreach.ts';

let app: TestApp;
let key: string;
let agent: McpAgent;
let other: McpAgent;

const FIREFOX = { 'user-agent': 'Mozilla/5.0 (X11; Linux) Firefox/140.0' };

beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1'), feedProduct('POT-1')]);
  await configure(app, 'acme');
  ({ key } = await app.agent('acme'));
  agent = mcpAgent(app, key);
  other = mcpAgent(app, (await app.agent('acme')).key);
});
afterAll(() => app.close());

const create = (tool: string, input: object): Promise<Record<string, unknown>> =>
  agent.done(tool, { idempotency_key: freshKey(), ...input });

const refused = async (
  tool: string,
  input: object,
  who = agent,
): Promise<Record<string, unknown>> =>
  toldBy(await who.call(tool, { idempotency_key: freshKey(), ...input }));

/** Expects one effect and one answer of a call that is sent twice, and a refusal of its key for another one. */
const repeated = async (tool: string, input: object, otherwise: object) => {
  const call = { idempotency_key: freshKey(), ...input };
  const first = await agent.done(tool, call);
  expect(await agent.done(tool, call)).toEqual(first);
  expect(toldBy(await agent.call(tool, { ...call, ...otherwise }))['code']).toBe(
    'idempotency_key_reused',
  );
  return first;
};

const LIST = { title: 'List', line_items: [{ sku: 'MUG-1', quantity: 3 }] };
const visit = (url: unknown) =>
  app.send({ method: 'GET', url: new URL(String(url)).pathname, headers: FIREFOX });

describe('A check of a handoff', () => {
  it('A check of a handoff stores nothing and leaves its key unused, over REST and MCP', async () => {
    const { position } = await app.service.deps.log.head();
    const input = { idempotency_key: freshKey(), ...LIST, buyer: { email: 'ada@shop.example' } };
    const checked = await agent.done('create_handoff', { ...input, check_only: true });
    expect(checked).toMatchObject({ check_only: true, status: 'awaiting_buyer' });
    expect(checked).not.toHaveProperty('review_url');
    expect(await app.service.deps.vault.knows(String(checked['id']))).toBe('never');
    const { idempotency_key, ...payload } = input;
    const rest = await app.send({
      method: 'POST',
      url: '/api/affiliate/v1/handoffs',
      key,
      payload: { ...payload, check_only: true },
      headers: { 'idempotency-key': idempotency_key },
    });
    expect([rest.status, rest.body]).toEqual([200, checked]);
    await app.service.deps.audit.flush();
    const stored = await app.service.deps.log.readAll({ after: position, limit: 100 });
    expect(new Set(stored.map(({ type }) => type))).toEqual(new Set(['ActivityRecorded']));
    const made = await agent.done('create_handoff', input);
    expect(made).toEqual({
      ...checked,
      check_only: undefined,
      review_url: expect.stringContaining('/h/') as string,
    });
  });

  it.each([
    [[3], { moq: 4, increment: 2, available: 100, above: 4, next_tier: 48 }],
    [[7], { moq: 4, increment: 2, available: 100, below: 6, above: 8, next_tier: 48 }],
    [[120], { moq: 4, increment: 2, available: 100, below: 100 }],
    [[80, 30], { moq: 4, increment: 2, available: 100, in_list: 110, below: 70 }],
  ])('A warning about %j has its rule and the nearest quantities', async (quantities, rule) => {
    const line_items = quantities.map((quantity) => ({ sku: 'MUG-1', quantity }));
    const checked = await create('create_handoff', { title: 'List', line_items, check_only: true });
    const [line] = checked['line_items'] as { rule: Record<string, number> }[];
    expect(line?.rule).toEqual(rule);
    for (const name of ['below', 'above', 'next_tier']) {
      const quantity = line?.rule[name];
      if (quantity === undefined) continue;
      const [, ...rest] = line_items;
      const mended = [{ sku: 'MUG-1', quantity }, ...rest];
      const again = await create('create_handoff', {
        title: 'List',
        line_items: mended,
        check_only: true,
      });
      const [first] = again['line_items'] as { warnings: string[] }[];
      expect([name, quantity, first?.warnings]).toEqual([name, quantity, []]);
    }
  });
});

describe('A handoff that its buyer has not opened', () => {
  let id: unknown;
  let review: string;
  beforeEach(async () => {
    const made = await create('create_handoff', { ...LIST, note_to_buyer: 'Hello' });
    id = made['id'];
    review = new URL(String(made['review_url'])).pathname;
  });

  it('A handoff that its buyer has not opened is revised by its agent, behind the same link', async () => {
    const line_items = [{ sku: 'POT-1', quantity: 8, note: 'Blue' }];
    const revised = await repeated(
      'revise_handoff',
      { handoff_id: id, title: 'Better list', line_items },
      { title: 'Other' },
    );
    expect(revised).toMatchObject({
      title: 'Better list',
      note_to_buyer: 'Hello',
      list_revision: 2,
      line_items: [{ sku: 'POT-1', quantity: 8, note: 'Blue', warnings: [] }],
    });
    expect(await agent.done('get_record', { id })).toMatchObject({ title: 'Better list' });
    const page = await app.send({ method: 'GET', url: review, headers: FIREFOX });
    expect(page.text).toContain('Product POT-1');
    expect(page.text).not.toContain('Product MUG-1');
  });

  it('A handoff that its buyer has not opened is withdrawn by its agent', async () => {
    const gone = await repeated('withdraw_handoff', { handoff_id: id }, { reason: 'Other' });
    expect(gone).toMatchObject({ status: 'withdrawn', status_reason: 'withdrawn by its agent' });
    const told = await refused('revise_handoff', { handoff_id: id, title: 'Late' });
    expect(told).toMatchObject({ code: 'state_conflict', detail: 'The handoff is withdrawn.' });
  });

  it('A handoff that its buyer has opened is left to people, and its agent reads in the refusal what the buyer sees', async () => {
    await reviews({ app: () => app, key: () => key }).post(`${review}/open`, {});
    for (const tool of ['revise_handoff', 'withdraw_handoff']) {
      const told = await refused(tool, {
        handoff_id: id,
        ...(tool === 'revise_handoff' && { title: 'Late' }),
      });
      expect(told['code']).toBe('state_conflict');
      expect(told['detail']).toContain('sees revision 1 with 1 line');
    }
  });

  it('A handoff that its buyer has not opened is not found by another agent', async () => {
    for (const tool of ['revise_handoff', 'withdraw_handoff'])
      expect(
        (
          await refused(
            tool,
            { handoff_id: id, ...(tool === 'revise_handoff' && { title: 'Mine' }) },
            other,
          )
        )['code'],
      ).toBe('resource_not_found');
  });

  it('A revision that changes nothing, or names no published product, is refused', async () => {
    expect(await refused('revise_handoff', { handoff_id: id })).toMatchObject({
      code: 'validation_failed',
    });
    const none = { handoff_id: id, line_items: [{ sku: 'NONE', quantity: 4 }] };
    expect(await refused('revise_handoff', none)).toMatchObject({ code: 'product_unavailable' });
  });
});

describe('A link', () => {
  it('A link keeps its short address when its target changes, and no click is lost meanwhile', async () => {
    const made = await create('create_link', {
      target: { kind: 'product', ref: 'MUG-1' },
      campaign: 'spring',
    });
    const clicks = Array.from({ length: 1_000 }, () => visit(made['short_url']));
    const changing = repeated(
      'update_link',
      { link_id: made['id'], target: { kind: 'product', ref: 'POT-1' } },
      { target: { kind: 'product', ref: 'MUG-1' } },
    );
    const [changed, ...answers] = await Promise.all([changing, ...clicks]);
    expect(changed).toMatchObject({ short_url: made['short_url'], name: 'Product POT-1' });
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([302]));
    const events = await app.service.deps.log.readAll({ after: 0, limit: 100_000 });
    const visits = events.filter(
      ({ type, data }) =>
        type === 'VisitRecorded' && (data as { link_id: string }).link_id === made['id'],
    );
    expect(visits).toHaveLength(1_000);
    const { location } = (await visit(made['short_url'])).headers;
    expect(location).toContain((changed['target'] as { ref: string }).ref);
  });

  it('A link is stopped by its agent, and by no other', async () => {
    const { id, short_url } = await create('create_link', {
      target: { kind: 'search', ref: 'mug' },
    });
    const stop = { link_id: id, stop: true };
    expect((await refused('update_link', stop, other))['code']).toBe('resource_not_found');
    expect(await create('update_link', stop)).toMatchObject({ status: 'disabled' });
    expect((await visit(short_url)).status).toBe(410);
    const again = { link_id: id, target: { kind: 'search', ref: 'pot' } };
    expect(await refused('update_link', again)).toMatchObject({ code: 'state_conflict' });
    expect(await refused('update_link', { link_id: id })).toMatchObject({
      code: 'validation_failed',
    });
  });

  it('A link of waiting outreach needs approval again when its target changes', async () => {
    const link = await create('create_link', { target: { kind: 'product', ref: 'MUG-1' } });
    const text = `Mugs: ${String(link['short_url'])} ${String(link['disclosure'])}`;
    const post = await create('request_social_post', {
      network: 'x',
      account_ref: 'shop',
      link_ids: [link['id']],
      text,
    });
    await create('update_link', {
      link_id: link['id'],
      target: { kind: 'product', ref: 'POT-1' },
    });
    const after = await agent.done('get_record', { id: post['id'] });
    expect(after).toMatchObject({ status: 'pending_approval', revision: 2, content: { text } });
    expect(after['content_sha256']).not.toBe(post['content_sha256']);
  });
});

describe('create_links', () => {
  it('create_links answers each link or its problem, and repeats the answer', async () => {
    const links = [
      { target: { kind: 'product', ref: 'MUG-1' }, slug: 'one-mug', campaign: 'bulk' },
      { target: { kind: 'product', ref: 'NONE' } },
      { target: { kind: 'product', ref: 'POT-1' }, slug: 'one-mug' },
    ];
    const { data } = (await repeated('create_links', { links }, { links: links.slice(1) })) as {
      data: { id?: string; short_url?: string; problem?: { code: string } }[];
    };
    expect(data.map(({ problem }) => problem?.code)).toEqual([
      undefined,
      'link_target_invalid',
      'slug_taken',
    ]);
    expect(data[0]?.short_url).toMatch(/\/l\/one-mug$/);
    const { data: listed } = (await agent.done('list_records', {
      kind: 'link',
      campaign: 'bulk',
    })) as { data: { id: string }[] };
    expect(listed.map(({ id }) => id)).toEqual([data[0]?.id]);
  });

  it('create_links counts as so many writes', async () => {
    const small = await testApp({ WRITES_PER_MINUTE: '10' });
    try {
      await small.publish([feedProduct('MUG-1')]);
      const limited = mcpAgent(small, (await small.agent('acme')).key);
      const links = Array.from({ length: 11 }, () => ({ target: { kind: 'search', ref: 'mug' } }));
      const { body } = await limited.legacy('tools/call', {
        name: 'create_links',
        arguments: { idempotency_key: freshKey(), links },
      });
      expect(JSON.stringify(body)).toContain('rate_limited');
    } finally {
      await small.close();
    }
  });
});
