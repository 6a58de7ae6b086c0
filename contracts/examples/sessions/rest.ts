/**
 * A complete session of an agent over REST: connection, search, link, list for a buyer, lead, performance.
 *
 *   SERVICE_API_KEY=… node contracts/examples/sessions/rest.ts http://127.0.0.1:3000
 *
 * Prints one JSON line per step. Needs only Node 24.
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

/** Sends a write. The idempotency key is one per intent, the same on every retry. */
const write = (path: string, name: string, body: object): Promise<Answer> =>
  call('POST', path, { body, 'idempotency-key': intent(name) });

const connection = await call('GET', '/connection');
step('read the connection', connection.status, {
  agent: connection.body['agent'],
  granted_scopes: connection.body['granted_scopes'],
});

const products = await call('GET', '/products?q=mug&at_quantity=48&limit=1');
const [product] = products.body['data'] as {
  sku: string;
  title: string;
  price_at_quantity: object;
}[];
if (!product) throw new Error('this catalog has no mug');
step('find a product', products.status, {
  sku: product.sku,
  price_at_quantity: product.price_at_quantity,
});

const linkInput = { target: { kind: 'product', ref: product.sku }, campaign: 'example' };
const link = await write('/links', 'link', linkInput);
step('create a link', link.status, { short_url: link.body['short_url'] });

const again = await write('/links', 'link', linkInput);
step('a retry answers the same link', again.status, {
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

// With the token of a write, a read waits until it shows that write.
const token = { 'consistency-token': lead.headers.get('consistency-token') ?? '' };
const leads = await call('GET', `/leads?external_id=${intent('crm')}`, token);
step('read the lead', leads.status, { leads: (leads.body['data'] as object[]).length });

const numbers = await call('GET', '/performance?group_by=campaign', token);
step('read the performance', numbers.status, { totals: numbers.body['totals'] });

const forbidden = await write('/orders', 'order', { sku: product.sku });
const recovery = forbidden.body['recovery'] as { action: string };
step('an act that no agent can do is refused, with what to do instead', forbidden.status, {
  code: forbidden.body['code'],
  action: recovery.action,
});
