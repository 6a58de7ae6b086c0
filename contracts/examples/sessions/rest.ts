/**
 * A whole session of an agent over REST: who am I, find, link, list for a buyer, lead, numbers.
 *
 *   SERVICE_API_KEY=… node contracts/examples/sessions/rest.ts http://127.0.0.1:3000
 *
 * Prints one JSON line per step. Needs nothing but Node 24.
 */
import { agentOf } from './agent.ts';

const { origin, key, intent, step } = agentOf('rest');

type Answer = { status: number; headers: Headers; body: Record<string, unknown> };

const call = async (
  method: 'GET' | 'POST',
  path: string,
  { body, ...headers }: { body?: object; [header: string]: unknown } = {},
): Promise<Answer> => {
  const response = await fetch(`${origin}/api/affiliate/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body && { 'content-type': 'application/json' }),
      ...(headers as Record<string, string>),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as never,
  };
};

/** A write: one key per intent, the same on every retry. */
const write = (path: string, name: string, body: object): Promise<Answer> =>
  call('POST', path, { body, 'idempotency-key': intent(name) });

const connection = await call('GET', '/connection');
step('who am I, and what may I do', connection.status, {
  agent: connection.body['agent'],
  granted_scopes: connection.body['granted_scopes'],
});

const found = await call('GET', '/products?q=mug&at_quantity=48&limit=1');
const [product] = found.body['data'] as { sku: string; title: string; price_at_quantity: object }[];
if (!product) throw new Error('this catalog has no mug');
step('find a product', found.status, {
  sku: product.sku,
  price_at_quantity: product.price_at_quantity,
});

const linkAsked = { target: { kind: 'product', ref: product.sku }, campaign: 'example' };
const link = await write('/links', 'link', linkAsked);
step('make a link', link.status, { short_url: link.body['short_url'] });

const again = await write('/links', 'link', linkAsked);
step('a retry is the same link', again.status, {
  same: again.body['id'] === link.body['id'],
  replayed: again.headers.get('idempotent-replayed'),
});

const handoff = await write('/handoffs', 'handoff', {
  title: 'Mugs for the season',
  line_items: [{ sku: product.sku, quantity: 48 }],
  link_id: link.body['id'],
});
step('prepare a list: only its buyer can send it as an RFQ', handoff.status, {
  handoff: handoff.body['status'],
  has_review_url: handoff.body['review_url'] !== undefined,
});

const lead = await write('/leads', 'lead', {
  external_id: intent('crm'),
  company: { name: 'Corner Shop', country: 'GB' },
  source: { kind: 'link', ref: link.body['id'] },
});
step('submit a lead', lead.status, { state: lead.body['state'] });

// The token of a write makes a read wait until it shows that write.
const token = { 'consistency-token': lead.headers.get('consistency-token') ?? '' };
const leads = await call('GET', `/leads?external_id=${intent('crm')}`, token);
step('read it back', leads.status, { leads: (leads.body['data'] as object[]).length });

const numbers = await call('GET', '/performance?group_by=campaign', token);
step('what came of it', numbers.status, { totals: numbers.body['totals'] });

const forbidden = await write('/orders', 'order', { sku: product.sku });
const recovery = forbidden.body['recovery'] as { action: string };
step('what no agent can do is refused, with a way forward', forbidden.status, {
  code: forbidden.body['code'],
  action: recovery.action,
});
