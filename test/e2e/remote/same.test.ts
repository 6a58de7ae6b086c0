/** The same requests, ids and times on the embedded default and on servers. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPE_NAMES } from '#contracts/scopes.ts';
import type { Ids } from '#src/ports/system.ts';
import { untilServed } from '../../support/clients/cli.ts';
import { shareSecrets } from '../../support/world/new-secrets.ts';
import { feedProduct, testApp, type TestApp } from '../../support/world/app.ts';
import { hasRedis, ON_REDIS } from '../../support/redis/redis-server.ts';
import { endRemote, remoteWorld } from '../../support/processes/remote.ts';
import { HANG_MS } from '../../support/hang.ts';

const ROOT_KEY = Buffer.alloc(32, 5).toString('base64');

/** The nth id is the same in every run. */
const countedIds = (): Ids => {
  let [uuids, codes] = [0, 0];
  return {
    uuid() {
      uuids += 1;
      return `01900000-0000-7000-8000-${uuids.toString(16).padStart(12, '0')}`;
    },
    base62(count) {
      codes += 1;
      return codes.toString(36).padStart(count, 'A');
    },
  };
};

type Asked = { method?: 'GET' | 'POST'; url: string; body?: object; accept?: string };

const AGENT = '/api/affiliate/v1';
const DESK = '/api/desk/v1';
const line_items = [{ sku: 'SKU-1', quantity: 48 }];
const contact = { name: 'Ada', email: 'ada@shop.example' };
const consent = { basis: 'consent', obtained_at: '2026-11-01T00:00:00Z' };
const company = { name: 'Corner Shop', country: 'GB' };
const tool = (name: string, asked: object): object => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: asked },
});

const REQUESTS: readonly Asked[] = [
  { url: `${AGENT}/connection` },
  { url: `${AGENT}/products?q=SKU&facets=category` },
  {
    url: `${AGENT}/links`,
    body: { target: { kind: 'product', ref: 'SKU-1' }, campaign: 'autumn' },
  },
  { url: `${AGENT}/links`, body: { target: { kind: 'search', ref: 'mug' }, slug: 'mugs' } },
  { url: `${AGENT}/links`, body: { target: { kind: 'search', ref: 'cup' }, slug: 'mugs' } },
  { url: `${AGENT}/links`, body: { target: { kind: 'nowhere' } } },
  { url: `${AGENT}/handoffs`, body: { title: 'Mugs', line_items, buyer: { note: 'soon' } } },
  { url: `${AGENT}/handoffs`, body: { title: 'Mugs', line_items } },
  { url: `${AGENT}/leads`, body: { external_id: 'crm-1', company, contact, consent } },
  { url: `${AGENT}/leads`, body: { external_id: 'crm-2', company } },
  { url: `${AGENT}/leads`, body: { external_id: 'crm-1', company: { ...company, name: 'Shop' } } },
  { url: `${AGENT}/leads` },
  { url: `${AGENT}/leads?limit=1` },
  { url: `${AGENT}/performance?granularity=week&group_by=campaign` },
  { url: `${AGENT}/performance`, accept: 'text/csv' },
  { url: `${AGENT}/performance?granularity=year` },
  { url: '/api/affiliate/mcp', body: tool('list_leads', {}) },
  { url: '/api/affiliate/mcp', body: tool('search_products', { q: 'SKU' }) },
  { method: 'GET', url: `${DESK}/agents` },
  { method: 'GET', url: `${DESK}/links?owner_id=acme` },
  { method: 'GET', url: `${DESK}/events?owner_id=acme` },
  { method: 'GET', url: `${DESK}/desk-tokens` },
];

/**
 * Masks positions, tokens and cursors, which differ between logs, and sealed texts, which are salted.
 * Everything else must be equal.
 */
const masked = (text: string): string =>
  text
    .replaceAll(/("(?:position|head)":)\d+/g, '$1N')
    .replaceAll(/("(?:next_)?cursor":")[^"]+"/g, '$1C"')
    .replaceAll(/("consistencyToken":")[^"]+"/g, '$1T"')
    .replaceAll(/"s1\.[^"]+"/g, '"SEALED"')
    .replaceAll(/\\"position\\":\d+/g, '\\"position\\":N');

/** With their own idempotency keys, from which ids are derived. */
const prepared = async ({ send, deskToken }: TestApp): Promise<string> => {
  const act = async (path: string, payload: object): Promise<Record<string, string>> => {
    const headers = { 'idempotency-key': `desk:${path}` };
    const said = await send({ method: 'POST', url: DESK + path, key: deskToken, payload, headers });
    expect(said.status, said.text).toBeLessThan(300);
    return said.body;
  };
  await act('/products/import', { products: [feedProduct('SKU-1'), feedProduct('SKU-2')] });
  const agent = { owner_id: 'acme', name: 'A', purpose: 'Tests', scopes: SCOPE_NAMES };
  const { id = '' } = await act('/access-grants', { ...agent, reason: 'Known' });
  return (await act(`/agents/${id}/keys`, {}))['api_key'] ?? '';
};

/** Audit records are written in batches by real time; here after each request. */
const settled = async ({ service }: TestApp): Promise<void> => {
  const { audit, log, following } = service.deps;
  await audit.flush();
  expect(await following.passed((await log.head()).position, HANG_MS)).toBe(true);
};

const told = async (app: TestApp): Promise<string[]> => {
  const key = await prepared(app);
  const answers: string[] = [];
  let token = '';
  for (const [i, { method, url, body, accept }] of REQUESTS.entries()) {
    await settled(app);
    app.clock.advance(60_000);
    const isDesk = url.startsWith(DESK);
    const request = {
      method: method ?? (body ? 'POST' : 'GET'),
      url,
      key: isDesk ? app.deskToken : key,
      ...(body && { payload: body }),
      headers: {
        ...(body && { 'idempotency-key': `r-${i}`, 'content-type': 'application/json' }),
        ...(accept && { accept }),
        ...(!body && !isDesk && token && { 'consistency-token': token }),
      },
    };
    const { status, text, headers } = await untilServed(() => app.send(request));
    token = headers['consistency-token'] ?? token;
    answers.push(`${method ?? ''} ${url}\n${status} ${headers['content-type']}\n${masked(text)}`);
  }
  return answers;
};

describe.skipIf(!hasRedis)(`The embedded default and the servers, ${ON_REDIS}`, () => {
  let embedded: TestApp;
  let remote: TestApp;
  beforeAll(async () => {
    const { log, redis } = await remoteWorld();
    embedded = await testApp({ ROOT_KEY }, { ids: countedIds() });
    await shareSecrets(embedded.directory, { url: log.url, rootKey: ROOT_KEY });
    const urls = { EVENT_LOG_URL: log.url, READ_MODEL_URL: redis.url.href };
    remote = await testApp({ ROOT_KEY, ...urls }, { ids: countedIds() });
  });
  afterAll(async () => {
    await Promise.all([embedded.close(), remote.close()]);
    await endRemote();
  });

  it('The embedded default and the servers give the same answers, byte for byte', async () => {
    const [here, there] = [await told(embedded), await told(remote)];
    expect(here.filter((answer) => /\n20[01] /.test(answer)).length).toBeGreaterThan(15);
    for (const [i, answer] of there.entries()) expect(answer).toBe(here[i]);
  });
});
