/** Quotations: what staff offer, the letter and page of the buyer, their answers and questions, and who wins. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { referenceOf } from '#src/ports/reference.ts';
import { listStoredMail } from '#src/delivery/mail.ts';
import { hashOfQuotation, type Offer } from '#src/handoffs/quotation.decider.ts';
import { quotationPath, quotationTokenOf } from '#src/shared/signing.ts';
import type { AppDeps } from '#src/registries/app.ts';
import { HANG_MS } from '../support/hang.ts';
import { interceptAppends } from '../support/appends.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { reviews } from '../support/world/reviews.ts';
import { quotationOver, serverOver } from '../support/world/server-over.ts';

const DAY_MS = 86_400_000;
const STAFF_MAIL = 'sales@house.example';
const EMAIL = 'bea@shop.example';
const SECRETS = /sold out until May|Payment within 30 days|Are lids|They are|too dear/;

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await testApp({ RFQS_PER_DAY: '1000', STAFF_MAIL });
  key = (await app.agent('acme')).key;
  await app.publish([
    feedProduct('MUG-1'),
    feedProduct('MUG-2'),
    feedProduct('MUG-3', { title: 'Blue mug' }),
    feedProduct('EUR-1', { currency: 'EUR' }),
  ]);
  app.service.dispatcher.start();
});
afterAll(() => app.close());

const { handoff, get, post, events, confirm } = reviews({ app: () => app, key: () => key });
type Answer = { status: number; body: Record<string, unknown>; text: string };
type Errors = { errors?: { pointer: string }[] };

/** An RFQ of two lines, MUG-1 four times at 2.50 and MUG-2 five times, that its buyer confirmed. */
const rfq = async (): Promise<string> => {
  const { id, path } = await handoff();
  const contact = { name: 'Bea Buyer', email: EMAIL, consent: 'yes' };
  await post(`${path}/send`, { list_revision: '1', ...contact });
  await confirm({ id });
  return id;
};
const act = (id: string, verb: string, payload: object, token = app.deskToken): Promise<Answer> =>
  app.send({
    method: 'POST',
    url: `/api/desk/v1/handoffs/${id}/rfq/${verb}`,
    key: token,
    payload,
    headers: { 'idempotency-key': freshKey() },
  });
const until = (ms = 30 * DAY_MS) => new Date(app.clock.now() + ms).toISOString();
const quote = (id: string, more: object = {}) =>
  act(id, 'quote', { valid_until: until(), ...more });
const read = async (id: string) =>
  (await app.desk('GET', `/handoffs/${id}/rfq`)).body as Record<string, unknown>;
const link = (id: string, number = 1): string =>
  quotationPath(quotationTokenOf(app.service.deps.secrets, { handoffId: id, number }));
const buyer = (id: string, number?: number) =>
  quotationOver(app.service.deps, { ownerId: 'acme', handoffId: id, ...(number && { number }) });
const hashIn = (text: string): string => /name="hash" value="([0-9a-f]{64})"/.exec(text)?.[1] ?? '';
const press = async (path: string, button: string, fields: Record<string, string> = {}) => {
  const hash = hashIn((await get(path)).text);
  return post(`${path}/${button}`, { hash, ...fields });
};
const letters = async (to: string) => {
  const { log, following } = app.service.deps;
  await app.service.dispatcher.idle();
  await following.passed((await log.head()).position, HANG_MS);
  await app.service.dispatcher.idle();
  return (await listStoredMail(join(app.directory, 'mail'))).filter((one) => one.to === to);
};
const stored = (id: string) => app.service.deps.log.readStream(`acme-handoff_${id.slice(4)}`);
const gbp = (amount: number) => ({ amount, currency: 'GBP' });

/** Replaces the first line and leaves the second one out, for shipping and under terms. */
const OTHER = {
  lines: [
    {
      line_id: '1',
      sku: 'MUG-3',
      unit_price: gbp(300),
      reason: 'The red one is sold out until May',
    },
    { line_id: '2', leave_out: true, reason: 'No longer made' },
  ],
  charges: [{ label: 'Shipping', ...gbp(990) }],
  terms: 'Payment within 30 days.',
};

