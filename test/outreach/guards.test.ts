/** Regression tests: each describes a way around an approval that existed once. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Outbound } from '#contracts/outreach/records.ts';
import type { OperationId } from '#contracts/registries/agents.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { asAgent, configure, person, post, proposed } from '../support/world/outreach.ts';
import { outreachActs } from '../support/world/outreach-acts.ts';

let app: TestApp;
let key: string;
let colleague: string;
beforeAll(async () => {
  app = await testApp({ OUTREACH_PER_MINUTE: '100000' });
  await app.publish([feedProduct('MUG-1')]);
  await configure(app, 'acme');
  ({ key } = await app.agent('acme'));
  ({ key: colleague } = await app.agent('acme'));
});
afterAll(() => app.close());

const ask = (id: OperationId, input: Record<string, unknown>, by = key): Promise<Outbound> =>
  proposed(app, by, id, input);
const codeOf = async (id: OperationId, input: Record<string, unknown>, by = key) => {
  const outcome = await asAgent(app, by, id, input);
  return outcome.ok ? 'done' : outcome.code;
};
const CARD = 'https://a.example/card.json';
const notify = (agent_card_url: string) => ({
  idempotency_key: freshKey(),
  agent_card_url,
  text: 'Hi',
});

describe('another agent of the same owner', () => {
  it('Another agent of the same owner can read a request but neither revise nor cancel it', async () => {
    const { id } = await ask('requestSocialPost', post());
    expect(await codeOf('getOutboundRequest', { outbound_id: id }, colleague)).toBe('done');
    expect(await codeOf('requestSocialPost', post({ revises: id, text: 'Mine' }), colleague)).toBe(
      'resource_not_found',
    );
    const cancel = { outbound_id: id, idempotency_key: freshKey() };
    expect(await codeOf('cancelOutboundRequest', cancel, colleague)).toBe('resource_not_found');
    expect(await ask('getOutboundRequest', { outbound_id: id })).toMatchObject({
      revision: 1,
      status: 'pending_approval',
    });
  });
});

describe('A notification of an agent', () => {
  it.each([
    ['https://127.0.0.1/card.json', 'address_not_public'],
    ['https://10.0.0.8:8443/card.json', 'address_not_public'],
    ['https://169.254.169.254/latest/meta-data', 'address_not_public'],
    ['https://[::1]/card.json', 'address_not_public'],
    ['https://[::ffff:192.168.0.1]/card.json', 'address_not_public'],
    ['https://0x7f.1/card.json', 'address_not_public'],
    ['https://localhost/card.json', 'address_not_public'],
    ['https://a.example:25/card.json', 'port_not_allowed'],
  ])('A notification of an agent to %s is refused when it is proposed', async (url, code) => {
    const outcome = await asAgent(app, key, 'requestAgentNotification', notify(url));
    expect(outcome).toMatchObject({
      ok: false,
      code: 'validation_failed',
      errors: [{ pointer: '/agent_card_url', code }],
    });
  });
});

describe('A channel that was disabled', () => {
  it('A disabled channel accepts no proposals', async () => {
    const { key: promoter } = await app.agent('closed');
    await configure(app, 'closed');
    const { deps } = app.service;
    const { settings } = outreachActs({ ...deps, now: deps.clock.now });
    const disable = { type: 'DisableChannel', kind: 'social_post', reason: 'gone' } as const;
    await settings('closed', disable);
    expect(await codeOf('requestSocialPost', post(), promoter)).toBe('channel_not_verified');
    expect(await codeOf('requestAgentNotification', notify(CARD), promoter)).toBe('done');
  });
});

describe('An idempotency key of outreach', () => {
  it('An idempotency key of outreach belongs to one request, whether it proposes or revises first', async () => {
    const { id } = await ask('requestSocialPost', post());
    const first = post({ text: 'One' });
    await ask('requestSocialPost', first);
    expect(await codeOf('requestSocialPost', { ...first, text: 'Two', revises: id })).toBe(
      'idempotency_key_reused',
    );
    const revision = post({ text: 'Three', revises: id });
    await ask('requestSocialPost', revision);
    const { revises: _none, ...fresh } = revision;
    expect(await codeOf('requestSocialPost', { ...fresh, text: 'Four' })).toBe(
      'idempotency_key_reused',
    );
    expect(await ask('requestSocialPost', revision)).toMatchObject({ id, revision: 2 });
  });

  it('An idempotency key of outreach can be used once for each operation', async () => {
    const { id } = await ask('requestSocialPost', post());
    const { idempotency_key } = post();
    const one = await ask('requestSocialPost', post({ idempotency_key }));
    const two = await ask('requestAgentNotification', { ...notify(CARD), idempotency_key });
    expect(two.id).not.toBe(one.id);
    const canceled = await ask('cancelOutboundRequest', { outbound_id: id, idempotency_key });
    expect(canceled).toMatchObject({ id, status: 'canceled' });
  });

  it('An idempotency key of outreach belongs to one request when two arrive at the same time', async () => {
    const { id } = await ask('requestSocialPost', post());
    const both = post({ text: 'One' });
    const codes = await Promise.all([
      codeOf('requestSocialPost', both),
      codeOf('requestSocialPost', { ...both, text: 'Two', revises: id }),
    ]);
    expect(codes.sort()).toEqual(['done', 'idempotency_key_reused']);
  });
});

describe('The address of an agent card', () => {
  it('The address of an agent card is refused with invisible characters, a password or plain HTTP', async () => {
    const bad = [
      'https://a.example/\u001b[2Jgone',
      'https://a.example/\u202e',
      'https://a.example/\u0000',
      'https://a.example/  status approved',
      'https://user:pw@a.example/card',
      'http://a.example/card',
    ];
    for (const url of bad)
      expect(await codeOf('requestAgentNotification', notify(url)), url).toBe('validation_failed');
    expect(await codeOf('requestAgentNotification', notify(CARD))).toBe('done');
  });
});

describe('A disclosure', () => {
  const outcomeOf = (text: string) => codeOf('requestSocialPost', post({ text }));

  it('A disclosure must be a whole word anywhere in the text', async () => {
    expect(await outcomeOf('#adventure time #ad https://x.example/')).toBe('done');
    expect(await outcomeOf('look #adé https://x.example/')).toBe('disclosure_missing');
    expect(await outcomeOf('look #ad_x https://x.example/')).toBe('disclosure_missing');
  });

  it('A disclosure is required for a link without a scheme', async () => {
    expect(await outcomeOf('see www.shop.example')).toBe('disclosure_missing');
    expect(await outcomeOf('see t.example/l/abc')).toBe('disclosure_missing');
    expect(await outcomeOf('Mugs at 2.50/piece, e.g. blue. Yes/no?')).toBe('done');
  });

  it('A disclosure does not count for a longer link that begins with the same text', async () => {
    const created = await asAgent(app, key, 'createLink', {
      idempotency_key: freshKey(),
      target: { kind: 'product', ref: 'MUG-1' },
      slug: 'mugs-one',
    });
    if (!created.ok) throw new Error(created.code);
    const { id, short_url } = created.value as { id: string; short_url: string };
    const text = `${short_url}-two #ad`;
    expect(await codeOf('requestSocialPost', post({ text, link_ids: [id] }))).toBe(
      'validation_failed',
    );
  });
});

describe('A webhook', () => {
  const secretOf = async (channel: object): Promise<string | undefined> => {
    const channels = [{ kind: 'message', ...channel }];
    const { body } = await app.desk('POST', '/outreach/hooked', {
      mode: 'owner_controlled',
      channels,
    });
    return (body as { channels: { webhook_secret?: string }[] }).channels[0]?.webhook_secret;
  };

  it('A webhook never gets a secret that it or another receiver had before', async () => {
    const one = { adapter: 'webhook', url: 'https://one.example/h' };
    const seen = [
      await secretOf(one),
      await secretOf({ ...one, rotate_secret: true }),
      await secretOf({ adapter: 'file' }),
      await secretOf({ adapter: 'webhook', url: 'https://two.example/h' }),
      await secretOf(one),
    ];
    const secrets = seen.filter((secret) => secret !== undefined);
    expect(secrets).toHaveLength(4);
    expect(new Set(secrets).size).toBe(4);
  });

  it('A webhook refuses a proposal that is too long to be sent', async () => {
    const channels = [{ kind: 'message', adapter: 'webhook', url: 'https://hooks.example/in' }];
    await configure(app, 'hooked', { channels });
    const agent = await app.agent('hooked');
    const long = {
      idempotency_key: freshKey(),
      channel: 'chat',
      recipient_ref: 'club',
      text: '漢'.repeat(7_000),
    };
    expect(await codeOf('requestMessage', long, agent.key)).toBe('validation_failed');
  });
});

describe('approvers', () => {
  it('Approvers count as one person when two tokens have the same name in another spelling', async () => {
    await configure(app, 'twofold', { mode: 'admin_approved', approvals_required: 2 });
    const agent = await app.agent('twofold');
    const { id, content_sha256 } = await ask('requestSocialPost', post(), agent.key);
    const alice = async (name: string): Promise<string> => {
      const { body } = await app.desk('POST', '/desk-tokens', { name, roles: ['staff'] });
      return (body as { token: string }).token;
    };
    const approve = async (token: string): Promise<string> => {
      const { body } = await app.send({
        method: 'POST',
        url: `/api/desk/v1/approvals/${id}/approve`,
        key: token,
        payload: { content_sha256 },
        headers: { 'idempotency-key': freshKey() },
      });
      return (body as { status: string }).status;
    };
    expect(await approve(await alice('Alice B'))).toBe('pending_approval');
    expect(await approve(await alice('alice  b '))).toBe('pending_approval');
    expect(await approve(await person(app, ['staff']))).toBe('approved');
  });

  it('Approvers find a closed request by its id, and list closed requests by owner', async () => {
    const staff = await person(app, ['staff']);
    const get = (path: string) =>
      app.send({ method: 'GET', url: `/api/desk/v1/approvals${path}`, key: staff });
    const { id } = await ask('requestSocialPost', post());
    await ask('cancelOutboundRequest', { outbound_id: id, idempotency_key: freshKey() });
    expect((await get(`/${id}`)).body).toMatchObject({ request: { status: 'canceled' } });
    expect((await get(`/${id}?owner_id=acme`)).status).toBe(200);
    expect((await get('?status=canceled')).body).toMatchObject({
      errors: [{ pointer: '/owner_id' }],
    });
  });
});
