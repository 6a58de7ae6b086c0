/** The service mails a review link: who may propose and approve it, what is sent, and what stops it in between. */
import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import type { Handoff } from '#contracts/handoffs/records.ts';
import type { Outbound } from '#contracts/outreach/records.ts';
import { mailing } from '../support/dispatch/mailing.ts';
import { freshKey } from '../support/world/app.ts';
import { browsingPerson } from '../support/world/browsing-person.ts';
import { buyerOver } from '../support/world/server-over.ts';
import { asAgent, configure, person, proposed } from '../support/world/outreach.ts';
import { DAY_MS } from '../support/world/outreach-acts.ts';

type World = Awaited<ReturnType<typeof mailing>>;

const BUYER = 'bea@shop.example';
const open: World[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) {
    expect(one.faults).toEqual([]);
    await one.end();
  }
});

/** A service with outreach of acme in this mode, and people who decide. */
const world = async (mode: 'owner_controlled' | 'admin_approved' = 'owner_controlled') => {
  const w = await mailing();
  open.push(w);
  await configure(w.app, 'acme', { mode });
  return {
    w,
    staff: await person(w.app, ['staff']),
    owner: await person(w.app, ['owner'], 'acme'),
    key: w.keys.live,
  };
};

const list = (over: object = {}) => ({
  idempotency_key: freshKey(),
  title: 'Mugs for Bea',
  note_to_buyer: 'Order now!',
  buyer: { email: BUYER },
  line_items: [{ sku: 'MUG-1', quantity: 48 }],
  deliver: true,
  ...over,
});

const create = async (w: World, key: string, over: object = {}): Promise<Handoff> =>
  proposed(w.app, key, 'createHandoff', list(over)) as never;

const outboundOf = ({ delivery }: Handoff): string => delivery?.outbound_id ?? '';

const read = async (w: World, key: string, made: Handoff): Promise<Outbound> => {
  const outcome = await asAgent(w.app, key, 'getOutboundRequest', {
    outbound_id: outboundOf(made),
  });
  if (!outcome.ok) throw new Error(outcome.detail);
  // A record read by its id shows no more.
  const whole = await asAgent(w.app, key, 'getRecord', { id: outboundOf(made) });
  expect(whole).toMatchObject({ ok: true, value: outcome.value });
  expect(whole).not.toHaveProperty('value.delivery.evidence');
  return outcome.value;
};

const desk = (w: World, token: string, method: 'GET' | 'POST', path: string, body: object = {}) =>
  w.app.send({
    method,
    url: `/api/desk/v1${path}`,
    key: token,
    ...(method === 'POST' && { payload: body, headers: { 'idempotency-key': freshKey() } }),
  });

const show = (w: World, token: string, made: Handoff) =>
  desk(w, token, 'GET', `/approvals/${outboundOf(made)}?owner_id=acme`);

const approve = async (w: World, token: string, made: Handoff, over: object = {}) => {
  const shown = await show(w, token, made);
  return desk(w, token, 'POST', `/approvals/${outboundOf(made)}/approve`, {
    owner_id: 'acme',
    content_sha256: (shown.body as { request: Outbound }).request?.content_sha256,
    how_asked: 'By telephone on Monday',
    ...over,
  });
};

const linkIn = (text: string | undefined): string =>
  /https:\/\/t\.example(\/h\/[0-9a-f]{40})/.exec(text ?? '')?.[1] ?? '';

const allEvents = (w: World) => w.app.service.deps.log.readAll({ after: 0, limit: 10_000 });

