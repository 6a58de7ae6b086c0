/** What people of a promoter do on its pages: links, lists, agents, keys, outreach and people. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { type Browsing, invite, settled, signedInAs } from '../support/world/browsing.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { createShortLink } from '../support/world/links.ts';
import { configure, person } from '../support/world/outreach.ts';
import { people } from '../support/world/people.ts';

let app: TestApp;
let owner: Browsing;
let other: Browsing;
let agent: { key: string; agentId: string; keyId: string };

beforeAll(async () => {
  app = await testApp();
  await app.publish([feedProduct('MUG-1')]);
  await configure(app, 'acme');
  await configure(app, 'rival');
});
afterAll(() => app.close());

beforeEach(async () => {
  agent = await app.agent('acme');
  owner = await signedInAs(app, await invite(app, ['owner'], { owners: ['acme'] }));
  other = await signedInAs(app, await invite(app, ['owner'], { owners: ['acme', 'rival'] }));
  await settled(app);
});

const works = async (key: string): Promise<number> =>
  (await app.send({ url: '/api/affiliate/v1/connection', key })).status;

/** Presses a button of a page, and reads the page that it leads to. */
const act = async (page: string, name: string, form: Record<string, string> = {}) => {
  const pressed = await owner.press(page, `${page}/${name}`, form);
  if (pressed.status !== 303) return pressed;
  await settled(app);
  return owner.get(pressed.to ?? '');
};

describe('An agent on its page', () => {
  it('Its owner suspends and reinstates it, and each page says what was done', async () => {
    const page = `/o/acme/agents/${agent.agentId}`;
    const refused = await act(page, 'suspend');
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('role="alert"');
    expect(await works(agent.key)).toBe(200);
    const suspended = await act(page, 'suspend', { reason: 'It talks too much' });
    expect(suspended.text).toContain('The agent is suspended.');
    expect(suspended.text).toContain('It talks too much');
    expect(await works(agent.key)).toBe(403);
    expect((await act(page, 'reinstate', { reason: 'It is sorry' })).text).toContain(
      'The agent is reinstated.',
    );
    expect(await works(agent.key)).toBe(200);
  });

  it('What it did has its reads, its refusals and what it wrote, with the last use of its key', async () => {
    const link = await createShortLink(app, agent.key);
    await app.send({ url: '/api/affiliate/v1/connection', key: agent.key });
    await app.service.deps.audit.flush();
    await settled(app);
    const { text } = await owner.get(`/o/acme/agents/${agent.agentId}`);
    expect(text).toContain('Get connection');
    expect(text).toContain(`<a href="/o/acme/links/${link.id}">Link created</a>`);
    expect(text).not.toContain('not among the acts below');
    expect((await owner.get(`/o/acme/keys/${agent.keyId}`)).text).toContain('Last use');
  });

  it('It is not on the pages of another promoter, even for a person of both', async () => {
    for (const path of [`agents/${agent.agentId}`, `keys/${agent.keyId}`])
      expect((await other.get(`/o/rival/${path}`)).status, path).toBe(404);
  });
});

