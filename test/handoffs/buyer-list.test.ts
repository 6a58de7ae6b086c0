/** Lists that visitors make on landing pages: their address, what is stored, and who is credited. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DIRECT_OWNER, ownerId } from '#contracts/fields.ts';
import { LIMITS } from '#contracts/limits.ts';
import { findHandoff } from '#src/handoffs/review.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { confirmRfq } from '../support/world/confirmation.ts';
import { BROWSER, createShortLink, splitLanding } from '../support/world/links.ts';

const MANY = LIMITS.LIST_LINES_MAX + 1;
const WINDOW_MS = LIMITS.ATTRIBUTION_DAYS * 86_400_000;

let app: TestApp;
let key: string;
let agentId: string;
/** Ids of products, without their prefix, by SKU. */
let ids: ReadonlyMap<string, string>;

beforeAll(async () => {
  app = await testApp();
  ({ key, agentId } = await app.agent('acme'));
  await app.publish([
    feedProduct('MUG-1', { title: 'Blue <mug>' }),
    ...Array.from({ length: MANY }, (_, n) => feedProduct(`CUP-${n}`)),
  ]);
  const found = await app.send({ method: 'GET', url: '/api/affiliate/v1/products?limit=100', key });
  const { data } = found.body as { data: { id: string; sku: string }[] };
  ids = new Map(data.map(({ id, sku }) => [sku, id.slice('prd_'.length)]));
});
afterAll(() => app.close());