describe('A delivery of a review link', () => {
  it('A delivery gives no agent the link, and mails the approved words with it to the buyer once', async () => {
    const { w, owner, key } = await world();
    w.startDeliveries();
    const made = await create(w, key);
    expect(made).not.toHaveProperty('review_url');
    const { body, text } = await show(w, owner, made);
    expect(body).toMatchObject({
      delivery: { recipient: BUYER, title: 'Mugs for Bea', note_to_buyer: 'Order now!', lines: 1 },
      request: {
        kind: 'handoff_delivery',
        target: { handoff_id: made.id },
        status: 'pending_approval',
      },
    });
    expect(text).toContain('{review_link}');
    expect(text).not.toContain('/h/');
    expect((await approve(w, owner, made)).status).toBe(200);
    await w.settle();
    expect(w.live.sent).toMatchObject([
      { to: BUYER, subject: 'The product list that you asked for' },
    ]);
    const [letter] = w.live.sent;
    const sent = letter?.text ?? '';
    const html = letter?.html ?? '';
    for (const part of [sent, html]) {
      expect(part).toContain(linkIn(sent));
      for (const typed of ['Mugs', 'MUG-1', 'Order now']) expect(part).not.toContain(typed);
    }
    const shown = (body as { request: Outbound }).request.content.text;
    expect(`${shown.replace('{review_link}', `https://t.example${linkIn(sent)}`)}\n`).toBe(sent);
    expect(await read(w, key, made)).toMatchObject({ status: 'confirmed' });
    const page = await w.app.send({ method: 'GET', url: linkIn(sent) });
    expect(page.text).toContain('Mugs for Bea');
    const again = JSON.stringify(await create(w, key, { idempotency_key: 'other' }));
    expect(again).not.toContain(linkIn(sent));
  });

  it('A token of the link is in no event and in no answer of the desk or of an agent', async () => {
    const { w, owner, staff, key } = await world();
    w.startDeliveries();
    const made = await create(w, key);
    const answers = [await show(w, owner, made), await approve(w, owner, made)];
    await w.settle();
    answers.push(
      await show(w, staff, made),
      await desk(w, staff, 'GET', '/handoffs?owner_id=acme'),
    );
    const token = linkIn(w.live.sent[0]?.text).slice(3);
    expect(token).toHaveLength(40);
    const all = JSON.stringify([await allEvents(w), answers.map(({ text }) => text)]);
    expect(all).not.toContain(token);
    expect(all).not.toContain('By telephone on Monday"}');
    expect(JSON.stringify(await read(w, key, made))).not.toMatch(/telephone|shop\.example/);
  });

  it('A request with deliver false is the request without it', async () => {
    const { w, key } = await world();
    const idempotency_key = freshKey();
    const { deliver: _absent, ...plain } = list({ idempotency_key });
    const first = await proposed(w.app, key, 'createHandoff', plain);
    const second = await proposed(w.app, key, 'createHandoff', { ...plain, deliver: false });
    expect(second).toEqual(first);
    expect(first).toHaveProperty('review_url');
    const other = await asAgent(w.app, key, 'createHandoff', { ...plain, deliver: true });
    expect(other).toMatchObject({ ok: false, code: 'idempotency_key_reused' });
  });

  it('A delivery needs messages:write, an address, and an approver of the owner', async () => {
    const { w, key } = await world();
    const { key: weak } = await w.app.agent('acme', ['handoffs:write']);
    expect(await asAgent(w.app, weak, 'createHandoff', list())).toMatchObject({
      code: 'scope_missing',
      extra: { required_scope: 'messages:write' },
    });
    expect(await asAgent(w.app, key, 'createHandoff', list({ buyer: {} }))).toMatchObject({
      code: 'validation_failed',
      errors: [{ pointer: '/buyer/email' }],
    });
    const { key: other } = await w.app.agent('globex');
    expect(await asAgent(w.app, other, 'createHandoff', list())).toMatchObject({
      code: 'approver_missing',
    });
    const types = (await allEvents(w)).map(({ type }) => type);
    expect(types.filter((type) => /^(Handoff|OutboundP)/.test(type))).toEqual([]);
  });

  it.each([
    ['owner_controlled', 'owner', 200],
    ['owner_controlled', 'staff', 200],
    ['admin_approved', 'owner', 403],
    ['admin_approved', 'staff', 200],
  ] as const)(
    'With %s, a delivery that a person of the role %s approves is answered %i',
    async (mode, role, status) => {
      const at = await world(mode);
      const made = await create(at.w, at.key);
      expect((await approve(at.w, at[role], made)).status).toBe(status);
    },
  );

  it('An approver of a delivery states how the buyer asked for it', async () => {
    const { w, staff, key } = await world();
    const made = await create(w, key);
    expect(await approve(w, staff, made, { how_asked: undefined })).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: '/how_asked', code: 'required' }] },
    });
    expect((await approve(w, staff, made)).status).toBe(200);
    expect((await show(w, staff, made)).body).toMatchObject({
      delivery: { how_asked: ['By telephone on Monday'] },
    });
  });

  it('A delivery has no text to change, and is refused instead', async () => {
    const { w, staff, key } = await world();
    const made = await create(w, key);
    const path = `/approvals/${outboundOf(made)}`;
    const body = {
      owner_id: 'acme',
      content_sha256: (await read(w, key, made)).content_sha256,
      reason: 'Another list, please',
    };
    expect((await desk(w, staff, 'POST', `${path}/request-changes`, body)).status).toBe(409);
    expect((await desk(w, staff, 'POST', `${path}/refuse`, body)).status).toBe(200);
    expect(await read(w, key, made)).toMatchObject({
      status: 'rejected',
      status_reason: 'Another list, please',
    });
  });

  it('A delivery is not made after its list was closed, its data erased, or its person refused contact', async () => {
    const { w, staff, key } = await world();
    const lists = [];
    for (let n = 0; n < 4; n += 1)
      lists.push(await create(w, key, { buyer: { email: `b${n}@shop.example` } }));
    for (const made of lists) expect((await approve(w, staff, made)).status).toBe(200);
    const [closed, erased, refusing, kept] = lists as [Handoff, Handoff, Handoff, Handoff];
    const reason = { owner_id: 'acme', reason: 'Changed' };
    expect((await desk(w, staff, 'POST', `/handoffs/${closed.id}/withdraw`, reason)).status).toBe(
      200,
    );
    const privacy = await person(w.app, ['privacy']);
    const operator = await person(w.app, ['operator']);
    const erasing = await desk(w, operator, 'POST', `/subjects/${erased.id}/erase`, {
      owner_id: 'acme',
      reason: 'Asked',
    });
    expect(erasing, erasing.text).toMatchObject({ status: 200 });
    const refusal = await desk(w, privacy, 'POST', '/privacy/withdraw', {
      mailbox: 'b2@shop.example',
      proof: 'By letter',
    });
    expect(refusal, refusal.text).toMatchObject({ status: 200 });
    w.startDeliveries();
    await w.settle();
    expect(w.live.sent.map(({ to }) => to)).toEqual(['b3@shop.example']);
    expect(await read(w, key, kept)).toMatchObject({ status: 'confirmed' });
    // An agent does not learn which person refuses contact.
    for (const made of [closed, erased, refusing])
      expect(await read(w, key, made)).toMatchObject({
        status: 'failed',
        status_reason: 'not_delivered',
      });
    const reasons = [];
    for (const made of [closed, erased, refusing])
      reasons.push(
        ((await show(w, staff, made)).body as { request: Outbound }).request.status_reason,
      );
    expect(reasons).toEqual(['list_closed', 'erased', 'contact_refused']);
  });

  it('A delivery that could not be sent is not approved', async () => {
    const { w, staff, key } = await world();
    const made = await create(w, key);
    await desk(w, staff, 'POST', `/handoffs/${made.id}/withdraw`, {
      owner_id: 'acme',
      reason: 'No',
    });
    expect((await show(w, staff, made)).body).toMatchObject({
      recipient_fault: expect.stringContaining('cannot be delivered'),
    });
    expect(await approve(w, staff, made)).toMatchObject({ status: 409 });
  });

  it.each([
    ['its lines', { line_items: [{ sku: 'MUG-1', quantity: 96 }] }],
    ['its title', { title: 'Other' }],
    ['its end', { expires_at: '2026-12-01T00:00:00Z' }],
  ])(
    'A revision of %s voids the approval of a delivery that waits, and the new list is mailed once it is approved',
    async (_what, change) => {
      const { w, staff, key } = await world();
      const made = await create(w, key);
      expect(await approve(w, staff, made)).toMatchObject({ status: 200 });
      const before = await read(w, key, made);
      expect(before).toMatchObject({ status: 'approved', revision: 1 });
      const revised = await asAgent(w.app, key, 'reviseHandoff', {
        idempotency_key: freshKey(),
        handoff_id: made.id,
        ...change,
      });
      expect(revised).toMatchObject({ ok: true });
      const waiting = await read(w, key, made);
      expect(waiting).toMatchObject({
        status: 'pending_approval',
        revision: 2,
        approval: { required: before.approval.required, decisions: [] },
      });
      expect(waiting.content_sha256).not.toBe(before.content_sha256);
      w.startDeliveries();
      await w.settle();
      expect(w.live.sent).toEqual([]);
      const stale = await approve(w, staff, made, { content_sha256: before.content_sha256 });
      expect(stale).toMatchObject({ status: 409 });
      expect(await approve(w, staff, made)).toMatchObject({ status: 200 });
      await w.settle();
      expect(w.live.sent).toHaveLength(1);
      expect(await read(w, key, made)).toMatchObject({ status: 'confirmed' });
    },
  );

  it('A delivery that nobody approves expires with its list', async () => {
    const { w, key } = await world();
    w.startDeliveries();
    const soon = new Date(w.app.clock.now() + DAY_MS).toISOString();
    const made = await create(w, key, { expires_at: soon });
    await w.advance(DAY_MS + 1_000);
    expect(await read(w, key, made)).toMatchObject({ status: 'expired' });
    expect(w.live.sent).toEqual([]);
  });

  it('A refusal by the mail server is shown to people, and to the agent as not delivered', async () => {
    const { w, staff, key } = await world();
    w.startDeliveries();
    const made = await create(w, key);
    w.live.play(() => ({ outcome: 'refused', reason: 'smtp_550' }));
    await approve(w, staff, made);
    await w.settle();
    expect((await show(w, staff, made)).body).toMatchObject({
      request: { status: 'failed', status_reason: 'smtp_550' },
    });
    expect(await read(w, key, made)).toMatchObject({
      status: 'failed',
      status_reason: 'not_delivered',
    });
  });

  it('A mailbox that says it did not ask is not mailed again, and the limits of mail to strangers hold', async () => {
    const { w, staff, key } = await world();
    w.startDeliveries();
    const [first, second, third] = [
      await create(w, key),
      await create(w, key),
      await create(w, key),
    ];
    await approve(w, staff, first);
    await approve(w, staff, second);
    await w.settle();
    // One in ten minutes.
    expect(w.live.sent).toHaveLength(1);
    expect(await read(w, key, second)).toMatchObject({
      status: 'dispatched',
      delivery: { attempts: 1 },
    });
    const url = linkIn(w.live.sent[0]?.text);
    expect((await w.app.send({ method: 'GET', url })).text).toContain('This was not me');
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const said = await w.app.send({ method: 'POST', url: `${url}/not-me`, payload: '', headers });
    expect(said.status).toBe(303);
    await approve(w, staff, third);
    await w.advance(LIMITS.CONFIRMATION_WAIT_MINUTES * 60_000 + 1_000);
    await w.advance(DAY_MS);
    expect(w.live.sent).toHaveLength(1);
    for (const made of [second, third]) {
      const shown = (await show(w, staff, made)).body as { request: Outbound };
      expect(shown.request).toMatchObject({ status: 'failed', status_reason: 'blocked' });
    }
  });

  it('A buyer who sends a delivered list at once gets the link that confirms it at once', async () => {
    const { w, staff, key } = await world();
    w.startDeliveries();
    w.start();
    await approve(w, staff, await create(w, key));
    await w.settle();
    const url = linkIn(w.live.sent[0]?.text);
    const contact = { name: 'Bea Buyer', email: BUYER };
    const sent = await buyerOver(w.app.service.deps, url).send({
      list_revision: 1,
      consent: true,
      contact,
    });
    expect(sent).toMatchObject({ ok: true });
    await w.settle();
    expect(w.live.sent.map(({ subject }) => subject)).toEqual([
      'The product list that you asked for',
      'Confirm your request for a quotation',
    ]);
  });

  it('A page of a list that an agent handed on does not offer to say that it was not asked for', async () => {
    const { w, key } = await world();
    const made = await create(w, key, { deliver: false });
    const url = new URL(made.review_url ?? '').pathname;
    expect((await w.app.send({ method: 'GET', url })).text).not.toContain('This was not me');
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const said = await w.app.send({ method: 'POST', url: `${url}/not-me`, payload: '', headers });
    expect(said.status).toBe(404);
  });

  it('A process that is killed between approval and letter sends it once after its start', async () => {
    const { w, staff, key } = await world();
    const made = await create(w, key);
    await approve(w, staff, made);
    w.startDeliveries();
    w.startDeliveries();
    await w.settle();
    expect(w.live.sent).toHaveLength(1);
    expect((await allEvents(w)).filter(({ type }) => type === 'HandoffDelivered')).toHaveLength(1);
  });

  it('The approval is of the list: its hash is in what people approve', async () => {
    const { w, staff, key } = await world();
    const made = await create(w, key);
    const { exact } = (await show(w, staff, made)).body as {
      exact: { bytes: string; sha256: string };
    };
    const { target } = JSON.parse(exact.bytes) as { target: { list_sha256: string } };
    expect(target.list_sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(createHash('sha256').update(exact.bytes).digest('hex')).toBe(exact.sha256);
  });
});