describe('The keys of an agent', () => {
  it('A new key is shown once, with what to do with it, and a second press shows none', async () => {
    const page = `/o/acme/agents/${agent.agentId}`;
    const { text: before } = await owner.get(page);
    const key = /action="[^"]*\/issue"[^]*?name="key" value="([^"]+)"/.exec(before)?.[1] ?? '';
    const form = { key, environment: 'live', expires_in_days: '30' };
    const { status, text, headers } = await act(page, 'issue', form);
    expect(status).toBe(200);
    expect(headers['cache-control']).toBe('no-store');
    const [issued = ''] = /trb_live_[0-9A-Za-z_]+/.exec(text) ?? [];
    expect(await works(issued)).toBe(200);
    for (const line of [
      `SERVICE_API_KEY=${issued}`,
      `curl -s https://t.example/api/affiliate/v1/connection -H &quot;Authorization: Bearer ${issued}&quot;`,
      `claude mcp add --transport http tributary https://t.example/api/affiliate/mcp --header &quot;Authorization: Bearer ${issued}&quot;`,
    ])
      expect(text).toContain(`<code>${line}</code>`);
    const again = await act(page, 'issue', form);
    expect(again.status).toBe(409);
    expect(again.text).toContain('shown once');
    expect(again.text).not.toContain(issued);
  });

  it('A key is rolled with an overlap and then revoked, and wrong hours keep what was typed', async () => {
    const page = `/o/acme/keys/${agent.keyId}`;
    const wrong = await act(page, 'roll', { overlap_hours: '1000', expires_in_days: '30' });
    expect(wrong.status).toBe(422);
    expect(wrong.text).toContain('value="1000"');
    const rolled = await act(page, 'roll', { overlap_hours: '1', expires_in_days: '30' });
    const [issued = ''] = /trb_live_[0-9A-Za-z_]+/.exec(rolled.text) ?? [];
    expect(await works(issued)).toBe(200);
    expect(await works(agent.key)).toBe(200);
    const { text } = await owner.get(page);
    expect(text).toContain('replaced, works for a while');
    expect(text).not.toContain('Roll this key');
    expect((await act(page, 'revoke', { reason: 'Seen in a log' })).text).toContain(
      'The key is revoked.',
    );
    expect(await works(agent.key)).toBe(401);
  });

  it('A key is issued only after a fresh sign-in, to which the form of an hour ago leads', async () => {
    app.clock.advance((LIMITS.FRESH_SIGN_IN_MINUTES + 1) * 60_000);
    const pressed = await act(`/o/acme/agents/${agent.agentId}`, 'issue', {
      environment: 'live',
      expires_in_days: '30',
    });
    expect(pressed.text).not.toContain('trb_live_');
    expect(pressed.text).toContain('Sign in again');
  });
});

describe('A link and a list', () => {
  it('A link is stopped once: its page says so, without a QR code, and leads nowhere', async () => {
    const link = await createShortLink(app, agent.key);
    await settled(app);
    const page = `/o/acme/links/${link.id}`;
    expect((await owner.get(page)).text).toContain(`src="/l/${link.code}/qr.svg"`);
    const { text: stale } = await owner.get(page);
    const stopped = await act(page, 'stop', { reason: 'Recalled' });
    expect(stopped.text).toContain('The link is stopped.');
    expect(stopped.text).toContain('There is no QR code');
    expect(stopped.text).not.toContain('Stop this link');
    const fields = [...stale.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
      ([, name = '', value = '']) => [name, value],
    );
    const late = await owner.post(`${page}/stop`, {
      ...Object.fromEntries(fields.slice(1)),
      reason: 'Again',
    });
    expect([303, 409]).toContain(late.status);
    expect((await owner.get(page)).text).toContain('stopped');
  });

  it('A list is withdrawn with its reason, and its history says by whom it was made', async () => {
    const { id } = await people(app).handoff(agent.key);
    await settled(app);
    const page = `/o/acme/lists/${id}`;
    expect((await owner.get(page)).text).toMatch(/List created[^]*?Test agent/);
    const { text } = await act(page, 'withdraw', { reason: 'Wrong prices' });
    expect(text).toContain('The list is withdrawn.');
    expect(text).toContain('Reason: Wrong prices');
    expect((await owner.get('/o/acme/lists')).text).toContain('withdrawn');
  });
});

describe('The profile of a promoter', () => {
  it('An owner invites a colleague, who is listed, and ends the access again', async () => {
    const form = { name: 'Willa Wood', mailbox: 'willa@acme.example' };
    expect((await act('/o/acme/profile', 'invite', form)).text).toContain(
      'The invitation is mailed.',
    );
    const { text } = await owner.get('/o/acme/profile');
    const [, path = ''] = /href="(\/o\/acme\/people\/[^"]+)">Willa Wood/.exec(text) ?? [];
    expect((await owner.get(path)).text).toContain('willa@acme.example');
    expect((await act(path, 'end', { reason: 'Left' })).text).toContain('The access has ended.');
    expect((await other.get(path.replace('acme', 'rival'))).status).toBe(404);
  });

  it('An owner sets automatic deliveries and halts outreach, and a wrong number is kept', async () => {
    const page = '/o/acme/profile';
    const wrong = await act(page, 'automatic', { per_day: 'many' });
    expect(wrong.status).toBe(422);
    expect(wrong.text).toContain('value="many"');
    expect((await act(page, 'automatic', { per_day: '3' })).text).toContain('Saved.');
    expect((await act(page, 'halt', { reason: 'Wrong text' })).text).toContain(
      'Halted: Wrong text.',
    );
    expect((await owner.get(page)).text).not.toContain('Halt all outreach');
  });
});

