import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LINK_DISCLOSURE } from '#contracts/boundaries.ts';
import type { OperationId } from '#contracts/registries/agents.ts';
import type { Outbound } from '#contracts/outreach/records.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { asAgent, configure, FILES, person, post, proposed } from '../support/world/outreach.ts';
import { verifies } from '../support/source/verifies.ts';

const DAY_MS = 86_400_000;

let app: TestApp;
let key: string;
let owner: string;
let staff: string;

beforeAll(async () => {
  app = await testApp({ OUTREACH_PER_MINUTE: '100000' });
  await app.publish([feedProduct('MUG-1')]);
  await configure(app, 'acme');
  ({ key } = await app.agent('acme'));
  owner = await person(app, ['owner'], 'acme');
  staff = await person(app, ['staff']);
});
afterAll(() => app.close());

const ask = (id: OperationId, input: Record<string, unknown>, by = key): Promise<Outbound> =>
  proposed(app, by, id, input);
const refused = async (id: OperationId, input: Record<string, unknown>, by = key) => {
  const outcome = await asAgent(app, by, id, input);
  if (outcome.ok) throw new Error('the call was not refused');
  return outcome;
};
const decide = (verb: string, id: string, body: object, token = owner) =>
  app.send({
    method: 'POST',
    url: `/api/desk/v1/approvals/${id}/${verb}`,
    key: token,
    payload: body,
    headers: { 'idempotency-key': freshKey() },
  });
const show = (id: string, token = owner) =>
  app.send({ method: 'GET', url: `/api/desk/v1/approvals/${id}`, key: token });

