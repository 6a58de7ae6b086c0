/** What a stranger can do to a mailbox with the public forms: flood it, or ask about it. */
import { referenceOf } from '#src/ports/reference.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LIMITS } from '#contracts/limits.ts';
import { mailing } from '../support/dispatch/mailing.ts';
import { confirmationPath } from '../support/world/confirmation.ts';
import { DAY_MS } from '../support/world/outreach-acts.ts';
import { people } from '../support/world/people.ts';
import { reviews } from '../support/world/reviews.ts';

const MINUTE_MS = 60_000;
const VICTIM = 'victim@shop.example';
const LINES = [{ sku: 'MUG-1', quantity: 48 }];

let w: Awaited<ReturnType<typeof mailing>>;
beforeEach(async () => {
  w = await mailing();
});
afterEach(async () => {
  expect(w.faults).toEqual([]);
  await w.end();
});

const { handoff, get, confirm } = reviews({ app: () => w.app, key: () => w.keys.live });

let networks = 0;
/** Sends a form from a network of its own. */
const post = (url: string, fields: Record<string, string>) =>
  w.app.send({
    method: 'POST',
    url,
    payload: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    remoteAddress: `198.51.${(networks += 1) >> 8}.${networks & 255}`,
  });
const sendList = async (email: string) => {
  const { id, path } = await handoff({ line_items: LINES });
  const fields = { list_revision: '1', name: 'Mallory', email, consent: 'yes' };
  return { id, path, sent: await post(`${path}/send`, fields) };
};
/** Each way to have a message sent to an address that anybody can type. */
const FORMS: ((email: string) => Promise<{ status: number }>)[] = [
  async (email) => (await sendList(email)).sent,
  (mailbox) => post('/privacy', { mailbox }),
  (mailbox) =>
    post('/apply', {
      name: 'Mallory',
      postal_address: 'London',
      mailbox,
      owner_id: `promoter${networks}`,
      agent_name: 'Mallory',
      purpose: 'Mallory',
      scopes: 'products:read',
    }),
];

describe('Forms from many networks', () => {
  it('Forms from many networks mail one mailbox once in ten minutes and three times a day, whatever the forms are', async () => {
    w.start();
    const counts: number[] = [];
    for (let n = 0; n < 12; n += 1) {
      // The spelling of the address gives no other limit.
      const email = n % 2 === 0 ? VICTIM.toUpperCase() : VICTIM;
      const form = FORMS[n % FORMS.length];
      expect((await form?.(email))?.status).toBeLessThan(400);
      await w.settle();
      await w.advance(MINUTE_MS);
      counts.push(w.live.sent.length);
    }
    expect(counts).toEqual([...Array<number>(9).fill(1), 2, 2, 2]);
    await w.advance(DAY_MS - 13 * MINUTE_MS);
    expect(w.live.sent).toHaveLength(LIMITS.CONFIRMATION_MAILS_PER_DAY);
    expect(new Set(w.live.sent.map(({ to }) => to.toLowerCase()))).toEqual(new Set([VICTIM]));
    for (const { subject, text, html } of w.live.sent)
      for (const part of [subject, text, html]) expect(part).not.toContain('Mallory');
  });
});

describe('The form of a list', () => {
  /** Makes each mailbox what its name says. Nothing is sent afterwards, so that only the work of a form is counted. */
  const prepare = async (): Promise<void> => {
    const dispatcher = w.start();
    const world = people(w.app);
    await world.lead(w.keys.live, 'known@shop.example');
    await world.act('withdraw', 'suppressed@shop.example');
    await confirm(await sendList('confirmed@shop.example'));
    const { id } = await sendList('blocked@shop.example');
    await post(`${await confirmationPath(w.app, { id })}/not-me`, {});
    await sendList('mailed@shop.example');
    await w.settle();
    await dispatcher.stop();
  };

  /** All that the sender sees, and all that the service does before it answers. */
  const trySend = async (email: string) => {
    const { id, path } = await handoff({ line_items: LINES });
    await w.settle();
    const { log, vault } = w.app.service.deps;
    const spies = [
      vi.spyOn(log, 'readStream'),
      vi.spyOn(log, 'readAll'),
      vi.spyOn(log, 'appendAll'),
      vi.spyOn(log, 'append'),
      vi.spyOn(vault, 'seal'),
    ];
    const fields = { list_revision: '1', name: 'Mallory', email, consent: 'yes' };
    const sent = await post(`${path}/send`, fields);
    const work = spies.map((spy) => spy.mock.calls.length);
    for (const spy of spies) spy.mockRestore();
    await w.settle();
    const page = await get(sent.headers['location'] ?? '');
    const blind = (text: string) =>
      text.replaceAll(path, '/h/TOKEN').replaceAll(id, 'ID').replaceAll(referenceOf(id), 'R-ID');
    return {
      status: sent.status,
      location: blind(sent.headers['location'] ?? ''),
      headers: Object.keys(sent.headers).toSorted(),
      work,
      page: blind(page.text),
    };
  };

  it('The form of a list answers the same, with the same work, for every mailbox', async () => {
    await prepare();
    const expected = await trySend('unknown@shop.example');
    expect(expected).toMatchObject({ status: 303 });
    expect(expected.page).toContain('Look into your mailbox');
    for (const name of ['known', 'suppressed', 'confirmed', 'blocked', 'mailed'])
      expect({ name, ...(await trySend(`${name}@shop.example`)) }).toEqual({ name, ...expected });
  });
});