it('Two people who suspend one agent at once both find it suspended', async () => {
  const page = `/o/acme/agents/${agent.agentId}`;
  const pressed = await Promise.all(
    [owner, other].map((one) => one.press(page, `${page}/suspend`, { reason: 'Both of us' })),
  );
  await settled(app);
  for (const { to = '' } of pressed)
    expect((await owner.get(to)).text).toContain('The agent is suspended.');
});

describe('A new agent', () => {
  it('Its owner asks for it on a page, and for more on its own; staff decide', async () => {
    const refused = await act('/o/acme/agents', 'request', {
      name: 'Blog agent',
      purpose: 'Blogs.',
    });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('<a href="#request-scopes">');
    expect(refused.text).toContain('value="Blog agent"');
    const asked = {
      name: 'Blog agent',
      purpose: 'Finds gifts.\r\nWrites.',
      'scope_links:write': 'on',
    };
    expect((await act('/o/acme/agents', 'request', asked)).text).toContain(
      'Staff have the request.',
    );
    const listed = await app.desk('GET', '/access-requests?owner_id=acme');
    const [request] = (listed.body as { data: { agent_id: string; purpose: string }[] }).data;
    expect(request).toMatchObject({ name: 'Blog agent', purpose: 'Finds gifts.\nWrites.' });
    const page = `/o/acme/agents/${agent.agentId}`;
    expect((await owner.get(page)).text).toMatch(/value="products:read" checked/);
    const more = { name: 'Agent', purpose: 'Tests', 'scope_social:write': 'on' };
    expect((await act(page, 'request', more)).text).toContain('social:write');
  });
});

describe('The profile', () => {
  const PROFILE = {
    name: 'Acme Ltd',
    postal_address: '1 High Street\r\nLondon',
    mailbox: 'office@acme.example',
    stale_stock_days: '14',
    fallback_kind: 'search',
    fallback_ref: 'mugs',
  };
  const read = async () => (await app.desk('GET', '/owners/acme/profile')).body;

  it('Its owner sets it on a page, and keeps how long clicks count, which only staff change', async () => {
    const { fallback_kind: _kind, fallback_ref: _ref, ...plain } = PROFILE;
    const given = {
      ...plain,
      postal_address: 'London',
      stale_stock_days: 14,
      attribution_days: 60,
    };
    await app.desk('POST', '/owners/acme/profile', given);
    await settled(app);
    const saved = await act('/o/acme/profile', 'set', { ...PROFILE, name: 'Acme Gifts Ltd' });
    expect(saved.text).toContain('The profile is saved.');
    expect(await read()).toMatchObject({
      name: 'Acme Gifts Ltd',
      postal_address: '1 High Street\nLondon',
      attribution_days: 60,
      fallback: { kind: 'search', ref: 'mugs' },
      record_answers: 'off',
    });
    await act('/o/acme/profile', 'set', { ...PROFILE, record_answers: 'on' });
    expect(await read()).toMatchObject({ record_answers: 'on' });
    expect((await owner.get('/o/acme/profile')).text).toMatch(/value="on" selected/);
    // A client that does not know the setting leaves it as it is.
    await act('/o/acme/profile', 'set', PROFILE);
    expect(await read()).toMatchObject({ record_answers: 'on' });
    const token = await person(app, ['owner'], 'acme');
    const body = { ...given, attribution_days: 90 };
    const path = '/api/desk/v1/owners/acme/profile';
    const headers = { 'idempotency-key': 'more-days' };
    const more = await app.send({ method: 'POST', url: path, key: token, payload: body, headers });
    expect(more.body).toMatchObject({ errors: [{ pointer: '/attribution_days' }] });
    expect(await read()).toMatchObject({ attribution_days: 60 });
  });

  it('Its owner sees beside the field what is wrong, with what was typed', async () => {
    const wrong = { ...PROFILE, fallback_kind: 'product', fallback_ref: 'NONE-1' };
    const refused = await act('/o/acme/profile', 'set', wrong);
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('<a href="#set-fallback_ref">');
    expect(refused.text).toContain('value="NONE-1"');
  });
});
