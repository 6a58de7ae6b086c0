/** Records with every optional field: each export, view and letter of them answers, and an export has all of it. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { applicationForm } from '#contracts/access/operations.ts';
import { agentOperations } from '#contracts/registries/agents.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import { quotationPath, quotationTokenOf } from '#src/shared/signing.ts';
import { buyerContact } from '#contracts/handoffs/operations.ts';
import { mcpAgent } from '../support/clients/mcp.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { confirmationPath } from '../support/world/confirmation.ts';
import { filled, madeUp } from '../support/world/filled.ts';
import { people } from '../support/world/people.ts';
import { inputSchema, type Schema } from '../support/world/schema-values.ts';
import { buyerOver, quotationOver } from '../support/world/server-over.ts';

const EMAIL = 'ada.filled@shop.example';

/** Entered texts that are no personal data. */
const IN_CLEAR = [
  'Filled buyer company',
  'Filled company name',
  'Filled consent text_version',
  'Filled external_id',
  'Filled interest categories',
  'Filled metadata any',
  'Filled title',
  'https://shop.example/filled',
];

let app: TestApp;
let key: string;
let world: ReturnType<typeof people>;
/** What was entered about the person, by record. */
const entered: Record<string, unknown> = {};
const ids: Record<'lead' | 'handoff' | 'review', string> = { lead: '', handoff: '', review: '' };

const agentCall = async (path: string, payload: object) => {
  const headers = { 'idempotency-key': freshKey() };
  const url = `/api/affiliate/v1/${path}`;
  const answer = await app.send({ method: 'POST', url, key, payload, headers });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body as Record<string, string> & { id: string; review_url: string };
};
const deskCall = async (path: string, payload: object) => {
  const answer = await app.desk('POST', path, payload);
  expect(answer.status, `${path} ${answer.text}`).toBeLessThan(300);
  return answer.body as Record<string, string>;
};
const formSchema = (form: z.ZodType): Schema => z.toJSONSchema(form, { io: 'input' }) as Schema;

beforeAll(async () => {
  app = await testApp({ STAFF_MAIL: 'staff@tributary.example' });
  world = people(app);
  app.service.dispatcher.start();
  await app.publish([feedProduct('MUG-1')]);
  ({ key } = await app.agent('acme'));
  const target = { kind: 'product', ref: 'MUG-1' };
  const link = await agentCall('links', { target });

  const { idempotency_key: _one, ...lead } = filled(inputSchema(agentOperations.submitLead), {
    '/withdraw': undefined,
    '/withdraw_reason': undefined,
    '/source': { kind: 'link', ref: link.id },
    '/interest/product_ids': undefined,
  }) as Record<string, unknown>;
  ids.lead = (await agentCall('leads', lead)).id;
  entered['lead'] = lead;

  const { idempotency_key: _two, ...handoff } = filled(inputSchema(agentOperations.createHandoff), {
    '/link_id': link.id,
    '/line_items/0/product_id': undefined,
    '/line_items/0/sku': 'MUG-1',
    '/line_items/0/quantity': 4,
    '/expires_at': '2026-12-20T09:00:00Z',
    // Its letter waits for an approver, and has nothing that the list has not.
    '/deliver': undefined,
    '/check_only': undefined,
  }) as Record<string, unknown>;
  const made = await agentCall('handoffs', handoff);
  [ids.handoff, ids.review] = [made.id, made.review_url];
  entered['handoff'] = handoff;

  const contact = filled(formSchema(buyerContact)) as object;
  const buyer = buyerOver(app.service.deps, ids.review);
  const sent = await buyer.send({
    list_revision: 1,
    quantities: new Map(),
    consent: true,
    contact,
  });
  expect(sent).toMatchObject({ ok: true });
  entered['contact'] = contact;

  await moveAndNote();
  await setProfile();
  await apply();
  await lettersSent();
});
afterAll(() => app.close());

/** Waits until each letter of what was done is sent or dropped by the limit of its mailbox, which the clock moves. */
const lettersSent = async () => {
  await world.caughtUp();
  await app.service.dispatcher.idle();
};

