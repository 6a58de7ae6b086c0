import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { CONTACT, reviews } from '../support/world/reviews.ts';

const DAY_MS = 86_400_000;

let app: TestApp;
let key: string;

beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
  await app.publish([
    feedProduct('MUG-1', { title: 'Blue <Mug>' }),
    feedProduct('MUG-2', {}, { available_quantity: 3 }),
  ]);
});
afterAll(() => app.close());

const { handoff, get, post, events, confirm } = reviews({ app: () => app, key: () => key });

describe('The forms of the review page', () => {
  it("The review page's forms change quantities, remove lines, and compute new prices", async () => {
    const { id, path } = await handoff();
    const answer = await post(`${path}/quantities`, {
      list_revision: '1',
      'quantity.1': ' 48 ',
      'quantity.2': '0',
    });
    expect(answer).toMatchObject({ status: 303, headers: { location: `${path}?saved=1#notice` } });
    const saved = (await get(`${path}?saved=1`)).text;
    expect(saved).toMatch(/id="notice"[^>]*autofocus><h2>Your quantities are saved/);
    expect(saved.indexOf('id="notice"')).toBeGreaterThan(saved.indexOf('Update quantities'));
    const { text } = await get(path);
    expect(text).not.toContain('id="notice"');
    expect(text).toContain('This is version 2 of the list');
    expect(text).toContain('£95.52');
    expect(text).not.toContain('id="quantity.2"');
    expect(await events(id)).toEqual([
      'HandoffCreated',
      'HandoffOpenedByBuyer',
      'HandoffListRevisedByBuyer',
    ]);
  });

  it("The review page's forms show each fault beside its field and keep what was typed", async () => {
    const { id, path } = await handoff();
    const wrong = { list_revision: '1', 'quantity.1': 'many', 'quantity.2': '6' };
    const { status, text } = await post(`${path}/quantities`, wrong);
    expect(status).toBe(422);
    expect(text).toContain('<title>Please check: Autumn &amp; co');
    expect(text).toContain('<a href="#quantity.1">Blue &lt;Mug&gt;: the quantity must be a whole');
    for (const much of ['100000001', '9'.repeat(400)]) {
      const huge = await post(`${path}/quantities`, { ...wrong, 'quantity.1': much });
      expect(huge.text).toContain('the quantity must be at most 100,000,000.');
    }
    expect(text).toMatch(
      /id="quantity\.1"[^>]+value="many"[^>]+aria-describedby="quantity\.1-fault[^>]+aria-invalid/,
    );
    expect(text).toMatch(/id="quantity\.2"[^>]+value="6"/);
    const none = await post(`${path}/quantities`, {
      list_revision: '1',
      'quantity.1': '0',
      'quantity.2': '0',
    });
    expect(none.status).toBe(422);
    expect(none.text).toContain('<a href="#quantities">At least one line must stay.</a>');

    const sent = await post(`${path}/send`, {
      list_revision: '1',
      name: 'Bea "B" <x>',
      email: 'nope',
      phone: 'a\nb',
    });
    expect(sent.status).toBe(422);
    for (const name of ['email', 'phone', 'consent']) {
      expect(sent.text).toContain(`<a href="#${name}">`);
      expect(sent.text).toMatch(
        new RegExp(`id="${name}"[^>]+aria-describedby="[^"]*${name}-fault"`),
      );
    }
    expect(sent.text).toContain('value="Bea &quot;B&quot; &lt;x&gt;"');
    const declined = await post(`${path}/decline`, {
      reason: 'x'.repeat(501),
      name: 'Bea',
      'quantity.1': '12',
    });
    expect(declined.status).toBe(422);
    expect(declined.text).toMatch(/<details class="card" open>/);
    expect(declined.text).toMatch(/id="quantity\.1"[^>]+value="12"/);
    expect(declined.text).toMatch(/id="name"[^>]+value="Bea"/);
    const both = { list_revision: '1', ...CONTACT, email: 'nope', 'quantity.1': 'many' };
    for (const act of ['send', 'enter']) {
      const { text: page } = await post(`${path}/${act}`, both);
      expect(page).toContain('<a href="#quantity.1">');
      expect(page.includes('<a href="#email">')).toBe(act === 'send');
      expect(page).toMatch(/id="email"[^>]+value="nope"/);
    }
    expect(await events(id)).toEqual(['HandoffCreated', 'HandoffOpenedByBuyer']);
  });

  it("The review page's forms send only the list that the buyer saw", async () => {
    const { id, path } = await handoff();
    await post(`${path}/quantities`, { list_revision: '1', 'quantity.1': '48' });
    for (const list_revision of ['1', '3', 'x', '']) {
      const stale = await post(`${path}/send`, { list_revision, ...CONTACT });
      expect(stale.status).toBe(409);
      expect(stale.text).toContain('<h2>The list has changed</h2>');
      expect(stale.text).toContain('value="bea@shop.example"');
      // Consent was given to another list.
      expect(stale.text).not.toMatch(/id="consent"[^>]*checked/);
    }
    const typed = await post(`${path}/quantities`, { list_revision: '1', 'quantity.1': '7' });
    expect(typed.status).toBe(409);
    expect(typed.text).toMatch(/id="quantity\.1"[^>]+value="48"/);
    expect((await post(`${path}/send`, { list_revision: '2', ...CONTACT })).status).toBe(303);
    await confirm({ id });
    const { text } = await get(path);
    expect(text).toContain('<h1>Your request was sent</h1>');
    expect(text).toContain('<strong>Nothing is ordered.</strong>');
    expect(text).toContain('20 November 2026 at 10:00 UTC');
    expect(text).toContain('£95.52');
    // The promoter's agent has this link, too.
    expect(text).not.toMatch(/bea@|Bea Buyer/);
    expect((await post(`${path}/send`, { list_revision: '2', ...CONTACT })).status).toBe(303);
    expect((await events(id)).filter((type) => type === 'RfqSubmittedByBuyer')).toHaveLength(1);
  });

  it("The review page's forms send the typed quantities in one request, once even if the buyer presses twice", async () => {
    const { id, path } = await handoff({ buyer: { company: 'Corner Shop' } });
    const totals = 'GBP:9552';
    const typed = { list_revision: '1', totals, ...CONTACT, 'quantity.1': '48', 'quantity.2': '0' };
    for (let i = 0; i < 2; i++) expect((await post(`${path}/send`, typed)).status).toBe(303);
    const { text } = await get(path);
    expect(text).toContain('£95.52');
    expect(text).not.toContain('id="quantity.2"');
    const log = await app.service.deps.log.readStream(`acme-handoff_${id.slice(4)}`);
    expect(log.map(({ type }) => type)).toEqual([
      'HandoffCreated',
      'HandoffOpenedByBuyer',
      'HandoffListRevisedByBuyer',
      'RfqSubmittedByBuyer',
    ]);
    expect(log.at(-1)?.data).toMatchObject({
      list_revision: 2,
      totals: [{ amount: 9_552, currency: 'GBP' }],
    });
  });

  it("The review page's forms save changed quantities on Enter, and send the request if nothing changed", async () => {
    const { id, path } = await handoff({ buyer: { company: 'Corner Shop' } });
    const bare = { list_revision: '1', 'quantity.1': '48', company: 'Corner Shop' };
    // The buyer typed nothing that a redirect would lose.
    expect((await post(`${path}/enter`, bare)).status).toBe(303);
    const typed = { ...CONTACT, list_revision: '2', 'quantity.1': '50' };
    for (let i = 0; i < 2; i++) {
      const saved = await post(`${path}/${i === 0 ? 'enter' : 'quantities'}`, typed);
      expect(saved.status).toBe(200);
      expect(saved.text).toMatch(/Your quantities are\s+saved/);
      expect(saved.text).toMatch(/id="email"[^>]+value="bea@shop.example"/);
      expect(saved.text).toMatch(/name="list_revision" value="3"/);
    }
    expect(await events(id)).not.toContain('RfqSubmittedByBuyer');
    expect((await post(`${path}/enter`, { ...typed, list_revision: '2' })).status).toBe(409);
    expect((await post(`${path}/enter`, { ...typed, list_revision: '3' })).status).toBe(303);
    expect(await events(id)).toContain('RfqSubmittedByBuyer');
  });

  it("The review page's forms decline a list with or without a reason", async () => {
    const { id, path } = await handoff();
    const reason = { reason: 'Too\r\n<dear>', 'quantity.1': 'many' };
    expect((await post(`${path}/decline`, reason)).status).toBe(303);
    const { text } = await get(path);
    expect(text).toContain('<h1>You declined this list</h1>');
    expect(text).toContain('Too &lt;dear&gt;');
    expect((await post(`${path}/open`, {})).status).toBe(204);
    const late = await post(`${path}/send`, { list_revision: '1', ...CONTACT });
    expect(late.status).toBe(409);
    expect(late.text).toContain('<h1>You declined this list</h1>');
    expect(await events(id)).toEqual([
      'HandoffCreated',
      'HandoffOpenedByBuyer',
      'HandoffDeclinedByBuyer',
    ]);
  });

  it("The review page's forms record once that a person opened the list", async () => {
    const { id, path } = await handoff();
    for (let i = 0; i < 2; i++) {
      const answer = await app.send({ method: 'POST', url: `${path}/open` });
      expect(answer).toMatchObject({ status: 204, text: '' });
    }
    expect(await events(id)).toEqual(['HandoffCreated', 'HandoffOpenedByBuyer']);
    expect((await get(path)).text).not.toContain('data-open');
  });

  it("The review page's forms are absent when the list has expired or was withdrawn", async () => {
    const [expiring, withdrawn] = [await handoff(), await handoff()];
    const withdrawPath = `/handoffs/${withdrawn.id}/withdraw`;
    expect(
      (await app.desk('POST', withdrawPath, { owner_id: 'acme', reason: 'An error' })).status,
    ).toBe(200);
    expect((await get(withdrawn.path)).text).toContain('<h1>This list was withdrawn</h1>');
    app.clock.advance(31 * DAY_MS);
    const { status, text } = await get(expiring.path);
    expect(status).toBe(200);
    expect(text).toContain('<h1>This list has expired</h1>');
    expect(text).not.toContain('<form');
    expect((await post(`${expiring.path}/quantities`, { list_revision: '1' })).status).toBe(409);
    app.clock.advance(-31 * DAY_MS);
  });
});
