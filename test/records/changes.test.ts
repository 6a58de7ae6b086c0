/** What changed of an owner's records, compared with the log after random acts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Change } from '#contracts/records/changes.ts';
import { agent as agentDecider } from '#src/access/access.decider.ts';
import { handoff, shownStatus } from '#src/handoffs/handoff.decider.ts';
import { rfqForAgents } from '#src/handoffs/rfq.decider.ts';
import { lead, stateAt } from '#src/leads/lead.decider.ts';
import { link, linkStatusAt } from '#src/links/link.decider.ts';
import { outbound, statusAt } from '#src/outreach/outbound.decider.ts';
import { present } from '#src/shared/json.ts';
import { expectProved } from '../support/audit/export.ts';
import { randomFrom, randomHistory } from '../support/audit/random-history.ts';
import { mcpAgent, type McpAgent, toldBy } from '../support/clients/mcp.ts';
import { type TestApp, freshKey, testApp } from '../support/world/app.ts';
import { confirmRfq } from '../support/world/confirmation.ts';
import { quote, win } from '../support/world/deals.ts';
import { BROWSER, createShortLink, splitLanding } from '../support/world/links.ts';
import { reviews } from '../support/world/reviews.ts';

let app: TestApp;
let key: string;
let agent: McpAgent;
let history: Awaited<ReturnType<typeof randomHistory>>;
const polled: Change[] = [];
let cursor: string | undefined;

type Page = {
  data: Change[];
  page: { next_cursor: string; has_more: boolean };
  as_of: { position: number };
};

const read = async (who: McpAgent, input: object = {}) =>
  (await who.done('list_changes', input)) as unknown as Page;

/** Reads all pages from the start, or from a cursor. */
const readAll = async (who: McpAgent, input: { limit?: number; cursor?: string } = {}) => {
  const data: Change[] = [];
  let from = input.cursor;
  for (;;) {
    const page = await read(who, { ...input, ...present({ cursor: from }) });
    data.push(...page.data);
    from = page.page.next_cursor;
    if (!page.page.has_more) return { data, cursor: from };
  }
};

const poll = async () => {
  const told = await readAll(agent, present({ cursor }));
  polled.push(...told.data);
  cursor = told.cursor;
};

const buyers = () => reviews({ app: () => app, key: () => key });

/** A list that its buyer opens, sends and confirms, and that staff quote or win. */
const deal = async (outcome: 'quoted' | 'won' | 'disowned'): Promise<void> => {
  const { id, path } = await buyers().handoff({ line_items: [{ sku: 'MUG-1', quantity: 8 }] });
  await buyers().post(`${path}/open`, {});
  await buyers().post(`${path}/send`, {
    name: 'Bea',
    email: 'bea@shop.example',
    consent: 'yes',
    list_revision: '1',
    quantity_1: '8',
  });
  if (outcome === 'disowned') return;
  await confirmRfq(app, { id });
  await (outcome === 'won' ? win(app, { id, amount: 4_000 }) : quote(app, id, 4_000));
};

const own = (tool: string, input: object) =>
  agent.call(tool, { idempotency_key: freshKey(), ...input });

/** A buyer makes a list after a click on a link of the owner. */
const listOfBuyer = async (): Promise<void> => {
  const found = await app.send({ method: 'GET', url: '/api/affiliate/v1/products', key });
  const [product] = (found.body as { data: { id: string }[] }).data;
  const made = await createShortLink(app, key);
  const headers = { 'user-agent': BROWSER };
  const { token } = splitLanding(
    await app.send({ method: 'GET', url: `/l/${made.code}`, headers }),
  );
  const list = `${product?.id.slice('prd_'.length)}~8`;
  const fields = { list, once: 'f'.repeat(22), attribution: token ?? '' };
  expect((await buyers().post('/h', fields, headers)).status).toBe(303);
};

/** Acts that random histories do not have. */
const moreActs = (): (() => Promise<unknown>)[] => [
  listOfBuyer,
  () => deal('quoted'),
  () => deal('won'),
  () => deal('disowned'),
  () =>
    own('update_link', { link_id: history.ids.links.at(-1), expires_at: '2026-12-20T00:00:00Z' }),
  () => own('revise_handoff', { handoff_id: history.ids.handoffs.at(-1), title: 'Better' }),
  () => own('withdraw_handoff', { handoff_id: history.ids.handoffs.at(-1) }),
];