const moveAndNote = async () => {
  const of = (id: string, operation: { input: z.ZodObject }, known: object = {}) => {
    const { idempotency_key: _key, ...input } = filled(inputSchema(operation), {
      '/lead_id': undefined,
      '/handoff_id': undefined,
      '/record_id': undefined,
      '/owner_id': 'acme',
      ...known,
    }) as Record<string, unknown>;
    return [id, input] as const;
  };
  const { addNote, planNextStep, moveLead, moveRfq, quoteRfq, answerQuestion } = deskOperations;
  for (const record of [ids.lead, ids.handoff]) {
    const [, note] = of(record, addNote);
    await deskCall(`/plans/${record}/notes`, note);
    entered[`note of ${record}`] = { note: note['note'] };
    const [, step] = of(record, planNextStep, { '/due_at': '2026-12-01T09:00:00Z' });
    await deskCall(`/plans/${record}/next-step`, step);
  }
  for (const to of ['accepted', 'contacted', 'qualified', 'won']) {
    const value = to === 'won' ? { amount: 100, currency: 'GBP' } : undefined;
    const [, move] = of(ids.lead, moveLead, { '/to': to, '/value': value });
    await deskCall(`/leads/${ids.lead}/move`, move);
    entered['reason of the lead'] = { reason: move['reason'] };
  }
  const rfqCall = (verb: string, operation: { input: z.ZodObject }, known: object) =>
    deskCall(`/handoffs/${ids.handoff}/rfq/${verb}`, of(ids.handoff, operation, known)[1]);
  for (const to of ['confirmed', 'in_progress'])
    await rfqCall('move', moveRfq, { '/to': to, '/quotation': undefined });
  const offer = {
    '/lines/0/line_id': '1',
    '/lines/0/quantity': 4,
    '/lines/0/unit_price': { amount: 250, currency: 'GBP' },
    '/lines/0/sku': 'MUG-1',
    '/lines/0/leave_out': undefined,
    '/charges/0/currency': 'GBP',
    '/valid_until': '2026-12-10T09:00:00Z',
    '/accept_difference': true,
  };
  await rfqCall('quote', quoteRfq, { ...offer, '/replaces': undefined });
  const holder = quotationOver(app.service.deps, { ownerId: 'acme', handoffId: ids.handoff });
  const [question, reason] = ['Filled question of the buyer', 'Filled reason of the buyer'];
  expect(await holder.ask(question)).toMatchObject({ ok: true });
  expect(await holder.decline({ reason })).toMatchObject({ ok: true });
  const [, reply] = of(ids.handoff, answerQuestion, { '/question': 1 });
  await deskCall(`/handoffs/${ids.handoff}/rfq/answer`, reply);
  entered['quotation'] = { question, reason, answer: reply['answer'] };
  await rfqCall('quote', quoteRfq, { ...offer, '/replaces': 1 });
  expect(await holder.agree()).toMatchObject({ ok: true });
  await rfqCall('move', moveRfq, { '/to': 'won', '/quotation': 2 });
};

const setProfile = async () => {
  const { idempotency_key: _key, ...profile } = filled(
    inputSchema(deskOperations.setOwnerProfile),
    {
      '/owner_id': undefined,
      '/fallback': { kind: 'product', ref: 'MUG-1' },
    },
  ) as Record<string, unknown>;
  await deskCall('/owners/acme/profile', profile);
  entered['profile'] = { name: profile['name'], postal_address: profile['postal_address'] };
};

const apply = async () => {
  const form = filled(formSchema(applicationForm), { '/owner_id': 'newcomer' }) as Record<
    string,
    string | string[]
  >;
  const pairs = Object.entries(form).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, one]),
  );
  const { status, text } = await app.send({
    method: 'POST',
    url: '/apply',
    payload: new URLSearchParams(pairs).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    remoteAddress: '198.51.100.9',
  });
  expect(status, text).toBe(200);
  entered['application'] = form;
};

