/** The inbox of staff, references, the search, and one deal made on the pages of the desk alone. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { referenceOf, readReference } from '#src/ports/reference.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../support/world/app.ts';
import { type Browsing, invite, settled, signedInAs } from '../support/world/browsing.ts';
import { appendCopies } from '../support/world/copies.ts';
import { people } from '../support/world/people.ts';
import { buyerOver, quotationOver } from '../support/world/server-over.ts';

let app: TestApp;
let staff: Browsing;
let key: string;
/** Handoffs whose RFQs staff confirmed, in the order in which they were sent. */
const lists: string[] = [];

type Item = { record_id: string; kind: string; waits_for: string; reference?: string };
type Inbox = { data: Item[]; next_after: number | null; next_before: number | null };
const inbox = async (query = ''): Promise<Inbox> => (await app.desk('GET', `/inbox?${query}`)).body;
const found = async (text: string, more = '') =>
  (await app.desk('GET', `/records?text=${encodeURIComponent(text)}${more}`)).body as {
    data: { id: string; kind: string; by: string; reference?: string }[];
    mistyped?: true;
  };

/** Makes a list whose buyer sends it. */
const sent = async (company: string): Promise<string> => {
  const made = await app.send({
    method: 'POST',
    url: '/api/affiliate/v1/handoffs',
    key,
    payload: {
      title: 'Shelf <b>',
      buyer: { company },
      line_items: [{ sku: 'MUG-1', quantity: 10 }],
    },
    headers: { 'idempotency-key': freshKey() },
  });
  const { id, review_url } = made.body as { id: string; review_url: string };
  const contact = {
    name: 'Bea Buyer',
    email: `${freshKey()}@shop.example`,
    message: 'By <Easter>?',
  };
  await buyerOver(app.service.deps, review_url).send({
    list_revision: 1,
    consent: true,
    contact,
  });
  return id;
};

beforeAll(async () => {
  app = await testApp();
  app.service.dispatcher.start();
  await app.publish([feedProduct('MUG-1'), feedProduct('MUG-2')]);
  ({ key } = await app.agent('acme'));
  await people(app).lead(key, 'ada@shop.example');
  for (const company of ['Corner Shop', 'Ölmühle Süd', 'Third']) {
    const id = await sent(company);
    await app.desk('POST', `/handoffs/${id}/rfq/move`, { to: 'confirmed', reason: 'Telephone' });
    lists.push(id);
  }
  staff = await signedInAs(app, await invite(app, ['staff']));
  await settled(app);
});
afterAll(() => app.close());

describe('References for people', () => {
  it('A reference is read back in any spelling, and one wrong character or two exchanged ones are found', () => {
    for (let number = 0; number < 200; number += 1) {
      const id = `hnd_${(number * 7919).toString(32).padStart(24, 'k').slice(-24)}`;
      const reference = referenceOf(id);
      expect(reference).toMatch(
        /^R-[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]$/,
      );
      const data = reference.slice(2, 11).replace('-', '');
      const spelled = reference.toLowerCase().replaceAll('0', 'o').replaceAll('1', 'l');
      for (const text of [
        reference,
        reference.slice(2),
        ` ${reference.replaceAll('-', ' ')}0`.slice(0, -1),
        spelled,
      ])
        expect(readReference(text), text).toEqual({ data });
      const wrong = `${reference.slice(0, 3)}${reference.charAt(3) === 'A' ? 'B' : 'A'}${reference.slice(4)}`;
      expect(readReference(wrong), wrong).toEqual({ mistyped: true });
    }
    for (const text of ['Corner Shop', 'CORNERSHO', 'MUG-1', 'hnd_1', '', 'R-', 'R-7H3E-2KQ'])
      expect(readReference(text), text).toBeUndefined();
  });

  it('A record is found by its reference, its id, and how its id begins, and a mistyped reference is said', async () => {
    const [id = ''] = lists;
    const reference = referenceOf(id);
    const record = { kind: 'handoff', id, owner_id: 'acme', reference };
    expect((await found(reference)).data).toEqual([{ ...record, by: 'reference' }]);
    expect((await found(id)).data).toEqual([{ ...record, by: 'id' }]);
    expect((await found(id.slice(0, 12))).data).toEqual([{ ...record, by: 'id' }]);
    expect((await found(id.slice(0, 6))).data).toEqual([]);
    const last = reference.at(-1) === 'A' ? 'B' : 'A';
    expect(await found(reference.slice(0, -1) + last)).toMatchObject({ data: [], mistyped: true });
    expect((await found(reference, '&kind=lead')).data).toEqual([]);
    expect((await found(reference, '&owner_id=other')).data).toEqual([]);
  });

  it('Staff find records by company, title and SKU, and agents and promoters by name', async () => {
    expect((await found('olmuhle')).data).toMatchObject([{ id: lists[1], by: 'company' }]);
    expect((await found('shelf')).data.map(({ id }) => id)).toEqual(lists.toReversed());
    expect((await found('MUG-')).data).toMatchObject([{ by: 'sku' }, { by: 'sku' }]);
    expect((await found('acme')).data).toContainEqual({
      kind: 'owner',
      id: 'acme',
      owner_id: 'acme',
      by: 'name',
    });
  });
});

