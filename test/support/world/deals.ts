/** Deals of lists with one line: quoted for an amount, agreed to by the buyer, and won. */
import { freshKey, type TestApp } from './app.ts';
import { quotationOver } from './server-over.ts';

const DAY_MS = 86_400_000;
type Answer = { status: number; body: Record<string, unknown> };

/** The body of a quotation whose only line comes to the amount. */
export const quoteFor = (app: TestApp, amount: number, more: object = {}) => ({
  lines: [{ line_id: '1', quantity: 1, unit_price: { amount, currency: 'GBP' } }],
  valid_until: new Date(app.clock.now() + 30 * DAY_MS).toISOString(),
  accept_difference: true,
  reason: 'As agreed on the telephone',
  ...more,
});

const atRfq = (app: TestApp, id: string, verb: string, payload: object): Promise<Answer> =>
  app.send({
    method: 'POST',
    url: `/api/desk/v1/handoffs/${id}/rfq/${verb}`,
    key: app.deskToken,
    payload,
    headers: { 'idempotency-key': freshKey() },
  });

/** Quotes an RFQ for the amount; a later quotation replaces the one before. */
export const quote = async (app: TestApp, id: string, amount: number, more: object = {}) => {
  const { body } = await app.desk('GET', `/handoffs/${id}/rfq`);
  const { state, quotation } = body as { state: string; quotation?: { number: number } };
  const isReplaced = quotation && ['quoted', 'agreed', 'declined'].includes(state);
  const replaces = isReplaced ? { replaces: quotation.number } : {};
  return atRfq(app, id, 'quote', quoteFor(app, amount, { ...replaces, ...more }));
};

/** Quotes an RFQ for the amount; its buyer agrees, and one person of staff wins it. */
export const win = async (
  app: TestApp,
  { id, ownerId = 'acme', amount }: { id: string; ownerId?: string; amount: number },
): Promise<Answer> => {
  const quoted = await quote(app, id, amount);
  if (quoted.status !== 200) return quoted;
  const agreed = await quotationOver(app.service.deps, { ownerId, handoffId: id }).agree();
  if (!agreed.ok) throw new Error(`the buyer could not agree: ${agreed.detail}`);
  return atRfq(app, id, 'move', { to: 'won' });
};