describe('An outreach proposal', () => {
  it('An outreach proposal waits for the owner, shows its exact bytes, and is approved by their hash', async () => {
    verifies('authentication.5.outbound', 'service.6.commitments');
    const request = await ask('requestSocialPost', post());
    expect(request).toMatchObject({ status: 'pending_approval', revision: 1, owner_id: 'acme' });
    const { body } = await show(request.id);
    const { exact } = body as { exact: { bytes: string; sha256: string; hidden: unknown[] } };
    expect(exact.sha256).toBe(request.content_sha256);
    expect(JSON.parse(exact.bytes)).toMatchObject({ content: request.content, revision: 1 });
    expect(exact.hidden).toEqual([]);
    const answer = await decide('approve', request.id, { content_sha256: exact.sha256 });
    expect(answer.body).toMatchObject({
      status: 'approved',
      approval: { decisions: [{ decision: 'approve', role: 'owner' }] },
    });
    expect(
      (await ask('getOutboundRequest', { outbound_id: request.id })).approval.decisions,
    ).toHaveLength(1);
  });

  it('An outreach proposal is refused when no approver or no channel is configured', async () => {
    const other = await app.agent('rival');
    expect(await refused('requestSocialPost', post(), other.key)).toMatchObject({
      code: 'approver_missing',
    });
    await configure(app, 'rival', { channels: FILES.slice(1) });
    expect(await refused('requestSocialPost', post(), other.key)).toMatchObject({
      code: 'channel_not_verified',
    });
    expect(
      (
        await asAgent(app, other.key, 'requestMessage', {
          idempotency_key: freshKey(),
          channel: 'email',
          recipient_ref: 'list:a',
          text: 'Hi',
        })
      ).ok,
    ).toBe(true);
  });

  it('An outreach proposal requires the scope of its kind, also to be read or canceled', async () => {
    const social = await app.agent('acme', ['social:write']);
    const messages = await app.agent('acme', ['messages:write']);
    expect(await refused('requestSocialPost', post(), messages.key)).toMatchObject({
      code: 'scope_missing',
    });
    const { id } = await ask('requestSocialPost', post(), social.key);
    expect(await refused('getOutboundRequest', { outbound_id: id }, messages.key)).toMatchObject({
      code: 'scope_missing',
      extra: { required_scope: 'social:write' },
    });
    const cancel = { outbound_id: id, idempotency_key: freshKey() };
    expect(await refused('cancelOutboundRequest', cancel, messages.key)).toMatchObject({
      code: 'scope_missing',
    });
    expect(await ask('cancelOutboundRequest', cancel, social.key)).toMatchObject({
      status: 'canceled',
    });
  });

  it('An outreach proposal must disclose its links, which must be the owner’s and appear in the text', async () => {
    const created = (await asAgent(app, key, 'createLink', {
      idempotency_key: freshKey(),
      target: { kind: 'product', ref: 'MUG-1' },
    })) as unknown as { value: { id: string; short_url: string } };
    const { id, short_url } = created.value;
    const said = (text: string) => post({ text, link_ids: [id] });
    expect(await refused('requestSocialPost', said(`Mugs: ${short_url}`))).toMatchObject({
      code: 'disclosure_missing',
    });
    expect(await refused('requestSocialPost', said(`Mugs: ${short_url} #adventure`))).toMatchObject(
      { code: 'disclosure_missing' },
    );
    expect(await refused('requestSocialPost', said('Mugs #ad'))).toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: '/link_ids/0', code: 'not_in_text' }],
    });
    expect(
      await refused('requestSocialPost', post({ text: 'See https://elsewhere.example' })),
    ).toMatchObject({ code: 'disclosure_missing' });
    for (const disclosure of [LINK_DISCLOSURE, 'Promotional link', '#ad'])
      expect(
        await ask('requestSocialPost', said(`Mugs: ${short_url} ${disclosure}`)),
      ).toMatchObject({ content: { link_ids: [id] } });
    const rival = await app.agent('rival');
    expect(
      await refused(
        'requestMessage',
        {
          idempotency_key: freshKey(),
          channel: 'chat',
          recipient_ref: 'club',
          text: `${short_url} #ad`,
          link_ids: [id],
        },
        rival.key,
      ),
    ).toMatchObject({ code: 'resource_not_found' });
  });

  it('An outreach proposal is refused with an address, with invisible characters or with a time out of range', async () => {
    const message = (over: object) => ({
      idempotency_key: freshKey(),
      channel: 'email',
      recipient_ref: 'list:a',
      text: 'Hi',
      ...over,
    });
    for (const recipient_ref of ['ann@example.com', '+44 20 7946 0958'])
      expect(await refused('requestMessage', message({ recipient_ref }))).toMatchObject({
        code: 'validation_failed',
      });
    for (const hidden of ['\u202e', '\u200b', '\u{e0041}', '\u0007'])
      expect(await refused('requestMessage', message({ text: `Hi${hidden}!` }))).toMatchObject({
        code: 'validation_failed',
      });
    const now = app.clock.now();
    const times = [
      { not_after: now - 1 },
      { not_after: now + 31 * DAY_MS },
      { not_before: now + 9 * DAY_MS },
    ];
    for (const time of times) {
      const said = Object.fromEntries(
        Object.entries(time).map(([name, at]) => [name, new Date(at).toISOString()]),
      );
      expect(await refused('requestMessage', message(said)), JSON.stringify(said)).toMatchObject({
        code: 'validation_failed',
      });
    }
  });

  it('An outreach proposal that is repeated with its key gets the same answer after the settings have changed', async () => {
    const asked = post();
    const first = await ask('requestSocialPost', asked);
    await configure(app, 'acme', { channels: FILES.slice(1) });
    expect(await ask('requestSocialPost', asked)).toEqual(first);
    await configure(app, 'acme');
    expect(await refused('requestSocialPost', { ...asked, text: 'Other' })).toMatchObject({
      code: 'idempotency_key_reused',
    });
  });
});