describe('The inbox', () => {
  it('What waits is listed over all kinds in the order in which it began, in pages of any size', async () => {
    const all = await inbox('after=0');
    expect(all.data.map(({ kind, waits_for }) => `${kind} ${waits_for}`)).toEqual([
      'lead decision',
      'rfq take_up',
      'rfq take_up',
      'rfq take_up',
    ]);
    const ids = all.data.map(({ record_id }) => record_id);
    for (const limit of [1, 2, 3]) {
      const paged: string[] = [];
      for (let after: number | null = 0; after !== null; ) {
        const page: Inbox = await inbox(`after=${after}&limit=${limit}`);
        paged.push(...page.data.map(({ record_id }) => record_id));
        after = page.next_after;
      }
      expect(paged, `pages of ${limit}`).toEqual(ids);
    }
    expect((await inbox()).data.map(({ record_id }) => record_id)).toEqual(ids.toReversed());
    expect((await inbox('kind=lead')).data).toHaveLength(1);
    expect((await app.desk('GET', '/inbox/counts')).body).toMatchObject({
      counts: { rfq: 3, lead: 1, goods: 0, access: 0, outreach: 0 },
    });
  });

  it('A request that waits for its buyer is shown only on demand', async () => {
    const id = await sent('Quiet Buyer');
    await settled(app);
    const shown = async (query: string) =>
      (await inbox(query)).data.some(({ record_id }) => record_id === id);
    expect(await shown('after=0')).toBe(false);
    expect(await shown('after=0&with_others=true')).toBe(true);
    expect(await shown('after=0&waits_for=confirmation')).toBe(true);
  });

  it('The page shows company, reference, age, sum, promoter and agent, and refuses other roles', async () => {
    const { text } = await staff.get('/desk');
    for (const shown of [
      'Corner Shop',
      referenceOf(lists[0] ?? ''),
      '0 min',
      'acme',
      'Shelf &lt;b&gt;',
    ])
      expect(text).toContain(shown);
    expect(text.indexOf('Corner Shop')).toBeLessThan(text.indexOf('Ölmühle'));
    for (const query of [
      '?kind=nothing',
      '?waits=1',
      '?after=0&owner=acme',
      '?mine=1&due=1&others=1',
    ])
      expect((await staff.get(`/desk${query}`)).status, query).toBe(200);
    expect((await staff.get('/desk?after=x')).status).toBe(400);
    const counts = await staff.get('/desk/counts');
    expect(JSON.parse(counts.text)).toMatchObject({ all: '4', rfq: '3' });
    for (const [role, owners] of [
      ['auditor', []],
      ['owner', ['acme']],
    ] as const) {
      const other = await signedInAs(app, await invite(app, [role], { owners: [...owners] }));
      for (const page of ['/desk', '/desk/counts', '/desk/next?of=x', `/desk/r/${lists[0]}`])
        expect((await other.get(page)).status, `${page} as ${role}`).toBe(403);
    }
  });
});

