/** Sources of handoffs and leads that are live, sources that are not, and external ids that are in use. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { mcpAgent } from '../support/clients/mcp.ts';
import { BROWSER, createShortLink } from '../support/world/links.ts';

const PROFILE = { name: 'Acme', postal_address: 'London', mailbox: 'office@acme.example' };
const DAY_MS = 86_400_000;

let app: TestApp;
let key: string;

beforeEach(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
  await app.publish([feedProduct('MUG-1')]);
});
afterEach(() => app.close());

type Made = { id: string; link_id?: string; warnings?: { code: string; id: string }[] };

const post = async (path: string, payload: object): Promise<Made> => {
  const headers = { 'idempotency-key': freshKey() };
  const url = `/api/affiliate/v1/${path}`;
  const answer = await app.send({ method: 'POST', url, key, payload, headers });
  expect([answer.text, answer.status]).toEqual([answer.text, 201]);
  return answer.body;
};
const LINES = { title: 'List', line_items: [{ sku: 'MUG-1', quantity: 12 }] };
const makeList = (over: object = {}) => post('handoffs', { ...LINES, ...over });
const submit = (source: object) =>
  post('leads', {
    external_id: freshKey(),
    source,
    company: { name: 'Corner Shop', country: 'GB' },
  });
const ofLink = (ref: string) => submit({ kind: 'link', ref });
const ofList = (ref: string) => submit({ kind: 'handoff', ref });
const follow = ({ code }: { code: string }) =>
  app.send({ method: 'GET', url: `/l/${code}`, headers: { 'user-agent': BROWSER } });
const stop = (link_id: string) =>
  mcpAgent(app, key).done('update_link', { idempotency_key: freshKey(), link_id, stop: true });
const setDays = (attribution_days?: number) =>
  app.desk('POST', '/owners/acme/profile', {
    ...PROFILE,
    ...(attribution_days !== undefined && { attribution_days }),
  });
const notLive = (id: string) => [{ code: 'source_not_live', id }];

/** The numbers of leads and handoffs of each group in the last days. */
const counted = async (by: string): Promise<Record<string, number>> => {
  const report = await app.send({
    method: 'GET',
    url: `/api/affiliate/v1/performance?granularity=total&group_by=${by}`,
    key,
  });
  const rows = (
    report.body as {
      data: {
        dimensions: Record<string, string | null>;
        metrics: { leads_submitted: number; handoffs_created: number };
      }[];
    }
  ).data;
  return Object.fromEntries(
    rows.map(({ dimensions, metrics }) => [
      String(dimensions[by]),
      metrics.leads_submitted + metrics.handoffs_created,
    ]),
  );
};

describe('A source that is live', () => {
  it('A link is live before its first click while it is active, and after a click for the window also when it was stopped', async () => {
    const [used, unused] = [await createShortLink(app, key), await createShortLink(app, key)];
    expect((await ofLink(unused.id)).warnings).toBeUndefined();
    await follow(used);
    for (const { id } of [used, unused]) await stop(id);
    expect((await ofLink(used.id)).warnings).toBeUndefined();
    expect((await ofLink(unused.id)).warnings).toEqual(notLive(unused.id));
    app.clock.advance(30 * DAY_MS - 1);
    expect((await ofLink(used.id)).warnings).toBeUndefined();
    app.clock.advance(1);
    expect((await ofLink(used.id)).warnings).toEqual(notLive(used.id));
  });

  it('A link that expired, or that nobody followed within the window, is not live', async () => {
    const expires_at = new Date(app.clock.now() + DAY_MS).toISOString();
    const expiring = await createShortLink(app, key, { expires_at });
    const lasting = await createShortLink(app, key);
    app.clock.advance(2 * DAY_MS);
    expect((await ofLink(expiring.id)).warnings).toEqual(notLive(expiring.id));
    await follow(lasting);
    app.clock.advance(29 * DAY_MS);
    expect((await ofLink(lasting.id)).warnings).toBeUndefined();
    app.clock.advance(DAY_MS);
    expect((await ofLink(lasting.id)).warnings).toEqual(notLive(lasting.id));
  });

  it('The window is the one that the profile had at the click or when the list was made', async () => {
    const link = await createShortLink(app, key);
    await setDays(7);
    await follow(link);
    const list = await makeList();
    await setDays(1);
    app.clock.advance(6 * DAY_MS);
    expect((await ofLink(link.id)).warnings).toBeUndefined();
    expect((await ofList(list.id)).warnings).toBeUndefined();
    await follow(link);
    const later = await makeList({ link_id: link.id });
    expect(later.warnings).toBeUndefined();
    await setDays(90);
    app.clock.advance(DAY_MS);
    for (const [made, id] of [
      [await ofLink(link.id), link.id],
      [await makeList({ link_id: link.id }), link.id],
      [await ofList(list.id), list.id],
      [await ofList(later.id), later.id],
    ] as const)
      expect(made.warnings).toEqual(notLive(id));
  });

  it('A program that follows a link keeps it live no longer', async () => {
    const link = await createShortLink(app, key);
    await app.send({
      method: 'GET',
      url: `/l/${link.code}`,
      headers: { 'user-agent': 'curl/8.0' },
    });
    await stop(link.id);
    expect((await ofLink(link.id)).warnings).toEqual(notLive(link.id));
  });
});

