/** A service in which buyers send RFQs. */
import type { AppDeps } from '#src/registries/app.ts';
import type { Outcome } from '#src/shared/outcome.ts';
import { feedProduct, freshKey, testApp, type TestApp } from '../world/app.ts';
import { buyerOver } from '../world/server-over.ts';

export const STAFF_MAIL = 'sales@house.example';
export const BUYER = { name: 'Bea Buyer', email: 'bea@shop.example' };

/** Opens a service with one product and an agent of acme, with a live and a test key. */
export const rfqWorld = async (env: Record<string, string>) => {
  const app = await testApp(env);
  await app.publish([feedProduct('MUG-1')]);
  const keys = {
    live: (await app.agent('acme')).key,
    test: (await app.agent('acme', undefined, 'test')).key,
  };
  return {
    app,
    keys,
    /** Makes a list of 48 mugs. */
    createList: () => createList(app, keys.live),
    /** Sends an RFQ of 48 mugs, unconfirmed. Each has a mailbox of its own unless one is given. */
    async sendRfq(space: 'live' | 'test' = 'live', contact = freshMailbox()): Promise<Sent> {
      const { id, review_url } = await createList(app, keys[space]);
      const buyer = buyerOver(app.service.deps, review_url);
      expectDone(await buyer.send({ list_revision: 1, consent: true, contact }));
      return { id, review_url };
    },
    /** Sends the list of a review link again, to another mailbox. */
    async sendAgain(review_url: string, contact: typeof BUYER): Promise<void> {
      const buyer = buyerOver(app.service.deps, review_url);
      expectDone(await buyer.send({ list_revision: 1, consent: true, contact }));
    },
    /** Sends an RFQ of 48 mugs and confirms it; returns the id of its handoff. */
    async requestRfq(
      space: 'live' | 'test' = 'live',
      over: Partial<AppDeps> = {},
    ): Promise<string> {
      const { id, review_url } = await createList(app, keys[space]);
      const buyer = buyerOver({ ...app.service.deps, ...over }, review_url);
      expectDone(await buyer.request({ list_revision: 1, consent: true, contact: BUYER }));
      return id;
    },
  };
};

type Sent = { id: string; review_url: string };

const expectDone = (outcome: Outcome<unknown>): void => {
  if (!outcome.ok) throw new Error(outcome.detail);
};

const freshMailbox = () => ({ ...BUYER, email: `${freshKey()}@shop.example` });

const createList = async (app: TestApp, key: string) => {
  const answer = await app.send({
    method: 'POST',
    url: '/api/affiliate/v1/handoffs',
    key,
    payload: { title: 'Mugs', line_items: [{ sku: 'MUG-1', quantity: 48 }] },
    headers: { 'idempotency-key': freshKey() },
  });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body as { id: string; review_url: string };
};