describe('A quotation', () => {
  it("A quotation has the catalog's price at the quantity for every line, and is mailed with a link that is stored nowhere", async () => {
    const id = await rfq();
    const answer = await quote(id);
    expect(answer).toMatchObject({
      status: 200,
      body: { state: 'quoted', quotation: { number: 1, values: [gbp(4 * 250 + 5 * 250)] } },
    });
    expect(await events(id)).toEqual(expect.arrayContaining(['RfqTakenUp', 'RfqQuoted']));
    const [letter] = (await letters(EMAIL)).filter(
      ({ subject }) => subject === `Quotation 1 for your request ${referenceOf(id)}`,
    );
    expect(letter?.text).toContain(`https://t.example${link(id)}`);
    const token = link(id).split('/').at(-1) ?? '';
    const all = await app.service.deps.log.readAll({ after: 0, limit: 1_000_000 });
    expect(JSON.stringify(all)).not.toContain(token);
    const [{ data } = { data: {} }] = (await stored(id)).filter(({ type }) => type === 'RfqQuoted');
    const event = data as Offer & { number: number; hash: string };
    expect(event.hash).toBe(hashOfQuotation(id, event));
  });

  it('A quotation and its letter are stored in one append', async () => {
    const id = await rfq();
    const appended: string[][] = [];
    const watched = interceptAppends(app.service.deps.log, (appends, write) => {
      appended.push(appends.flatMap((one) => one.events.map(({ type }) => type)));
      return write(appends);
    });
    await quote(id);
    watched.restore();
    expect(appended.find((types) => types.includes('RfqQuoted'))).toContain('MailQueued');
    const key_ = freshKey();
    const again = () =>
      app.send({
        method: 'POST',
        url: `/api/desk/v1/handoffs/${id}/rfq/quote`,
        key: app.deskToken,
        payload: { valid_until: '2027-06-01T00:00:00Z', replaces: 1 },
        headers: { 'idempotency-key': key_ },
      });
    expect((await again()).text).toBe((await again()).text);
    const sent = (await letters(EMAIL)).filter(({ subject }) =>
      subject.startsWith(`Quotation 2 for your request ${referenceOf(id)}`),
    );
    expect(sent).toHaveLength(1);
  });

  it('A quotation replaces and leaves out lines, with charges and terms, and the page marks what differs from the list', async () => {
    const id = await rfq();
    const reason = 'The supplier ended it';
    expect(await quote(id, { ...OTHER, accept_difference: true, reason })).toMatchObject({
      status: 200,
    });
    expect(await read(id)).toMatchObject({
      state: 'quoted',
      reason,
      quotation: {
        values: [gbp(4 * 300 + 990)],
        lines: [
          {
            line_id: '1',
            sku: 'MUG-3',
            quantity: 4,
            unit_price: gbp(300),
            replaces: { sku: 'MUG-1' },
            reason: 'The red one is sold out until May',
          },
        ],
        left_out: [{ line_id: '2', reason: 'No longer made' }],
        charges: [{ label: 'Shipping', ...gbp(990) }],
        terms: 'Payment within 30 days.',
      },
    });
    const { text, headers } = await get(link(id));
    for (const part of [
      'Blue mug',
      'In place of Product MUG-1 (MUG-1).',
      'The red one is sold out until May',
      'On your list £2.50',
      'Not offered.',
      'You asked for 5',
      'Shipping',
      '£21.90',
      'Payment within 30 days.',
      'I want this',
    ])
      expect(text).toContain(part);
    expect(text).not.toContain(reason);
    expect(text).not.toContain('<script');
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
    const print = (await get(`${link(id)}?print=1`)).text;
    expect(print).toContain('£21.90');
    expect(print).not.toMatch(/<form|<button/);
    const log = JSON.stringify(await stored(id));
    expect(log).not.toMatch(SECRETS);
  });

  it('A quotation is refused with the field at fault, and nothing is stored or mailed', async () => {
    const id = await rfq();
    const before = await events(id);
    const line = (more: object) => ({ lines: [{ line_id: '1', ...more }] });
    const cases: [object, string][] = [
      [{ valid_until: '2026-01-01T00:00:00Z' }, '/valid_until'],
      [{ valid_until: 'tomorrow' }, '/valid_until'],
      [line({ unit_price: gbp(-1) }), '/lines/0/unit_price/amount'],
      [line({ unit_price: { amount: 1, currency: 'EUR' } }), '/lines/0/unit_price/currency'],
      [line({ quantity: 0 }), '/lines/0/quantity'],
      [line({ sku: 'NOPE', reason: 'x' }), '/lines/0/sku'],
      [line({ sku: 'MUG-3' }), '/lines/0/reason'],
      [line({ sku: 'EUR-1', reason: 'x' }), '/lines/0/unit_price'],
      [line({ leave_out: true }), '/lines/0/reason'],
      [line({ leave_out: true, reason: 'x', quantity: 4 }), '/lines/0'],
      [{ lines: [{ line_id: '9' }] }, '/lines/0/line_id'],
      [{ lines: [{ line_id: 'x' }] }, '/lines/0/line_id'],
      [{ lines: [{ line_id: '1' }, { line_id: '1' }] }, '/lines'],
      [
        { lines: ['1', '2'].map((line_id) => ({ line_id, leave_out: true, reason: 'x' })) },
        '/lines',
      ],
      [line({ quantity: 100_000_000, unit_price: gbp(Number.MAX_SAFE_INTEGER) }), '/lines'],
      [{ charges: [{ label: 'Shipping', ...gbp(-5) }] }, '/charges/0/amount'],
      [{ charges: [{ label: 'Shipping', amount: 5, currency: 'EUR' }] }, '/charges/0/currency'],
      [{ charges: [{ label: 'Call +44 20 7946 0123', ...gbp(5) }] }, '/charges/0/label'],
      [line({ unit_price: gbp(1) }), '/accept_difference'],
      [{ ...line({ unit_price: gbp(1) }), accept_difference: true }, '/reason'],
      [
        { ...line({ unit_price: gbp(1) }), accept_difference: false, reason: 'x' },
        '/accept_difference',
      ],
      [{ values: [gbp(5)] }, '/values'],
    ];
    for (const [more, pointer] of cases) {
      const { status, body, text } = await quote(id, more);
      expect([status, body['code']], text).toEqual([422, 'validation_failed']);
      expect(
        (body as Errors).errors?.map((one) => one.pointer),
        text,
      ).toContain(pointer);
    }
    expect(await quote(id, { replaces: 1 })).toMatchObject({ status: 409 });
    expect(await act(`hnd_${'0'.repeat(24)}`, 'quote', { valid_until: until() })).toMatchObject({
      status: 404,
    });
    expect(await events(id)).toEqual(before);
  });

  it('A quotation offers a line that is no longer published only with a price, another product or not at all', async () => {
    await app.publish([feedProduct('OLD-1')]);
    const made = await handoff({ line_items: [{ sku: 'OLD-1', quantity: 4 }] });
    await post(`${made.path}/send`, {
      list_revision: '1',
      name: 'Bea',
      email: EMAIL,
      consent: 'yes',
    });
    await confirm(made);
    await app.desk('POST', '/products/withdraw', { sku: 'OLD-1', reason: 'Discontinued' });
    const refused = await quote(made.id);
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('line 1 (OLD-1) is no longer offered: give a unit_price');
    const lines = [{ line_id: '1', unit_price: gbp(240) }];
    expect(await quote(made.id, { lines })).toMatchObject({ status: 200 });
  });

  it('Of two quotations that are made at once, one is stored, and the other is refused', async () => {
    const id = await rfq();
    const answers = await Promise.all([quote(id), quote(id)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect((await events(id)).filter((type) => type === 'RfqQuoted')).toHaveLength(1);
  });

  it('A quotation above APPROVAL_ABOVE keeps all that it offers until another person approves it', async () => {
    const id = await rfq();
    const { body } = await app.desk('POST', '/desk-tokens', { name: 'Ann', roles: ['staff'] });
    const { token } = body as { token: string };
    const deps: AppDeps = { ...app.service.deps, approval: { above: [gbp(100)] } };
    const over = (verb: string, payload: object, by: string) =>
      serverOver(deps).inject({
        method: 'POST',
        url: `/api/desk/v1/handoffs/${id}/rfq/${verb}`,
        payload,
        headers: { authorization: `Bearer ${by}`, 'idempotency-key': freshKey() },
      });
    const offer = { ...OTHER, accept_difference: true, reason: 'x', valid_until: until() };
    expect((await over('quote', offer, app.deskToken)).json()).toMatchObject({
      state: 'in_progress',
      proposed: { to: 'quoted', number: 1 },
    });
    expect((await get(link(id))).status).toBe(404);
    expect((await over('approve', { proposal: 1 }, token)).json()).toMatchObject({
      state: 'quoted',
      quotation: { number: 1, values: [gbp(2_190)] },
    });
    expect((await get(link(id))).text).toContain('Blue mug');
  });
});

describe('The buyer of a quotation', () => {
  it('The buyer of a quotation agrees with a button that GET does not press, and one person wins exactly that quotation', async () => {
    const id = await rfq();
    await quote(id);
    for (const method of ['GET', 'HEAD'] as const)
      expect((await app.send({ method, url: link(id) })).status).toBe(200);
    for (const button of ['agree', 'decline', 'ask'])
      expect((await get(`${link(id)}/${button}`)).headers['location']).toBe(link(id));
    expect(await events(id)).not.toContain('QuotationAgreed');
    for (let times = 0; times < 2; times += 1)
      expect(
        (
          await post(`${link(id)}/agree`, {
            hash: (await buyer(id).read()).ok ? hashOf(await read(id)) : '',
          })
        ).status,
      ).toBe(303);
    expect((await events(id)).filter((type) => type === 'QuotationAgreed')).toHaveLength(1);
    expect((await get(link(id))).text).toContain('Staff have your word');
    const notice = (await letters(STAFF_MAIL)).find(
      ({ subject }) => subject === `Quotation 1 of ${referenceOf(id)}: the buyer wants it`,
    );
    expect(notice?.text).not.toContain(EMAIL);
    expect(await act(id, 'move', { to: 'won', quotation: 2 })).toMatchObject({ status: 409 });
    expect(await act(id, 'move', { to: 'won', quotation: 1 })).toMatchObject({
      body: { state: 'won' },
    });
    expect(await read(id)).toMatchObject({
      won_with: { number: 1, agreed: true },
      won_value: [gbp(2_250)],
    });
    const ended = (await get(link(id))).text;
    expect(ended).toContain('Your request was agreed');
    expect(ended).toContain('£22.50');
    expect(ended).not.toContain('<form');
    const { hash } = (await read(id))['quotation'] as { hash: string };
    expect((await post(`${link(id)}/decline`, { hash, reason: '' })).status).toBe(409);
  });

  it('The buyer of a quotation declines it with a reason that only staff read, and can still agree while it is valid', async () => {
    const id = await rfq();
    await quote(id);
    expect((await press(link(id), 'decline', { reason: 'It is\r\n too dear' })).status).toBe(303);
    expect(await read(id)).toMatchObject({ state: 'declined', reason: 'It is too dear' });
    expect((await get(link(id))).text).toContain('You do not want quotation 1');
    expect((await press(link(id), 'agree')).status).toBe(303);
    expect(await read(id)).toMatchObject({ state: 'agreed' });
    const long = await press(link(id), 'decline', { reason: 'x'.repeat(501) });
    expect(long.status).toBe(422);
    expect(long.text).toContain('x'.repeat(501));
    expect(await read(id)).toMatchObject({ state: 'agreed' });
  });

  it('The buyer of a quotation cannot agree to an older one, to another hash, or after it has expired', async () => {
    const id = await rfq();
    await quote(id);
    const { text: old } = await get(link(id));
    expect((await post(`${link(id)}/agree`, { hash: 'f'.repeat(64) })).status).toBe(409);
    expect((await press(link(id), 'agree')).status).toBe(303);
    expect(await quote(id, { replaces: 1 })).toMatchObject({ body: { quotation: { number: 2 } } });
    const replaced = await post(`${link(id)}/agree`, { hash: hashIn(old) });
    expect(replaced.status).toBe(409);
    expect(replaced.text).toContain('This quotation was replaced');
    expect(await read(id)).toMatchObject({ state: 'quoted', quotation: { number: 2 } });
    const [second] = (await letters(EMAIL)).filter(
      ({ subject }) => subject === `Quotation 2 for your request ${referenceOf(id)}`,
    );
    expect(second?.text).toContain(
      'It replaces quotation 1, which is void, and so is your word for that.',
    );
    const { text: newer } = await get(link(id, 2));
    app.clock.advance(31 * DAY_MS);
    const expired = await post(`${link(id, 2)}/agree`, { hash: hashIn(newer) });
    expect(expired.status).toBe(409);
    expect(expired.text).toContain('Quotation 2 has expired');
    expect(expired.text).toContain('Ask staff');
    expect(await read(id)).toMatchObject({ state: 'expired' });
    expect(await act(id, 'move', { to: 'won' })).toMatchObject({ status: 409 });
    expect(await quote(id)).toMatchObject({ body: { state: 'quoted', quotation: { number: 3 } } });
  });

  it('The buyer of a quotation gets a letter when staff take it back, and cannot agree to it', async () => {
    const id = await rfq();
    await quote(id);
    await act(id, 'move', { to: 'in_progress', reason: 'A wrong price' });
    const [letter] = (await letters(EMAIL)).filter(
      ({ subject }) => subject === `Quotation 1 for your request ${referenceOf(id)} is void`,
    );
    expect(letter?.text).toContain(link(id));
    expect((await get(link(id))).text).toContain('Quotation 1 is void');
    expect(await buyer(id).agree()).toMatchObject({ ok: false, code: 'state_conflict' });
    expect(await quote(id)).toMatchObject({ body: { quotation: { number: 2 } } });
  });

  it('An agreement and a new quotation at once end with a state that says which came first', async () => {
    const id = await rfq();
    await quote(id);
    const { hash } = (await read(id))['quotation'] as { hash: string };
    const [agreed, quoted] = await Promise.all([
      buyer(id, 1).agree({ hash }),
      quote(id, { replaces: 1 }),
    ]);
    expect(quoted.status).toBe(200);
    expect(await read(id)).toMatchObject({ state: 'quoted', quotation: { number: 2 } });
    const types = await events(id);
    expect(types.includes('QuotationAgreed')).toBe(agreed.ok);
  });

  it('The buyer of a quotation whose data was erased reads that it ended, and nobody can go on with it', async () => {
    const id = await rfq();
    await quote(id, { ...OTHER, accept_difference: true, reason: 'x' });
    await buyer(id).ask('Are lids included?');
    await app.desk('POST', `/subjects/${id}/erase`, { reason: 'Asked' });
    const { status, text } = await get(link(id));
    expect(status).toBe(200);
    expect(text).toContain('It was withdrawn');
    expect(text).not.toMatch(SECRETS);
    expect(JSON.stringify(await read(id))).not.toMatch(SECRETS);
    const { hash } = (await read(id))['quotation'] as { hash: string };
    expect((await post(`${link(id)}/agree`, { hash })).status).toBe(409);
    expect((await post(`${link(id)}/decline`, { hash, reason: 'x' })).status).toBe(409);
    expect((await post(`${link(id)}/ask`, { question: '2', text: 'x' })).status).toBe(409);
    for (const answer of [await quote(id), await act(id, 'answer', { question: 1, answer: 'x' })])
      expect(answer.status).toBe(409);
  });
});

describe('A question about a quotation', () => {
  it('A question about a quotation is in the inbox until staff answer it, by mail and on the page', async () => {
    const id = await rfq();
    await quote(id);
    const asked = { question: '1', text: 'Are lids included?\r\nBoth <b>sizes</b>?' };
    for (let times = 0; times < 2; times += 1)
      expect((await post(`${link(id)}/ask`, asked)).status).toBe(303);
    const listed = async (query: string) =>
      ((await app.desk('GET', `/rfqs?${query}`)).body as { data: Record<string, unknown>[] }).data;
    expect(await listed('has_question=true')).toMatchObject([
      { handoff_id: id, open_questions: 1 },
    ]);
    expect(JSON.stringify(await listed('has_question=false'))).not.toContain(id);
    expect(await read(id)).toMatchObject({
      state: 'quoted',
      questions: [{ number: 1, quotation: 1, question: 'Are lids included?\nBoth <b>sizes</b>?' }],
    });
    const [notice] = (await letters(STAFF_MAIL)).filter(
      ({ subject }) => subject === `Quotation 1 of ${referenceOf(id)}: a question`,
    );
    expect(notice?.text).not.toMatch(/lids|bea@/);
    const answer = { question: 1, answer: 'They are.\n\nBoth sizes.' };
    expect(await act(id, 'answer', answer)).toMatchObject({
      status: 200,
      body: { state: 'quoted' },
    });
    expect(await act(id, 'answer', answer)).toMatchObject({ status: 409 });
    expect(await act(id, 'answer', { question: 7, answer: 'x' })).toMatchObject({ status: 409 });
    expect(await listed('has_question=true')).toEqual([]);
    const [letter] = (await letters(EMAIL)).filter(
      ({ subject }) => subject === `Answer to your question about ${referenceOf(id)}`,
    );
    expect(letter?.text).toContain('They are.');
    const { text } = await get(link(id));
    expect(text).toContain('Both &lt;b&gt;sizes&lt;/b&gt;?');
    expect(text).toContain('They are.');
    const second = { question: '1', text: 'And in red?' };
    expect((await post(`${link(id)}/ask`, second)).status).toBe(303);
    expect(await read(id)).toMatchObject({
      questions: [{ number: 1 }, { number: 2, question: 'And in red?' }],
    });
    expect(JSON.stringify(await stored(id))).not.toMatch(SECRETS);
  });

  it('A question about a quotation that cannot be sent is shown again with its fault', async () => {
    const id = await rfq();
    await quote(id);
    const tooLong = 'y'.repeat(2_001);
    for (const text of ['', ' ', tooLong]) {
      const answer = await post(`${link(id)}/ask`, { question: '1', text });
      expect(answer.status).toBe(422);
      expect(answer.text).toContain('The question must be plain text of 1 to 2,000 characters.');
    }
    for (let n = 1; n <= 5; n += 1)
      expect(await buyer(id).ask(`Question ${n}`, n)).toMatchObject({ ok: true });
    const sixth = await post(`${link(id)}/ask`, { question: '6', text: 'Question 6' });
    expect(sixth.status).toBe(409);
    expect(sixth.text).toContain('Many of your questions wait');
    expect(sixth.text).toContain('Question 6');
  });
});

describe('The link of a quotation', () => {
  it('The link of a quotation is for nobody else: no credential, no other link and no number leads to it', async () => {
    const id = await rfq();
    await quote(id);
    const withKey = await app.send({ method: 'GET', url: link(id), key });
    expect(withKey).toMatchObject({ status: 403, body: { code: 'boundary_forbidden' } });
    const { path } = await handoff();
    const review = path.split('/').at(-1) ?? '';
    for (const token of [review, 'x', '0'.repeat(40), link(id, 2).split('/').at(-1) ?? ''])
      expect((await get(quotationPath(token))).status).toBe(404);
    const token = link(id).split('/').at(-1) ?? '';
    for (const other of [`/h/${token}`, `/rfq/${token}`])
      expect((await get(other)).status).toBe(404);
    const { text } = await app.send({
      method: 'GET',
      url: '/api/affiliate/v1/performance?from=2026-11-01',
      key,
    });
    expect(text).not.toContain('22.50');
  });
});

describe('A deal of a house of one', () => {
  it('A deal of a house of one is made by one person, and the record and its events say so', async () => {
    const id = await rfq();
    await quote(id);
    const alone = serverOver({ ...app.service.deps, approval: { isAlone: true } });
    const won = await alone.inject({
      method: 'POST',
      url: `/api/desk/v1/handoffs/${id}/rfq/move`,
      payload: { to: 'won' },
      headers: { authorization: `Bearer ${app.deskToken}`, 'idempotency-key': freshKey() },
    });
    expect(won.json()).toMatchObject({ state: 'won', alone: true });
    expect(await read(id)).toMatchObject({ alone: true, won_with: { number: 1, agreed: false } });
    expect((await stored(id)).at(-1)).toMatchObject({ type: 'RfqWon', data: { alone: true } });
  });
});

describe('A won RFQ', () => {
  it('A won RFQ accepts and wins a lead of its list that staff had not decided on', async () => {
    const id = await rfq();
    const { body } = await app.send({
      method: 'POST',
      url: '/api/affiliate/v1/leads',
      key,
      payload: {
        external_id: freshKey(),
        company: { name: 'Shop', country: 'GB' },
        source: { kind: 'handoff', ref: id },
      },
      headers: { 'idempotency-key': freshKey() },
    });
    const { id: lead } = body as { id: string };
    await quote(id);
    await buyer(id).agree();
    await act(id, 'move', { to: 'won' });
    expect((await app.desk('GET', `/leads/${lead}`)).body).toMatchObject({ state: 'won' });
    const types = (await app.service.deps.log.readStream(`acme-lead_${lead.slice(4)}`)).map(
      ({ type }) => type,
    );
    expect(types).toEqual(['LeadSubmitted', 'LeadAccepted', 'LeadRfqObserved', 'LeadWon']);
  });
});

const hashOf = ({ quotation }: Record<string, unknown>): string =>
  (quotation as { hash: string }).hash;