beforeAll(async () => {
  app = await testApp();
  history = await randomHistory(app, 'acme', 36);
  ({ key } = history);
  agent = mcpAgent(app, key);
  const random = randomFrom(63);
  for (let n = 0; n < 99; n += 1) {
    await history.act();
    if (n % 9 === 0) await moreActs()[(n / 9) % 7]?.();
    await app.desk('POST', `/agents/${history.agentId}/reinstate`, { reason: 'Go on' });
    if (random() < 0.3) await poll();
  }
  await poll();
}, 120_000);
afterAll(() => app.close());

const WITHIN = [
  'LinkUpdated',
  'HandoffRevisedByAgent',
  'LeadAmended',
  'OutboundRevised',
  'AccessRequested',
  'AccessApproved',
  'AccessDenied',
  'AccessGranted',
];

/* oxlint-disable typescript/no-explicit-any -- the states of all deciders are compared as one kind of object */
const DECIDERS: Record<string, { evolve(state: any, event: any): any }> = {
  link,
  handoff,
  lead,
  outbound,
  agent: agentDecider,
};

const seen = (kind: string, state: any, at: number): [string, string, string][] => {
  if (!state) return [];
  switch (kind) {
    case 'link':
      return [['link', state.link_id, linkStatusAt(state, at)]];
    case 'lead':
      return [['lead', state.lead_id, stateAt(state, at)]];
    case 'outbound':
      return [['outreach', state.outbound_id, statusAt(state, at)]];
    case 'agent':
      return state.agent_id === history.agentId ? [['access', state.agent_id, state.status]] : [];
    default: {
      if (state.made_by_buyer) return [];
      const rfq = rfqForAgents(state.rfq, at)?.state;
      const id: string = state.handoff_id;
      return [['handoff', id, shownStatus(state, at)], ...(rfq ? [['rfq', id, rfq]] : [])] as [
        string,
        string,
        string,
      ][];
    }
  }
};

/** What a fold of the whole log tells, event by event. */
const fromLog = async (): Promise<Change[]> => {
  const states = new Map<string, any>();
  const changes: Change[] = [];
  for (let after = 0; ; ) {
    const events = await app.service.deps.log.readAll({ after, limit: 500 });
    for (const { stream, type, data, meta, position } of events) {
      after = position;
      const kind = /^acme-(link|handoff|lead|outbound|agent)_/.exec(stream)?.[1];
      const decider = DECIDERS[kind ?? ''];
      if (!kind || !decider) continue;
      const before = seen(kind, states.get(stream), meta.at);
      states.set(stream, decider.evolve(states.get(stream), { type, data, at: meta.at }));
      for (const [of, id, to] of seen(kind, states.get(stream), meta.at)) {
        const from = before.find(([other]) => other === of)?.[2] ?? null;
        if (from === to && (of === 'rfq' || !WITHIN.includes(type))) continue;
        changes.push({
          id,
          kind: of as Change['kind'],
          from,
          to,
          position,
          at: new Date(meta.at).toISOString(),
        });
      }
    }
    if (events.length === 0) return changes;
  }
};

