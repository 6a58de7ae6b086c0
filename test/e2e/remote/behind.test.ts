/** A process that is behind its log refuses nothing that another one acknowledged, and shows what it acknowledged itself. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DeskOperationId } from '#contracts/registries/desk.ts';
import { POST, message, rpc, sent } from '../../support/clients/a2a.ts';
import { mcpAgent } from '../../support/clients/mcp.ts';
import { PACE } from '../../support/eventstoredb/log-server.ts';
import { endStandIns, standIn, type StandIn } from '../../support/eventstoredb/start.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../../support/world/app.ts';
import { confirmationPath } from '../../support/world/confirmation.ts';
import { APPROVAL_ABOVE, type Asked, atDesk, deskScenes } from '../../support/world/desk-scenes.ts';
import { createShortLink } from '../../support/world/links.ts';
import { configure } from '../../support/world/outreach.ts';
import { people } from '../../support/world/people.ts';

type Answer = { status: number; text: string; headers: Record<string, string> };
/** A use of something that the other process has made. */
type Use = { of: string; ask(): Promise<Answer> };

const AGENT = '/api/affiliate/v1';
const CONNECTION = 'behind';

let log: StandIn;
/** Writes. */
let ahead: TestApp;
/** Receives nothing from the log while it is held. */
let behind: TestApp;
let world: ReturnType<typeof people>;
/** Known to both processes. */
let known: Awaited<ReturnType<TestApp['agent']>>;

const hold = () => log.delivery.hold(CONNECTION);
const release = async (): Promise<void> => {
  await log.delivery.release(CONNECTION);
  await people(behind).caughtUp();
};

beforeAll(async () => {
  log = await standIn({ pace: PACE });
  const app = (connection: string) =>
    testApp({
      EVENT_LOG_URL: `${log.url}&connectionName=${connection}`,
      ROOT_KEY: Buffer.alloc(32, 7).toString('base64'),
      OUTREACH_PER_MINUTE: '100000',
      WRITES_PER_MINUTE: '100000',
      APPROVAL_ABOVE: `${APPROVAL_ABOVE / 100} GBP`,
    });
  ahead = await app('ahead');
  behind = await app(CONNECTION);
  world = people(ahead);
  ahead.service.dispatcher.start();
  await ahead.publish([feedProduct('MUG-1')]);
  await configure(ahead, 'acme');
  known = await ahead.agent('acme');
  // Both processes have the tokens of people who decide.
  for (const one of [ahead, behind])
    for (const path of ['/leads/led_none/approve', '/approvals/out_none/approve'])
      await atDesk(one, { path, body: {} });
  await people(behind).caughtUp();
});
afterAll(async () => {
  await log.delivery.release(CONNECTION);
  await Promise.all([ahead.close(), behind.close()]);
  await endStandIns();
});
beforeEach(release);

const get = (url: string, key?: string): Promise<Answer> =>
  behind.send({ method: 'GET', url, key });
const form = (app: TestApp, url: string, fields: Record<string, string>) =>
  app.send({
    method: 'POST',
    url,
    payload: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    remoteAddress: '198.51.100.7',
  });
const post = (path: string, key: string, payload: object): Promise<Answer> =>
  behind.send({
    method: 'POST',
    url: `${AGENT}/${path}`,
    key,
    payload,
    headers: { 'idempotency-key': freshKey() },
  });
/** An answer of JSON-RPC over HTTP, whose error has the status that REST would answer. */
const statusOf = (answer: { status: number; error?: unknown }, isUnavailable: RegExp): Answer => {
  const text = JSON.stringify(answer);
  const status = answer.error === undefined ? answer.status : isUnavailable.test(text) ? 503 : 400;
  return { status, text, headers: { 'retry-after': '1' } };
};

