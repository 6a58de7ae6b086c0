/** Lists for buyers and requests to their links, without a browser. */
import { freshKey, type TestApp } from './app.ts';
import { confirmRfq } from './confirmation.ts';

export const CONTACT = { name: 'Bea Buyer', email: 'bea@shop.example', consent: 'yes' };
/** The actions of a list. */
export const ACTS = ['open', 'quantities', 'search', 'decline', 'send', 'enter'];

const LINES = [
  { sku: 'MUG-1', quantity: 4 },
  { sku: 'MUG-2', quantity: 5, note: 'for <b>Ann</b>' },
];

type Made = { id: string; path: string };

/** Creates and uses lists of the promoter acme. */
export const reviews = ({ app, key }: { app: () => TestApp; key: () => string }) => ({
  async handoff(body: object = {}, asKey = key()): Promise<Made> {
    const answer = await app().send({
      method: 'POST',
      url: '/api/affiliate/v1/handoffs',
      key: asKey,
      payload: { title: 'Autumn & co', locale: 'en-GB', line_items: LINES, ...body },
      headers: { 'idempotency-key': freshKey() },
    });
    if (answer.status !== 201) throw new Error(answer.text);
    const { id, review_url } = answer.body as { id: string; review_url: string };
    return { id, path: new URL(review_url).pathname };
  },
  /** Confirms the RFQ of a list by the link that its buyer gets. */
  confirm: (sent: { id: string; ownerId?: string }) => confirmRfq(app(), sent),
  get: (url: string, headers: Record<string, string> = {}) =>
    app().send({ method: 'GET', url, headers }),
  post: (url: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    app().send({
      method: 'POST',
      url,
      payload: new URLSearchParams(fields).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    }),
  events: async (id: string): Promise<string[]> =>
    (await app().service.deps.log.readStream(`acme-handoff_${id.slice(4)}`)).map(
      ({ type }) => type,
    ),
});