describe('Changes', () => {
  it('Changes that were polled between random acts are those of the log, each once and in its order', async () => {
    const logged = await fromLog();
    expect(polled).toEqual(logged);
    expect(new Set(logged.map(({ kind }) => kind)).size).toBe(6);
    expect(logged.some(({ kind, to }) => kind === 'rfq' && to === 'won')).toBe(true);
    await expectProved(app, ['acme', 'desk']);
  });

  it.each([1, 7, 100])('Changes read in pages of %d are the same', async (limit) => {
    expect((await readAll(agent, { limit })).data).toEqual(polled);
  });

  it('The last change of each record has the state that get_record shows', async () => {
    const last = new Map(polled.map((one) => [`${one.kind} ${one.id}`, one]));
    for (const { kind, id, to } of last.values()) {
      if (kind === 'access' || kind === 'rfq') continue;
      const record = await agent.done('get_record', { id });
      const state = record['status'] ?? record['state'];
      // What ended by time alone has no event.
      if (state !== 'expired' && state !== 'lapsed')
        expect([kind, id, to]).toEqual([kind, id, state]);
    }
  });

  it('Changes after a position are those that follow it', async () => {
    const middle = polled[Math.floor(polled.length / 2)]?.position ?? 0;
    const { data } = await read(agent, { after: middle, limit: 100 });
    expect(data).toEqual(polled.filter(({ position }) => position > middle).slice(0, data.length));
    expect(data.length).toBeGreaterThan(0);
  });

  it('A cursor stays where it is over a rebuild, tells nothing twice, and does not expire', async () => {
    const half = await read(agent, { limit: 20 });
    const rebuild = await app.desk('POST', '/projections/changes/rebuild', {});
    expect(rebuild.status).toBeLessThan(300);
    const status = async () =>
      (
        (await app.desk('GET', '/projections')).body as {
          data: { name: string; last_rebuild?: { state: string } }[];
        }
      ).data.find(({ name }) => name === 'changes')?.last_rebuild?.state;
    while ((await status()) === 'running') await new Promise(setImmediate);
    app.clock.advance(3 * 86_400_000);
    const rest = await readAll(agent, { cursor: half.page.next_cursor });
    expect([...half.data, ...rest.data]).toEqual(polled);
    expect((await read(agent, { cursor: rest.cursor })).data).toEqual([]);
    const made = await agent.done('create_link', {
      idempotency_key: freshKey(),
      target: { kind: 'search', ref: 'mug' },
    });
    expect((await read(agent, { cursor: rest.cursor })).data).toMatchObject([
      { id: made['id'], kind: 'link', from: null, to: 'active' },
    ]);
  });

  it('The desk tells an owner the same, with the access of all agents', async () => {
    const { key: second, agentId } = await app.agent('acme', ['links:write']);
    const data: Change[] = [];
    for (let after = 0, more = true; more; ) {
      const { body } = await app.desk('GET', `/changes?owner_id=acme&after=${after}&limit=50`);
      const page = body as { data: Change[]; next_after: number; has_more: boolean };
      data.push(...page.data);
      [after, more] = [page.next_after, page.has_more];
    }
    expect(data.at(-1)).toMatchObject({ kind: 'access', id: agentId, to: 'approved' });
    const all = (await readAll(agent)).data;
    const others = ({ kind, id }: Change) => kind !== 'access' || id === history.agentId;
    expect(data.filter(others)).toEqual(all);
    const links = (await readAll(mcpAgent(app, second))).data;
    const isOfSecond = ({ kind, id }: Change) =>
      kind === 'link' || (kind === 'access' && id === agentId);
    expect(links).toEqual(data.filter(isOfSecond));
  });
});

describe('A cursor of changes', () => {
  it.each(['acme', 'rival'])(
    'A cursor is refused in a sentence to another agent of %s',
    async (owner) => {
      const other = mcpAgent(app, (await app.agent(owner)).key);
      const { page } = await read(agent);
      const told = toldBy(await other.call('list_changes', { cursor: page.next_cursor }));
      expect(told).toMatchObject({ code: 'cursor_invalid' });
      expect(String(told['detail'])).toMatch(/^The cursor .*\.$/);
    },
  );

  it('A cursor and a position are not sent together', async () => {
    const { page } = await read(agent);
    const told = toldBy(await agent.call('list_changes', { cursor: page.next_cursor, after: 1 }));
    expect(told['errors']).toMatchObject([{ pointer: '/after', code: 'not_together' }]);
  });
});

describe('Changes that an agent may not see', () => {
  it('No agent gets a list that a buyer made, and no state tells that staff quoted', async () => {
    const shown = JSON.stringify((await readAll(agent)).data);
    for (const word of ['quoted', 'agreed', 'priced']) expect(shown).not.toContain(word);
    const stored = await app.service.deps.log.readAll({
      after: 0,
      limit: 5_000,
      types: ['RfqQuoted', 'BuyerListCreated'],
    });
    expect(new Set(stored.map(({ type }) => type)).size).toBe(2);
    for (const { type, data } of stored)
      if (type === 'BuyerListCreated')
        expect(shown).not.toContain((data as { handoff_id: string }).handoff_id);
  });
});