describe('people who decide on outreach', () => {
  it('People who decide on outreach see every invisible character with its offset', async () => {
    // Soft hyphens and joiners are allowed in text, but a reader must see them.
    const { id } = await ask('requestSocialPost', post({ text: 'Pay\u00adPal 👩\u200d🍳' }));
    const { body } = await show(id);
    expect(body).toMatchObject({
      exact: {
        shown: 'Pay⟨U+00AD⟩Pal 👩⟨U+200D⟩🍳',
        hidden: [
          { pointer: '/text', offset: 3, code_point: 'U+00AD' },
          { pointer: '/text', offset: 10, code_point: 'U+200D' },
        ],
      },
    });
  });

  it('People who decide on outreach decide only in the required role, only on the content that they saw, and only for their owner', async () => {
    const { id, content_sha256 } = await ask('requestSocialPost', post());
    const stranger = await person(app, ['owner'], 'rival');
    expect((await decide('approve', id, { content_sha256 }, staff)).body).toMatchObject({
      code: 'role_missing',
    });
    expect((await decide('approve', id, { content_sha256 }, stranger)).body).toMatchObject({
      code: 'resource_not_found',
    });
    expect((await show(id, stranger)).status).toBe(404);
    expect((await decide('approve', id, { content_sha256 }, key)).status).toBe(401);
    expect((await decide('approve', id, { content_sha256: '0'.repeat(64) })).body).toMatchObject({
      code: 'approval_mismatch',
    });
    expect((await decide('refuse', id, { content_sha256, reason: 'No' })).body).toMatchObject({
      status: 'rejected',
      status_reason: 'No',
    });
    expect((await decide('approve', id, { content_sha256 })).body).toMatchObject({
      code: 'state_conflict',
    });
  });

  it('People who decide on outreach must be two when two approvals are required', async () => {
    await configure(app, 'twofold', { mode: 'admin_approved', approvals_required: 2 });
    const agent = await app.agent('twofold');
    const { id, content_sha256 } = await ask('requestSocialPost', post(), agent.key);
    const another = await person(app, ['staff']);
    for (const token of [staff, staff])
      expect((await decide('approve', id, { content_sha256 }, token)).body).toMatchObject({
        status: 'pending_approval',
      });
    expect((await decide('approve', id, { content_sha256 }, another)).body).toMatchObject({
      status: 'approved',
    });
  });

  it('People who decide on outreach can request changes and then decide on the new content', async () => {
    const first = await ask('requestSocialPost', post({ text: 'Mugs' }));
    const { id } = first;
    const reason = 'Say the price';
    await decide('request-changes', id, { content_sha256: first.content_sha256, reason });
    expect(await ask('getOutboundRequest', { outbound_id: id })).toMatchObject({
      status: 'changes_requested',
      status_reason: reason,
    });
    const second = await ask('requestSocialPost', post({ text: 'Mugs, 2.50', revises: id }));
    expect(second).toMatchObject({ id, revision: 2, status: 'pending_approval' });
    expect(
      (await decide('approve', id, { content_sha256: first.content_sha256 })).body,
    ).toMatchObject({ code: 'approval_mismatch' });
    expect(
      (await decide('approve', id, { content_sha256: second.content_sha256 })).body,
    ).toMatchObject({ status: 'approved' });
    const message = {
      idempotency_key: freshKey(),
      channel: 'email',
      recipient_ref: 'list:a',
      text: 'Hi',
      revises: id,
    };
    expect(await refused('requestMessage', message)).toMatchObject({ code: 'state_conflict' });
  });

  it('People who decide on outreach list the open requests of their own owner or of all owners', async () => {
    const list = (query: string, token: string) =>
      app.send({ method: 'GET', url: `/api/desk/v1/approvals${query}`, key: token });
    const owners = ({ body }: { body: unknown }) =>
      new Set((body as { data: Outbound[] }).data.map(({ owner_id }) => owner_id));
    expect(owners(await list('', owner))).toEqual(new Set(['acme']));
    expect(owners(await list('?limit=100', staff))).toEqual(new Set(['acme', 'rival', 'twofold']));
    expect((await list('?owner_id=rival', owner)).status).toBe(404);
    const { body } = await list('?owner_id=acme&status=rejected', owner);
    expect((body as { data: Outbound[] }).data.map(({ status }) => status)).toEqual(['rejected']);
  });
});