describe('A source that is not live', () => {
  it('A source that is not live is credited with nothing, and its record and a retry show the warning', async () => {
    const [dead, live] = [
      await createShortLink(app, key, { campaign: 'old' }),
      await createShortLink(app, key, { campaign: 'new' }),
    ];
    await stop(dead.id);
    const input = { external_id: 'crm-1', source: { kind: 'link', ref: dead.id } };
    const payload = { ...input, company: { name: 'Corner Shop', country: 'GB' } };
    const send = () =>
      app.send({
        method: 'POST',
        url: '/api/affiliate/v1/leads',
        key,
        payload,
        headers: { 'idempotency-key': 'lead-1' },
      });
    const lead = await send();
    expect((await send()).text).toBe(lead.text);
    expect(lead.body).toMatchObject({ source: input.source, warnings: notLive(dead.id) });
    const list = await makeList({ link_id: dead.id });
    expect([list.link_id, list.warnings]).toEqual([undefined, notLive(dead.id)]);
    await ofLink(live.id);
    await makeList({ link_id: live.id });
    const agent = mcpAgent(app, key);
    for (const { id } of [lead.body as Made, list])
      expect(await agent.done('get_record', { id })).toMatchObject({ warnings: notLive(dead.id) });
    expect(await counted('link_id')).toMatchObject({ null: 2, [live.id]: 2 });
    expect(await counted('campaign')).toMatchObject({ null: 2, new: 2 });
    expect(await counted('link_id')).not.toHaveProperty(dead.id);
    expect(await counted('campaign')).not.toHaveProperty('old');
  });

  it('A check of a list shows the warnings that its creation would have', async () => {
    const dead = await createShortLink(app, key);
    await stop(dead.id);
    const payload = { idempotency_key: freshKey(), ...LINES, link_id: dead.id };
    const checked = await mcpAgent(app, key).done('create_handoff', {
      ...payload,
      check_only: true,
    });
    expect(checked['warnings']).toEqual(notLive(dead.id));
  });
});

describe('An external_id that is in use', () => {
  const inUse = (id: string) => [{ code: 'external_id_in_use', id }];

  it('A link or handoff with the external_id of another one is accepted with the id of the newest', async () => {
    const link = await createShortLink(app, key, { external_id: 'deal-1' });
    const { key: rival } = await app.agent('rival');
    const theirs = await createShortLink(app, rival, { external_id: 'deal-1' });
    expect(theirs).not.toHaveProperty('warnings');
    const list = await makeList({ external_id: 'deal-1' });
    expect(list.warnings).toEqual(inUse(link.id));
    const again = await post('links', {
      target: { kind: 'product', ref: 'MUG-1' },
      external_id: 'deal-1',
    });
    expect(again.warnings).toEqual(inUse(list.id));
    for (const external_id of ['Deal-1', 'deal-2'])
      expect((await makeList({ external_id })).warnings).toBeUndefined();
  });

  it('Links of one call with one external_id are warned of the first', async () => {
    const target = { kind: 'product', ref: 'MUG-1' };
    const agent = mcpAgent(app, key);
    const input = {
      idempotency_key: freshKey(),
      links: ['a', 'b', 'a'].map((external_id) => ({ target, external_id })),
    };
    const { data } = (await agent.done('create_links', input)) as { data: Made[] };
    expect(data.map(({ warnings }) => warnings)).toEqual([
      undefined,
      undefined,
      inUse(data[0]?.id ?? ''),
    ]);
    expect(await agent.done('create_links', input)).toEqual({ data });
  });
});
