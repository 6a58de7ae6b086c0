/** What a buyer can do about a warning, and where a request is: on each page of a buyer, in each language. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LANGUAGES } from '#src/shared/messages.ts';
import { de } from '#src/shared/messages/de.ts';
import { en } from '#src/shared/messages/en.ts';
import { feedProduct, testApp, type TestApp } from '../support/world/app.ts';
import { confirmationPath } from '../support/world/confirmation.ts';
import { CONTACT, reviews } from '../support/world/reviews.ts';

let app: TestApp;
let key: string;

beforeAll(async () => {
  app = await testApp();
  ({ key } = await app.agent('acme'));
  await app.publish([
    feedProduct('MUG-1'),
    feedProduct('MUG-2', { moq: 12, increment: 6 }, { available_quantity: 20 }),
    feedProduct('MUG-3', {}, { available_quantity: 3 }),
  ]);
});
afterAll(() => app.close());

const { handoff, get, post } = reviews({ app: () => app, key: () => key });
const remediesIn = (text: string): string[] =>
  [...text.matchAll(/name="use" value="(\d+:\d+)"[^>]*>([^<]+)</g)].map(
    ([, value, label]) => `${value} ${label}`,
  );
const stepIn = (text: string): string | undefined =>
  /aria-current="step"><span>([^<]+)</.exec(text)?.[1];

describe('A warning', () => {
  it('A warning has a button for each nearest quantity without one, and a lower price one that reaches it', async () => {
    const { path } = await handoff({
      line_items: [
        { sku: 'MUG-1', quantity: 42 },
        { sku: 'MUG-1', quantity: 5 },
        { sku: 'MUG-2', quantity: 5 },
        { sku: 'MUG-2', quantity: 13 },
        { sku: 'MUG-3', quantity: 4 },
      ],
    });
    const { text } = await get(path);
    expect(remediesIn(text)).toEqual([
      '1:48 6 more: £1.99 each',
      '2:4 Use 4',
      '2:6 Use 6',
      '2:48 43 more: £1.99 each',
      // The other line of the product leaves less than the smallest quantity.
      '3:0 Take off the list',
      '4:12 Use 12',
      '5:0 Take off the list',
    ]);
  });

  it('The button of a remedy saves the list with its quantity, keeps what else was typed, and says so', async () => {
    const { path } = await handoff({
      line_items: [
        { sku: 'MUG-1', quantity: 5 },
        { sku: 'MUG-1', quantity: 4 },
      ],
    });
    const typed = { list_revision: '1', 'quantity.1': '5', 'quantity.2': '8', use: '1:6' };
    const used = await post(`${path}/quantities`, typed);
    expect(used.headers['location']).toBe(`${path}?saved=1#notice`);
    const saved = (await get(`${path}?saved=1`)).text;
    expect(saved).toContain(en.notice_saved);
    expect(saved).toMatch(/id="quantity\.1"[^>]+value="6"/);
    expect(saved).toMatch(/id="quantity\.2"[^>]+value="8"/);
    expect(saved).toContain('<dt>To look at</dt><dd>Nothing</dd>');
  });

  it.each(['9:5', '1:x', '1:1e9', '<', '1:999999999'])(
    'The quantity %j of a button that the page does not have changes nothing',
    async (use) => {
      const { path } = await handoff();
      const answer = await post(`${path}/quantities`, { list_revision: '1', use });
      expect(answer.status).toBeLessThan(500);
      expect((await get(path)).text).toMatch(/name="list_revision" value="1"/);
    },
  );
});

/** Texts that are the same in both languages, or too short to tell. */
const tells = (text: string): boolean => text.length > 12 && !text.includes('{');
const oneForm = (message: string | { other: string }): string =>
  typeof message === 'string' ? message : message.other;

const isEnglish = (text: string): string[] =>
  Object.entries(en).flatMap(([name, message]) => {
    const form = oneForm(message);
    const isSame = oneForm(LANGUAGES.de[name as keyof typeof en]) === form;
    return tells(form) && !isSame && text.includes(form.replaceAll('**', '')) ? [form] : [];
  });

describe('A request', () => {
  it('A request shows its step on each of its pages, in German for a German list, and keeps the consent as it was shown', async () => {
    const { id, path } = await handoff({ locale: 'de', buyer: { country: 'AT' } });
    const pages: string[] = [];
    const shown = async (url: string): Promise<string> => {
      const { text } = await get(url);
      pages.push(text);
      expect(text).toContain('<html lang="de-AT">');
      expect(text).not.toContain('<body lang');
      return text;
    };
    const open = await shown(path);
    expect(stepIn(open)).toBe(de.step_list);
    expect(open).toContain(de.consent);
    const refused = await post(`${path}/send`, { list_revision: '1' });
    pages.push(refused.text);
    expect(refused.text).toContain(de.fault_name);
    await post(`${path}/send`, { list_revision: '1', ...CONTACT });
    const stored = await app.service.deps.log.readStream(`acme-handoff_${id.slice(4)}`);
    expect(stored.at(-1)?.data).toMatchObject({ consent_text: de.consent });
    expect(stepIn(await shown(path))).toBe(de.step_sent);
    const request = await confirmationPath(app, { id });
    expect(stepIn(await shown(request))).toBe(de.step_sent);
    await post(`${request}/confirm`, { list_revision: '1' });
    expect(stepIn(await shown(request))).toBe(de.step_confirmed);
    const move = (to: string) =>
      app.desk('POST', `/handoffs/${id}/rfq/move`, { owner_id: 'acme', to, reason: 'x' });
    expect((await move('in_progress')).status).toBe(200);
    expect(stepIn(await shown(request))).toBe(de.step_taken_up);
    // The agent knows the review link, and learns no step of staff.
    expect(stepIn(await shown(path))).toBe(de.step_confirmed);
    expect((await move('lost')).status).toBe(200);
    for (const page of [request, path]) {
      const ended = await shown(page);
      expect(stepIn(ended)).toBe(de.step_lost);
      expect(ended).toContain(de.outcome_lost);
    }
    for (const text of pages) expect(isEnglish(text)).toEqual([]);
  });
});