it('The export of a person has every text that was entered about the person, at the desk and on /privacy', async () => {
  const { status, text } = await world.act('export', EMAIL);
  expect(status, text).toBe(200);
  app.clock.advance(3_600_000);
  const asked = await app.send({
    method: 'POST',
    url: '/privacy',
    payload: new URLSearchParams({ mailbox: EMAIL }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    remoteAddress: '198.51.100.10',
  });
  expect(asked.status).toBe(200);
  const page = await world.mailedPath(EMAIL);
  const copy = await app.send({
    method: 'POST',
    url: `${page}/export`,
    payload: '',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  expect(copy.status, copy.text).toBe(200);
  for (const [record, input] of Object.entries(entered))
    for (const one of madeUp(input)) {
      const quoted = JSON.stringify(one).slice(1, -1);
      expect(text, `${record}: ${one}`).toContain(quoted);
      expect(copy.text, `${record}: ${one}`).toContain(quoted);
    }
});

/** Every view of the records: the answers by address. */
type Views = Record<string, { status: number; text: string }>;
const readViews = async (): Promise<Views> => {
  const [lead, handoff] = [ids.lead, ids.handoff];
  const audit = 'owner_id=acme&at=2026-11-20&reason=Dispute';
  const views = [
    `/leads/${lead}?owner_id=acme`,
    `/handoffs/${handoff}/rfq?owner_id=acme`,
    `/plans/${lead}`,
    `/plans/${handoff}`,
    '/leads',
    '/leads?state=lapsed',
    '/rfqs',
    '/handoffs?owner_id=acme',
    '/links?owner_id=acme',
    '/history?owner_id=acme',
    '/owners/acme/profile',
    '/access-requests',
    '/agents?owner_id=acme',
    '/audit/state?owner_id=acme&at=2026-11-20&kind=lead',
    '/audit/state?owner_id=acme&at=2026-11-20&kind=handoff',
    `/audit/state?${audit}&kind=lead`,
    `/audit/state?${audit}&kind=handoff`,
    '/audit/events?owner_id=acme&reason=Dispute',
    '/audit/history?owner_id=acme',
    `/audit/trace/${lead}`,
    `/audit/trace/${handoff}`,
  ];
  const answers: Views = {};
  for (const view of views) answers[view] = await app.desk('GET', view);
  for (const view of ['leads', 'performance', 'connection', 'products']) {
    const url = `/api/affiliate/v1/${view}`;
    answers[url] = await app.send({ method: 'GET', url, key });
  }
  for (const uri of [`leads/${lead}`, `handoffs/${handoff}`]) {
    const { status, text } = await mcpAgent(app, key).legacy('resources/read', {
      uri: `tributary://${uri}`,
    });
    answers[uri] = { status, text };
  }
  const request = await confirmationPath(app, { id: handoff });
  const of = { handoffId: handoff, number: 2 };
  const quotation = quotationPath(quotationTokenOf(app.service.deps.secrets, of));
  for (const url of [new URL(ids.review).pathname, request, quotation])
    answers[url] = await app.send({ method: 'GET', url });
  return answers;
};

it('Every view of such records answers', async () => {
  for (const [view, { status, text }] of Object.entries(await readViews()))
    expect(status, `${view} ${text}`).toBe(200);
});

it('Every letter about them is sent', async () => {
  await lettersSent();
  const types = (await allEvents()).map(({ type }) => type);
  expect(types).not.toContain('MailFailed');
  expect(types.filter((type) => type === 'MailSent').length).toBeGreaterThan(3);
});

it('The log has nothing of it in clear but what is no personal data', async () => {
  const log = JSON.stringify(await allEvents());
  const clear = Object.values(entered)
    .flatMap(madeUp)
    .filter((one) => log.includes(JSON.stringify(one)));
  expect([...new Set(clear)].toSorted()).toEqual(IN_CLEAR);
});

const LOST = ['missing', 'damaged'] as const;

it.each(LOST)(
  'Every view whose keys are %s answers, and says so in place of the texts',
  async (why) => {
    const sealed = Object.values(entered)
      .flatMap(madeUp)
      .filter((one) => !IN_CLEAR.some((clear) => clear.includes(one)));
    const showing = Object.entries(await readViews()).filter(([, { text }]) =>
      sealed.some((one) => text.includes(JSON.stringify(one).slice(1, -1))),
    );
    expect(showing.length).toBeGreaterThan(10);
    const unseal = vi.spyOn(app.service.deps.vault, 'unseal');
    unseal.mockImplementation(async (texts) => texts.map(() => ({ key: why })));
    const copy = await world.act('export', EMAIL);
    const answers: Views = { ...(await readViews()), export: copy };
    unseal.mockRestore();
    for (const [view, { status, text }] of Object.entries(answers)) {
      expect(status, `${view} ${text}`).toBe(200);
      const shown = sealed.filter((one) => text.includes(JSON.stringify(one).slice(1, -1)));
      expect(shown, view).toEqual([]);
    }
    // An exported event has its sealed text, and nothing in place of the opened one.
    const silent = showing.filter(
      ([view]) =>
        !view.startsWith('/audit/events') && !answers[view]?.text.includes(`[key ${why}]`),
    );
    expect(silent.map(([view]) => view)).toEqual([]);
  },
);

const allEvents = async () => {
  const { log } = app.service.deps;
  return log.readBack({ upTo: (await log.head()).position, limit: 100_000 });
};