/** What each kind of caller finds by a code, a token, a key or an id that the other process made a moment ago. */
const lookups = async (): Promise<Use[]> => {
  const link = await createShortLink(ahead, known.key, { slug: 'autumn' });
  const token = await ahead.desk('POST', '/desk-tokens', { name: 'Ada', roles: ['auditor'] });
  const fresh = await ahead.agent('acme');
  const review = await world.handoff(known.key);
  const rfq = await world.rfq(known.key, 'bea@rfq.example');
  const lead = await world.lead(known.key, 'ada@lead.example');
  await form(ahead, '/privacy', { mailbox: 'ada@lead.example' });
  const privacy = await world.mailedPath('ada@lead.example');
  const profile = { name: 'Acme', postal_address: '1 High Street', mailbox: 'office@acme.example' };
  await ahead.desk('POST', '/owners/acme/profile', profile);
  const mailbox = await world.mailedPath('office@acme.example');
  const application = await applicationPath();
  const task = await sent(ahead, known.key, message(POST));
  const { body: product } = await ahead.desk('POST', '/products/import', {
    products: [feedProduct('MUG-2')],
  });
  expect(product).toMatchObject({ rejected: [] });
  const found = await ahead.send({
    method: 'GET',
    url: `${AGENT}/products?q=MUG-2`,
    key: known.key,
  });
  const productId = (found.body as { data: { id: string }[] }).data[0]?.id ?? '';
  const path = new URL(link.short_url).pathname;
  const desk =
    (to: string): Use['ask'] =>
    () =>
      get(`/api/desk/v1${to}`, behind.deskToken);
  return [
    { of: 'a short link', ask: () => get(path) },
    { of: 'the slug of a link', ask: () => get('/l/autumn') },
    { of: 'the picture of a link', ask: () => get(`${path}/qr.svg`) },
    { of: 'a product', ask: () => get(`/p/${productId}`) },
    { of: 'a link to a product', ask: () => post('links', known.key, target('MUG-2')) },
    { of: 'a lead from a link', ask: () => post('leads', known.key, leadFrom(link.id)) },
    { of: 'a key', ask: () => get(`${AGENT}/connection`, fresh.key) },
    {
      of: 'a desk token',
      ask: () => get('/api/desk/v1/links?owner_id=acme', (token.body as { token: string }).token),
    },
    { of: 'a list', ask: () => get(new URL(review.review_url).pathname) },
    { of: 'a request', ask: async () => get(await confirmationPath(ahead, { id: rfq })) },
    { of: 'a page about personal data', ask: () => get(privacy) },
    { of: 'the mailbox of an owner', ask: () => get(mailbox) },
    { of: 'an application', ask: () => get(application) },
    { of: 'a lead at the desk', ask: desk(`/leads/${lead}?owner_id=acme`) },
    { of: 'a lead at the desk, by its id alone', ask: desk(`/plans/${lead}`) },
    { of: 'an RFQ at the desk', ask: desk(`/handoffs/${rfq}/rfq`) },
    { of: 'the history of a record', ask: desk(`/audit/trace/${lead}`) },
    {
      of: 'a resource of MCP',
      async ask() {
        const uri = `tributary://leads/${lead}`;
        const { status, body } = await mcpAgent(behind, known.key).legacy('resources/read', {
          uri,
        });
        return statusOf({ status, error: body.error }, /read_model|retry/i);
      },
    },
    {
      of: 'a task of A2A',
      ask: async () =>
        statusOf(await rpc(behind, known.key, 'GetTask', { id: task.id }), /UNAVAILABLE|REBUILD/i),
    },
  ];
};
const target = (ref: string) => ({ target: { kind: 'product', ref } });
const leadFrom = (ref: string) => ({
  external_id: freshKey(),
  company: { name: 'Shop', country: 'GB' },
  source: { kind: 'link', ref },
});
const applicationPath = async (): Promise<string> => {
  await form(ahead, '/apply', {
    name: 'Ada',
    postal_address: '1 High Street',
    mailbox: 'ada@newcomer.example',
    owner_id: 'newcomer',
    agent_name: 'Letters',
    purpose: 'Our letter',
    scopes: 'products:read',
  });
  return world.mailedPath('ada@newcomer.example');
};

/** Asks all at once while the process is behind; returns what it refused for good. */
const refusedWhileBehind = async (uses: readonly Use[]): Promise<string[]> => {
  const answers = await Promise.all(uses.map(async ({ of, ask }) => ({ of, ...(await ask()) })));
  return answers.flatMap(({ of, status, text, headers }) =>
    status < 400 || (status === 503 && headers['retry-after'] !== undefined)
      ? []
      : [`${of}: ${status} ${text.slice(0, 300)}`],
  );
};
/** Asks one after the other once the process has caught up; returns what it refused. */
const refusedAfterwards = async (uses: readonly Use[]): Promise<string[]> => {
  const refused: string[] = [];
  for (const { of, ask } of uses) {
    const { status, text } = await ask();
    if (status >= 400) refused.push(`${of}: ${status} ${text.slice(0, 300)}`);
  }
  return refused;
};