describe('A halt of outreach', () => {
  const turn = (verb: string, body: object, token: string) =>
    app.send({
      method: 'POST',
      url: `/api/desk/v1/outreach-${verb}`,
      key: token,
      payload: { reason: 'Stop', ...body },
      headers: { 'idempotency-key': freshKey() },
    });

  it('A halt of outreach stops proposals and approvals of one owner or of all until a person resumes', async () => {
    const { id, content_sha256 } = await ask('requestSocialPost', post());
    for (const whose of [{ owner_id: 'acme' }, {}]) {
      expect((await turn('halt', whose, whose.owner_id ? owner : staff)).status).toBe(200);
      expect(await refused('requestSocialPost', post())).toMatchObject({ code: 'outreach_halted' });
      expect((await decide('approve', id, { content_sha256 })).body).toMatchObject({
        code: 'outreach_halted',
      });
      expect((await turn('resume', whose, staff)).body).toMatchObject({ halted: null });
    }
    expect((await decide('approve', id, { content_sha256 })).body).toMatchObject({
      status: 'approved',
    });
  });

  it('A halt of outreach for all owners requires a token that is not bound to an owner', async () => {
    expect((await turn('halt', {}, owner)).status).toBe(404);
    expect((await turn('halt', { owner_id: 'rival' }, owner)).status).toBe(404);
    expect((await turn('resume', { owner_id: 'acme' }, owner)).status).toBe(403);
  });
});

describe('outreach settings', () => {
  it('Outreach settings show the secret of a webhook when it is configured, and a new one after a rotation', async () => {
    const webhook = { kind: 'message', adapter: 'webhook', url: 'https://hooks.example/in' };
    const set = async (over: object = {}) => {
      const channels = [{ ...webhook, ...over }];
      const { body } = await app.desk('POST', '/outreach/hooked', {
        mode: 'owner_controlled',
        channels,
      });
      return (body as { channels: { webhook_secret: string }[] }).channels[0]?.webhook_secret;
    };
    const first = await set();
    expect(first).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(await set()).toBe(first);
    expect(await set({ rotate_secret: true })).not.toBe(first);
    const { text } = await app.desk('GET', '/outreach/hooked');
    expect(text).not.toContain('whsec_');
  });

  it('Outreach settings are refused when adapter, address and kind do not fit together', async () => {
    for (const channel of [
      { kind: 'message', adapter: 'webhook' },
      { kind: 'message', adapter: 'file', url: 'https://hooks.example/' },
      { kind: 'message', adapter: 'a2a' },
    ])
      expect(
        (
          await app.desk('POST', '/outreach/hooked', {
            mode: 'owner_controlled',
            channels: [channel],
          })
        ).status,
      ).toBe(422);
  });
});