describe('A delivery without an approval', () => {
  const lead = (over: object = {}) => ({
    idempotency_key: freshKey(),
    external_id: freshKey(),
    source: { kind: 'agent' },
    company: { name: 'Corner Shop', country: 'GB' },
    contact: { name: 'Bea Buyer', email: BUYER },
    consent: { basis: 'consent', obtained_at: '2026-01-20T09:00:00.000Z' },
    ...over,
  });
  const allow = (w: World, owner: string, per_day: number) =>
    desk(w, owner, 'POST', '/outreach/acme/automatic-delivery', { per_day });
  const accepted = async (w: World, key: string, staff: string, over: object = {}) => {
    const { id } = await proposed(w.app, key, 'submitLead', lead(over));
    const moved = await desk(w, staff, 'POST', `/leads/${id}/move`, {
      owner_id: 'acme',
      to: 'accepted',
    });
    expect(moved.status, moved.text).toBe(200);
    return id;
  };

  it('A delivery is sent at once where the owner set it, to an accepted lead with consent, within the limit of the day', async () => {
    const { w, owner, staff, key } = await world();
    w.startDeliveries();
    const lead_id = await accepted(w, key, staff);
    expect((await allow(w, owner, 1)).status).toBe(200);
    const first = await create(w, key);
    await w.settle();
    expect(await read(w, key, first)).toMatchObject({
      status: 'confirmed',
      approval: { required: 0, automatic: { lead_id } },
    });
    expect(w.live.sent).toHaveLength(1);
    expect(await read(w, key, await create(w, key))).toMatchObject({ status: 'pending_approval' });
    await w.advance(DAY_MS);
    expect(await read(w, key, await create(w, key))).not.toMatchObject({
      status: 'pending_approval',
    });
  });

  it.each([
    ['the owner did not set it', { per_day: 0 }],
    ['staff decide', { mode: 'admin_approved' }],
    [
      'the basis is not consent',
      { consent: { basis: 'contract', obtained_at: '2026-01-20T09:00:00.000Z' } },
    ],
    ['staff have not accepted the lead', { isAccepted: false }],
    ['the address is of no lead', { email: 'other@shop.example' }],
  ] as const)('A delivery waits for people if %s', async (_why, over) => {
    const {
      mode = 'owner_controlled',
      per_day = 5,
      consent,
      isAccepted = true,
      email = BUYER,
    } = over as unknown as Partial<Record<string, never>>;
    const { w, owner, staff, key } = await world(mode);
    const own = consent ? { consent } : {};
    if (isAccepted) await accepted(w, key, staff, own);
    else await proposed(w.app, key, 'submitLead', lead(own));
    if (per_day > 0) expect((await allow(w, owner, per_day)).status).toBe(200);
    const made = await create(w, key, { buyer: { email } });
    expect(await read(w, key, made)).toMatchObject({ status: 'pending_approval' });
  });

  it('Staff cannot allow deliveries without an approval; the owner can', async () => {
    const { w, owner, staff } = await world();
    expect((await allow(w, staff, 5)).status).toBe(403);
    expect((await allow(w, owner, 5)).body).toMatchObject({ automatic_deliveries_per_day: 5 });
    await configure(w.app, 'acme');
    expect((await desk(w, owner, 'GET', '/outreach/acme')).body).toMatchObject({
      automatic_deliveries_per_day: 5,
    });
  });

  it('A delivery without an approval is not sent once the owner took the rule back', async () => {
    const { w, owner, staff, key } = await world();
    await accepted(w, key, staff);
    await allow(w, owner, 5);
    const made = await create(w, key);
    expect(await read(w, key, made)).toMatchObject({ status: 'approved' });
    await allow(w, owner, 0);
    w.startDeliveries();
    await w.settle();
    expect(w.live.sent).toEqual([]);
    expect(await read(w, key, made)).toMatchObject({ status: 'failed' });
  });
});

describe('The page of a delivery', () => {
  it('The page of a delivery shows the letter, its mailbox and its list, and asks how the buyer asked for it', async () => {
    const { w, key } = await world();
    const made = await create(w, key);
    const staff = await browsingPerson(w.app, { name: 'Sam Staff', roles: ['staff'] });
    expect((await staff.get('/approvals')).text).toContain('Delivery of a list to a buyer of acme');
    const url = `/approvals/${outboundOf(made)}`;
    const { text } = await staff.get(url);
    for (const shown of [BUYER, 'Mugs for Bea', 'Order now!', '{review_link}', '£95.52'])
      expect(text).toContain(shown);
    expect(text).not.toContain('Ask for changes');
    const content_sha256 = /name="content_sha256" value="([^"]+)"/.exec(text)?.[1] ?? '';
    const refused = await staff.press(`${url}/approve`, { content_sha256, note: 'Kept' });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('How asked: is required for a delivery');
    expect(refused.text).toContain('Kept');
    const how_asked = 'At our stand';
    expect((await staff.press(`${url}/approve`, { content_sha256, how_asked })).status).toBe(303);
    expect((await staff.get(url)).text).toContain(how_asked);
  });
});