describe('The search in the header', () => {
  const search = (browser: Browsing, text: string) =>
    browser.press('/desk', '/desk/search', { text });

  it('A reference leads to its record, other texts to a list, and what is found by nothing says so', async () => {
    const [id = ''] = lists;
    expect((await search(staff, referenceOf(id))).to).toBe(`/desk/r/${id}`);
    const byCompany = await search(staff, 'corner');
    expect(byCompany.text).toContain(`href="/desk/r/${id}"`);
    expect((await search(staff, '<nothing>')).text).toContain('&lt;nothing&gt;');
    expect((await search(staff, ' ')).to).toBe('/desk/search');
    expect((await search(staff, 'x'.repeat(300))).status).toBe(400);
    const wrong = referenceOf(id).slice(0, -1) + (referenceOf(id).endsWith('A') ? 'B' : 'A');
    expect((await search(staff, wrong)).text).toContain('looks like a reference');
  });

  it('A promoter is found by the whole name however many others are newer', async () => {
    await app.agent('earliest');
    const { agentId } = await app.agent('others');
    const stream = `others-agent_${agentId.slice(4)}`;
    await appendCopies(app, { stream, count: 210 }, (text, number) =>
      text.replaceAll('others', `others${number}`),
    );
    expect((await search(staff, 'Earliest')).text).toContain('href="/desk/owners/earliest"');
  });

  it('A mailbox is searched by the role privacy alone, and is in no address', async () => {
    expect((await search(staff, 'ada@shop.example')).text).toContain('Nothing is found');
    const privacy = await signedInAs(app, await invite(app, ['staff', 'privacy']));
    const found = await search(privacy, 'ada@shop.example');
    expect(found.status).toBe(200);
    expect(found.text).toContain('/desk/r/led_');
  });
});