describe('A person who edits a proposal', () => {
  const MESSAGE = { channel: 'email', recipient_ref: 'list:a', subject: 'Mugs', text: 'Mugs!' };
  const edit = async (request: Outbound, text: string, over: object = {}, token = owner) => {
    const body = { content_sha256: request.content_sha256, text, ...over };
    const { body: answer } = await decide('revise', request.id, body, token);
    return answer as unknown as Outbound & { code?: string };
  };
  const approve = async (request: Outbound, token: string) =>
    (await decide('approve', request.id, { content_sha256: request.content_sha256 }, token)).body;

  it('A person who edits a proposal proposes the new text: another person approves it, and they cannot', async () => {
    const colleague = await person(app, ['owner'], 'acme');
    const request = await ask('requestSocialPost', post());
    const edited = await edit(request, 'Mugs are here.\nSix for £11.94.');
    expect(edited).toMatchObject({
      revision: 2,
      status: 'pending_approval',
      agent_id: request.agent_id,
      content: { text: 'Mugs are here.\nSix for £11.94.' },
    });
    const { body } = await show(request.id);
    expect(body).toMatchObject({
      proposed: {
        by: expect.stringContaining('desk:'),
        by_name: expect.stringContaining('Person'),
      },
    });
    expect(await approve(edited, owner)).toMatchObject({ code: 'approver_not_independent' });
    expect(await approve(edited, app.deskToken)).toMatchObject({
      code: 'approver_not_independent',
    });
    expect(await approve(request, colleague)).toMatchObject({ code: 'approval_mismatch' });
    expect(await approve(edited, colleague)).toMatchObject({ status: 'approved' });
  });

  it("A person who edits a proposal does not make the holder of the agent's key independent of it", async () => {
    await configure(app, 'keyed', { mode: 'admin_approved' });
    const { agentId } = await app.agent('keyed');
    const issuer = await person(app, ['staff', 'operator']);
    const issued = await app.send({
      method: 'POST',
      url: `/api/desk/v1/agents/${agentId}/keys`,
      key: issuer,
      payload: {},
      headers: { 'idempotency-key': freshKey() },
    });
    const { api_key } = issued.body as unknown as { api_key: string };
    const editor = await person(app, ['owner'], 'keyed');
    const request = await ask('requestSocialPost', post(), api_key);
    const edited = await edit(request, 'Mugs are here.', {}, editor);
    expect(await approve(edited, issuer)).toMatchObject({ code: 'approver_not_independent' });
    expect(await approve(edited, staff)).toMatchObject({ status: 'approved' });
  });

  it('A person who edits a proposal is free to approve what its agent wrote after them', async () => {
    const request = await ask('requestSocialPost', post());
    await edit(request, 'Mugs are here.');
    const again = await ask(
      'requestSocialPost',
      post({ revises: request.id, text: 'Mugs, then.' }),
    );
    expect(await approve(again, owner)).toMatchObject({ status: 'approved', revision: 3 });
  });

  it('A person who edits a proposal keeps its links that are still in the text, and their disclosure', async () => {
    const target = { kind: 'search', ref: 'mugs' };
    const made = await asAgent(app, key, 'createLink', { idempotency_key: freshKey(), target });
    if (!made.ok) throw new Error(made.detail);
    const { id, short_url } = made.value as { id: string; short_url: string };
    const text = `Mugs: ${short_url} #ad`;
    const request = await ask('requestSocialPost', post({ text, link_ids: [id] }));
    expect(await edit(request, `Mugs: ${short_url}`)).toMatchObject({ code: 'disclosure_missing' });
    const kept = await edit(request, `Six mugs: ${short_url} #ad`);
    expect(kept.content.link_ids).toEqual([id]);
    expect((await edit(kept, 'Six mugs.')).content.link_ids).toEqual([]);
  });

  it('A person who edits a proposal is refused an old version, no change, what its kind has not, and staff', async () => {
    const message = await ask('requestMessage', { idempotency_key: freshKey(), ...MESSAGE });
    const edited = await edit(message, 'Cups!', { subject: 'Cups' });
    expect(edited).toMatchObject({ content: { subject: 'Cups', text: 'Cups!' } });
    expect(await edit(message, 'Late')).toMatchObject({ code: 'approval_mismatch' });
    const subject = { subject: 'Cups' };
    expect(await edit(edited, 'Cups!', subject)).toMatchObject({ errors: [{ code: 'unchanged' }] });
    const request = await ask('requestSocialPost', post());
    expect(await edit(request, 'Hi', subject)).toMatchObject({ errors: [{ code: 'not_allowed' }] });
    const long = 'Mugs '.repeat(1_001);
    expect(await edit(request, long)).toMatchObject({ errors: [{ code: 'too_big' }] });
    expect(await edit(request, 'Hi', {}, staff)).toMatchObject({ code: 'role_missing' });
    const rival = await person(app, ['owner'], 'rival');
    expect(await edit(request, 'Hi', {}, rival)).toMatchObject({ code: 'resource_not_found' });
  });
});