let networks = 0;
/** Sends from a network of its own, unless `address` names one. */
const send = (
  method: 'GET' | 'POST',
  url: string,
  { fields, headers = {}, address }: { fields?: string; headers?: object; address?: string } = {},
) =>
  app.send({
    method,
    url,
    remoteAddress: address ?? `192.0.${(networks += 1) >> 8}.${networks & 255}`,
    headers: {
      'user-agent': BROWSER,
      ...(fields !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      ...headers,
    },
    ...(fields !== undefined && { payload: fields }),
  });

const get = (url: string) => send('GET', url);
const id = (sku: string): string => ids.get(sku) ?? '';
const list = (...lines: [sku: string, quantity: number][]): string =>
  lines.map(([sku, quantity]) => `${id(sku)}~${quantity}`).join('.');

/** Clicks a link and returns its token. */
const click = async (as = key, body: object = {}): Promise<string> => {
  const { code } = await createShortLink(app, as, body);
  return splitLanding(await get(`/l/${code}`)).token ?? '';
};

let forms = 0;
const onceOf = (): string => `form${(forms += 1)}`.padEnd(22, 'x');

const review = (
  lines: string,
  tokens: readonly string[] = [],
  { once = onceOf(), ...options }: { once?: string; headers?: object; address?: string } = {},
) => {
  const fields = new URLSearchParams([
    ['list', lines],
    ['once', once],
    ...tokens.map((token) => ['attribution', token]),
  ]);
  return send('POST', '/h', { fields: fields.toString(), ...options });
};

const created = async () =>
  (
    await app.service.deps.log.readAll({ after: 0, limit: 100_000, types: ['BuyerListCreated'] })
  ).map(({ stream, data, meta }) => ({ stream, meta, data: data as Record<string, unknown> }));

const metric = async (as: string, name: string): Promise<number> => {
  const { following, log } = app.service.deps;
  await following.passed((await log.head()).position, 60_000);
  const answer = await app.send({ method: 'GET', url: '/api/affiliate/v1/performance', key: as });
  return (answer.body as { totals: Record<string, number> }).totals[name] ?? -1;
};

describe('The list of a visitor', () => {
  it("A visitor's list is in the address of the pages until it is reviewed, and stores nothing", async () => {
    const token = await click();
    const before = (await app.service.deps.log.head()).position;
    const product = await get(`/p/prd_${id('MUG-1')}?attribution=${token}`);
    expect(product.text).toContain('Add to my list');
    const query = `attribution=${token}&list=${list(['CUP-1', 4])}`;
    const added = await get(`/p/prd_${id('MUG-1')}?${query}&quantity=48`);
    const path = `/list?attribution=${token}&list=${list(['CUP-1', 4], ['MUG-1', 48])}`;
    expect(added).toMatchObject({ status: 303, headers: { location: path } });
    const page = await get(path);
    expect(page).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    for (const part of ['Blue &lt;mug&gt;', '£95.52', 'Product CUP-1', 'Promoted by', 'Review'])
      expect(page.text).toContain(part);
    expect(page.text).toContain(`/list?attribution=${token}&amp;list=${list(['CUP-1', 4])}"`);
    expect((await get(`/s?q=mug&${query}`)).text).toContain('Your list: 1 product');
    const again = await get(`/p/prd_${id('MUG-1')}?list=${list(['MUG-1', 48])}&quantity=6`);
    expect(again.headers['location']).toBe(`/list?list=${list(['MUG-1', 6])}`);
    expect((await app.service.deps.log.head()).position).toBe(before);
  });

  it("A visitor's list refuses an invalid quantity, and more products than the limit", async () => {
    const path = `/p/prd_${id('MUG-1')}`;
    for (const quantity of ['', '0', '-1', '1.5', '1e3', 'many', '100000001', '9'.repeat(30)]) {
      const page = await get(`${path}?quantity=${quantity}`);
      expect([quantity, page.status]).toEqual([quantity, 422]);
      expect(page.text).toContain('Enter a whole number from 1');
    }
    const full = Array.from({ length: MANY }, (_, n): [string, number] => [`CUP-${n}`, 4]);
    const most = list(...full.slice(0, LIMITS.LIST_LINES_MAX));
    const more = await get(`${path}?list=${most}&quantity=4`);
    expect([more.status, more.text.includes('A list has at most 50 products')]).toEqual([
      422,
      true,
    ]);
    const { text } = await get(`/list?list=${list(...full)}`);
    expect(text.match(/>Remove</g)).toHaveLength(LIMITS.LIST_LINES_MAX);
  });

  it("A visitor's list ignores what is malformed in its address", async () => {
    const whole = list(['MUG-1', 4]);
    for (const other of [
      '',
      '.',
      'x~1',
      `${'0'.repeat(24)}~0`,
      '~',
      '%00',
      '%ff',
      'x'.repeat(900),
    ]) {
      const page = await get(`/list?list=${whole}.${other}`);
      expect([other, page.status, page.text.match(/>Remove</g)?.length]).toEqual([other, 200, 1]);
    }
    expect((await get('/list')).text).toContain('The list is empty.');
    const gone = await get(`/list?list=${'0'.repeat(24)}~4.${whole}`);
    expect(gone.text).toContain('1 product is no longer offered');
  });
});

describe('Review', () => {
  it('Review lets the buyer add a product to a list with fewer than 50 lines', async () => {
    const full = Array.from({ length: LIMITS.LIST_LINES_MAX }, (_, n): [string, number] => [
      `CUP-${n}`,
      4,
    ]);
    const path = (await review(list(...full))).headers['location'] ?? '';
    const change = (fields: Record<string, string>) =>
      send('POST', `${path}/quantities`, { fields: new URLSearchParams(fields).toString() });
    const add = `prd_${id('MUG-1')}`;
    const refused = await change({ list_revision: '1', add });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('A list has at most 50 lines');
    expect((await change({ list_revision: '1', 'quantity.1': '0' })).status).toBe(303);
    const added = await change({ list_revision: '2', add });
    expect(added.status).toBe(200);
    expect(added.text).toContain('id="quantity.51"');
  });

  it('Review stores the list for the owner of its token, counts it, and leads to its page', async () => {
    const { id: linkId } = await createShortLink(app, key, { campaign: 'autumn' });
    const token = await click(key, { campaign: 'autumn', sub_ids: ['s1'] });
    const before = await metric(key, 'lists_created');
    const answer = await review(list(['MUG-1', 48], ['CUP-1', 4]), [token]);
    expect(answer).toMatchObject({ status: 303, headers: { 'cache-control': 'no-store' } });
    const path = answer.headers['location'] ?? '';
    expect(path).toMatch(/^\/h\/[0-9a-f]{40}$/);
    const event = (await created()).at(-1);
    expect(event?.stream).toMatch(/^acme-handoff_/);
    expect(event?.meta).toMatchObject({ actor: 'buyer', surface: 'portal' });
    expect(event?.data).toMatchObject({
      agent_id: agentId,
      dims: { campaign: 'autumn', sub_ids: ['s1'] },
      totals: [{ amount: 48 * 199 + 4 * 250, currency: 'GBP' }],
    });
    expect(event?.data['link_id']).not.toBe(linkId);
    expect(JSON.stringify(event)).not.toContain(path.slice('/h/'.length));
    const page = await get(path);
    expect(page.text).toMatch(/You made this list\s+after you followed a link/);
    expect(page.text).not.toContain('Prepared by');
    expect(await metric(key, 'lists_created')).toBe(before + 1);
    expect(await metric(key, 'handoffs_created')).toBe(0);
  });

  it('Review continues as the review page: the buyer sends the RFQ, which is credited', async () => {
    const { key: as } = await app.agent('sender');
    const path = (await review(list(['MUG-1', 4]), [await click(as)])).headers['location'] ?? '';
    const fields = new URLSearchParams({
      list_revision: '1',
      'quantity.1': '48',
      totals: 'GBP:9552',
      name: 'Bea Buyer',
      email: 'bea@shop.example',
      consent: 'yes',
    });
    const sent = await send('POST', `${path}/send`, { fields: fields.toString() });
    expect(sent.status).toBe(303);
    expect((await get(path)).text).toContain('Look into your mailbox');
    const row = await findHandoff(app.service.deps, path.slice('/h/'.length));
    await confirmRfq(app, { id: row?.handoff_id ?? '', ownerId: 'sender' });
    expect((await get(path)).text).toContain('Your request was sent');
    expect(await metric(as, 'rfqs_submitted')).toBe(1);
    expect(await metric(as, 'handoffs_opened')).toBe(0);
  });

  it('Review makes one list of a form that is sent twice, even at once', async () => {
    const token = await click();
    const form = { once: onceOf() };
    const lines = list(['MUG-1', 4]);
    const before = (await created()).length;
    const answers = await Promise.all([1, 2, 3].map(() => review(lines, [token], form)));
    const paths = answers.map(({ headers }) => headers['location']);
    expect(new Set(paths).size).toBe(1);
    const direct = await Promise.all([1, 2].map(() => review(lines, [], form)));
    expect(new Set(direct.map(({ headers }) => headers['location'])).size).toBe(1);
    expect((await created()).length).toBe(before + 2);
  });

  it('Review makes at most five lists after one visit, even at once', async () => {
    const token = await click();
    const before = (await created()).length;
    const tries = Array.from({ length: LIMITS.LISTS_PER_VISIT_MAX + 3 }, () =>
      review(list(['MUG-1', 4]), [token]),
    );
    const statuses = (await Promise.all(tries)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 303)).toHaveLength(LIMITS.LISTS_PER_VISIT_MAX);
    expect(statuses.filter((status) => status === 409)).toHaveLength(3);
    expect((await created()).length).toBe(before + LIMITS.LISTS_PER_VISIT_MAX);
    expect((await review(list(['MUG-1', 4]), [await click()])).status).toBe(303);
  });

  it('Review credits no promoter without a valid token', async () => {
    const token = await click();
    const [header = '', payload = '', signature = ''] = token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    const forged = Buffer.from(JSON.stringify({ ...claims, owner_id: 'rival' }));
    const before = await metric(key, 'lists_created');
    const invalid = [
      [],
      ['x'],
      [`${header}.${forged.toString('base64url')}.${signature}`],
      [`${header}.${payload}.`],
      [token.slice(0, -4)],
      // The first value counts, so an appended token has no effect.
      ['a.b.c', token],
    ];
    for (const tokens of invalid) {
      expect((await review(list(['MUG-1', 4]), tokens)).status).toBe(303);
      const event = (await created()).at(-1);
      expect(event?.stream.startsWith(`${DIRECT_OWNER}-handoff_`)).toBe(true);
      expect(event?.data).toMatchObject({ agent_id: 'none', dims: {} });
      expect(event?.data).not.toHaveProperty('visit_id');
    }
    expect(await metric(key, 'lists_created')).toBe(before);
    app.clock.advance(WINDOW_MS);
    const path = (await review(list(['MUG-1', 4]), [token])).headers['location'] ?? '';
    expect((await created()).at(-1)?.stream.startsWith(DIRECT_OWNER)).toBe(true);
    expect((await get(path)).text).toMatch(/You made this list\s*\./);
    expect(ownerId.safeParse(DIRECT_OWNER).success).toBe(false);
  });

  it('Review records other visits of the same owner, and no visit of another owner', async () => {
    const { key: rival } = await app.agent('rival');
    const [first, second, other] = [await click(), await click(), await click(rival)];
    await review(list(['MUG-1', 4]), [first, second, other, first]);
    const event = (await created()).at(-1);
    expect(event?.stream.startsWith('acme-')).toBe(true);
    expect(event?.data['alternatives']).toHaveLength(1);
    expect(JSON.stringify(event)).not.toContain('rival');
    await review(list(['MUG-1', 4]), [other]);
    expect((await created()).at(-1)?.stream.startsWith('rival-')).toBe(true);
  });

  it('Review refuses agents, other sites, malformed forms and too many lists of one network', async () => {
    const lines = list(['MUG-1', 4]);
    const before = (await created()).length;
    const as = { authorization: `Bearer ${key}` };
    expect((await review(lines, [], { headers: as })).status).toBe(403);
    const foreign = { origin: 'https://other.example' };
    expect((await review(lines, [], { headers: foreign })).status).toBe(403);
    for (const [malformed, once] of [
      ['', onceOf()],
      ['x', onceOf()],
      [lines, ''],
      [lines, 'x'.repeat(23)],
      [lines, 'ü'.repeat(22)],
    ] as const)
      expect((await review(malformed, [], { once })).status).toBe(422);
    expect((await send('POST', '/h', { fields: '' })).status).toBe(422);
    expect((await get('/h')).status).toBe(405);
    expect((await created()).length).toBe(before);
    const address = '198.51.100.7';
    const statuses = [];
    for (let n = 0; n <= LIMITS.LISTS_PER_MINUTE; n += 1)
      statuses.push((await review(lines, [], { address })).status);
    expect(statuses.filter((status) => status === 303)).toHaveLength(LIMITS.LISTS_PER_MINUTE);
    expect(statuses.at(-1)).toBe(429);
  });

  it('Review hides the link and the lines of the list from the agent', async () => {
    const path = (await review(list(['MUG-1', 4]), [await click()])).headers['location'] ?? '';
    const handoffId = String((await created()).at(-1)?.data['handoff_id']);
    const uri = (name: string) => `tributary://handoffs/${name}`;
    const payload = (name: string) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'resources/read',
      params: { uri: uri(name) },
    });
    const read = async (name: string) =>
      (await app.send({ method: 'POST', url: '/api/affiliate/mcp', key, payload: payload(name) }))
        .text;
    expect(await read(handoffId)).toContain('resource_not_found');
    const ref = { type: 'ref/resource', uri: uri('{id}') };
    const params = { ref, argument: { name: 'id', value: handoffId.slice(0, -1) } };
    const completed = await app.send({
      method: 'POST',
      url: '/api/affiliate/mcp',
      key,
      payload: { ...payload(''), method: 'completion/complete', params },
    });
    expect(completed.text).toContain('"completion":{"values":[]');
    const made = await app.send({
      method: 'POST',
      url: '/api/affiliate/v1/handoffs',
      key,
      payload: { title: 'Mugs', line_items: [{ sku: 'MUG-1', quantity: 4 }] },
      headers: { 'idempotency-key': freshKey() },
    });
    const own = (made.body as { id: string }).id;
    expect(await read(own)).toContain(own);
    const listed = await app.desk('GET', '/handoffs?owner_id=acme');
    const { data } = listed.body as { data: Record<string, unknown>[] };
    const row = data.find(({ id: name }) => name === handoffId);
    expect(row).toMatchObject({ id: handoffId, made_by_buyer: true, lines: 1 });
    expect(listed.text).not.toContain(path.slice('/h/'.length));
    expect(row).not.toHaveProperty('line_items');
  });
});