describe('A deal on the pages of the desk', () => {
  /** Presses a button of the record's page, and answers the page that follows. */
  const act = async (id: string, name: string, form: Record<string, string> = {}) => {
    const pressed = await staff.press(`/desk/r/${id}`, `/desk/r/${id}/${name}`, form);
    await settled(app);
    return pressed.to === undefined ? pressed : staff.get(pressed.to);
  };

  it('One deal goes from the list to its delivery on pages alone', async () => {
    const [id = ''] = lists;
    const first = await staff.get(`/desk/r/${id}`);
    for (const shown of ['Corner Shop', 'By &lt;Easter&gt;?', referenceOf(id), 'Bea Buyer'])
      expect(first.text).toContain(shown);
    expect((await act(id, 'take')).text).toContain('assigned to you');
    expect((await act(id, 'note', { note: 'Asked for <samples>' })).text).toContain(
      '&lt;samples&gt;',
    );
    expect((await act(id, 'step', { due_on: '2026-12-24', step: 'Call' })).text).toContain('Call');
    expect((await act(id, 'take-up')).text).toContain('The request is taken up.');
    const quoted = await act(id, 'quote', {
      'quantity-1': '12',
      'reason-1': 'A box has twelve',
      valid_until: '2026-12-31',
      terms: 'Payment within 30 days',
      'label-1': 'Shipping',
      'amount-1': '1.00 GBP',
    });
    expect(quoted.text).toContain('The quotation is made.');
    expect(quoted.text).toContain('A box has twelve');
    const agreed = await quotationOver(app.service.deps, {
      ownerId: 'acme',
      handoffId: id,
    }).agree();
    expect(agreed.ok).toBe(true);
    expect((await act(id, 'win')).text).toContain('The request is won.');
    expect((await act(id, 'allocate', { source: 'Shelf B', 'pieces-1': '' })).text).toContain(
      'from Shelf B',
    );
    expect((await act(id, 'ship', { carrier: 'Post' })).text).toContain('shipped');
    const delivered = await act(id, 'deliver');
    expect(delivered.text).toContain('The delivery is recorded.');
    expect((await staff.get('/desk')).text).not.toContain('Corner Shop');
    const next = await staff.get(`/desk/next?of=${id}`);
    expect(next.to).toMatch(/^\/desk\/r\//);
  });

  it('A refusal keeps what was typed, names the field, and changes nothing', async () => {
    const [, id = ''] = lists;
    const { status, text } = await act(id, 'quote', {
      'price-1': 'cheap<',
      terms: 'Typed terms',
      valid_until: '2026-12-31',
    });
    expect(status).toBe(422);
    for (const shown of [
      'Typed terms',
      'value="cheap&lt;"',
      'href="#quote-price-1"',
      'must be an amount',
    ])
      expect(text).toContain(shown);
    const late = await act(id, 'quote', { valid_until: '2020-01-01' });
    expect(late.status).toBe(422);
    expect(late.text).toContain('must be in the future');
    const gone = await act(id, 'quote', {
      'sku-1': 'NONE',
      'reason-1': 'x',
      valid_until: '2026-12-31',
    });
    expect(gone.text).toContain('href="#quote-sku-1"');
    expect((await staff.get(`/desk/r/${id}`)).text).toContain('confirmed; nobody has taken it up');
  });

  it('Two people who act at once: the second sees the new state, and what they typed', async () => {
    const [, , id = ''] = lists;
    const { text } = await staff.get(`/desk/r/${id}`);
    const form = /action="[^"]+\/take-up"[^]*?<\/form>/.exec(text)?.[0] ?? '';
    const csrf = /name="csrf" value="([^"]+)"/.exec(form)?.[1] ?? '';
    const press = (idempotency: string, name: string, more = {}) =>
      staff.post(`/desk/r/${id}/${name}`, { csrf, key: idempotency, act: name, ...more });
    expect((await press('one-key-1234567', 'take-up')).status).toBe(303);
    // The same press again has one effect.
    expect((await press('one-key-1234567', 'take-up')).status).toBe(303);
    const late = await press('two-key-1234567', 'confirm', { reason: 'I know them' });
    expect(late.status).toBe(409);
    expect(late.text).toContain('taken up');
    expect((await staff.post(`/desk/r/${id}/lose`, { csrf: 'x', key: 'k' })).status).toBe(403);
  });

  it('Addresses of nothing, of erased records and of other kinds are sentences, never a failure', async () => {
    for (const [path, status] of [
      ['/desk/r/nothing', 404],
      [`/desk/r/hnd_${'0'.repeat(24)}`, 404],
      [`/desk/r/led_${'0'.repeat(24)}`, 404],
      [`/desk/r/agt_${'0'.repeat(24)}`, 404],
      ['/desk/r/hnd_1', 400],
    ] as const)
      expect((await staff.get(path)).status, path).toBe(status);
    const id = await sent('Erased Shop');
    await app.desk('POST', `/handoffs/${id}/rfq/move`, { to: 'confirmed', reason: 'Telephone' });
    await settled(app);
    await app.desk('POST', `/subjects/${id}/erase`, { reason: 'Asked' });
    await settled(app);
    const page = await staff.get(`/desk/r/${id}`);
    expect(page.status).toBe(200);
    expect(page.text).not.toContain('Bea Buyer');
  });

  it('A lead is decided on its page', async () => {
    const [lead] = (await inbox('kind=lead')).data;
    const id = lead?.record_id ?? '';
    const { text } = await staff.get(`/desk/r/${id}`);
    for (const shown of ['Ada Lovelace', 'ada@shop.example', referenceOf(id)])
      expect(text).toContain(shown);
    const moved = await act(id, 'move-lead', { to: 'accepted' });
    expect(moved.text).toContain('The lead has its new state.');
  });
});