describe('A process that is behind its log', () => {
  it('A process that is behind its log refuses nothing for good that another process has made, whoever looks for it', async () => {
    await hold();
    const uses = await lookups();
    expect(await refusedWhileBehind(uses)).toEqual([]);
    await release();
    expect(await refusedAfterwards(uses)).toEqual([]);
  });

  it('A process that is behind its log refuses no command of the desk for good on what another process has done', async () => {
    const scenes = deskScenes(ahead, known.key);
    const uses: Use[] = [];
    await hold();
    for (const [id, make] of Object.entries({ ...scenes.shownOnce, ...scenes.repeated })) {
      if (APART.has(id as DeskOperationId)) continue;
      // An earlier scene may have changed who decides on outreach.
      await configure(ahead, 'acme');
      const { first, later } = await make();
      const answer = await atDesk(ahead, first);
      expect(answer.status, `${id} ${answer.text}`).toBeLessThan(300);
      const asked: Asked = later((answer.body as { id: string }).id);
      const key = freshKey();
      uses.push({ of: id, ask: () => atDesk(behind, asked, key) });
    }
    expect(await refusedWhileBehind(uses)).toEqual([]);
    await release();
    expect(await refusedAfterwards(uses)).toEqual([]);
  });

  it('A process that is behind its log refuses no agent for good whose scopes or state another process has changed', async () => {
    const narrow = await ahead.agent('acme', ['products:read']);
    const suspended = await ahead.agent('acme');
    await ahead.desk('POST', `/agents/${suspended.agentId}/suspend`, { reason: 'Checked' });
    await people(behind).caughtUp();
    await hold();
    const access = { owner_id: 'acme', agent_id: narrow.agentId, name: 'A', purpose: 'P' };
    const wider = { ...access, scopes: ['products:read', 'leads:read'], reason: 'Known' };
    await ahead.desk('POST', '/access-grants', wider);
    await ahead.desk('POST', `/agents/${suspended.agentId}/reinstate`, { reason: 'Fine' });
    const uses: Use[] = [
      { of: 'a new scope', ask: () => get(`${AGENT}/leads`, narrow.key) },
      { of: 'a new scope over MCP', ask: async () => calledOver(narrow.key) },
      { of: 'a reinstated agent', ask: () => get(`${AGENT}/leads`, suspended.key) },
    ];
    expect(await refusedWhileBehind(uses)).toEqual([]);
    await release();
    expect(await refusedAfterwards(uses)).toEqual([]);
  });
  const calledOver = async (key: string): Promise<Answer> => {
    const { status, body } = await mcpAgent(behind, key).legacy('tools/call', {
      name: 'list_leads',
      arguments: {},
    });
    const isError = body.error !== undefined || body.result?.isError === true;
    return statusOf(
      { status, ...(isError && { error: body }) },
      /read_model_rebuilding|"retryable":true/,
    );
  };

  it('A process that is behind its log refuses for good what the log does not have either, once it has caught up', async () => {
    for (const [url, key] of [['/l/nowhere'], [`${AGENT}/connection`, unknownKey()]] as const)
      expect((await get(url, key)).status).toBe(key === undefined ? 404 : 401);
    await hold();
    await createShortLink(ahead, known.key);
    expect((await get('/l/nowhere')).status).toBe(503);
  });
  const unknownKey = (): string =>
    `${known.key.slice(0, -1)}${known.key.endsWith('a') ? 'b' : 'a'}`;

  it('A process that is behind its log finds all records of a person, or asks to wait', async () => {
    await hold();
    const lead = await world.lead(known.key, 'eve@found.example');
    const acts = ['find', 'export', 'erase'].map(
      (act) => () => people(behind).act(act, 'eve@found.example'),
    );
    for (const act of acts) expect((await act()).status).toBe(503);
    await release();
    for (const act of acts) {
      const { status, text } = await act();
      expect([status, text]).toEqual([200, expect.stringContaining(lead)]);
    }
  });

  it('A process that is behind its log shows each reader what it has acknowledged, or asks to wait', async () => {
    await hold();
    const lead = leadFrom('none');
    const { source: _source, ...body } = lead;
    expect((await post('leads', known.key, body)).status).toBe(201);
    const lists: Use[] = [
      { of: 'the agent', ask: () => get(`${AGENT}/leads`, known.key) },
      { of: 'the desk', ask: () => get('/api/desk/v1/leads', behind.deskToken) },
    ];
    for (const { of, ask } of lists) expect((await ask()).status, of).toBe(503);
    await log.delivery.release(CONNECTION);
    for (const { of, ask } of lists) {
      const { status, text } = await ask();
      expect(status, of).toBe(200);
      expect(text, of).toContain(body.external_id);
    }
  });
});

/** The clock, fills and held builds belong to the process; what is approved is sent meanwhile, so that it cannot be cancelled afterwards. */
const APART: ReadonlySet<DeskOperationId> = new Set([
  'acceptClock',
  'approveOutbound',
  'limitFills',
]);
