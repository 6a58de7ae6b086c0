/**
 * A complete session of an agent over MCP 2026-07-28: discover, search, create a link, propose a post that people
 * approve. One POST per message; the protocol has no sessions.
 *
 *   SERVICE_API_KEY=… node contracts/examples/sessions/mcp.ts http://127.0.0.1:3000
 *
 * Prints one JSON line per step. Needs only Node 24.
 */
import { agentOf } from './agent.ts';

const { origin, key, intent, step } = agentOf('mcp');

const VERSION = '2026-07-28';

type Result = Record<string, unknown>;

let messages = 0;
const send = async (method: string, params: Record<string, unknown> = {}): Promise<Result> => {
  messages += 1;
  const name = params['name'] ?? params['uri'];
  const response = await fetch(`${origin}/api/affiliate/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: messages,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': VERSION,
          'io.modelcontextprotocol/clientInfo': { name: 'example', version: '1.0.0' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  });
  const { result, error } = (await response.json()) as { result?: Result; error?: object };
  if (!result) throw new Error(`${method}: ${response.status} ${JSON.stringify(error)}`);
  return result;
};

/** Calls a tool. A refusal has the problem as text. */
const call = async (name: string, args: object): Promise<{ refused: boolean; answer: Result }> => {
  const result = await send('tools/call', { name, arguments: args });
  const [first] = result['content'] as { text: string }[];
  const refused = result['isError'] === true;
  const answer = refused ? JSON.parse(first?.text ?? '{}') : result['structuredContent'];
  return { refused, answer: answer as Result };
};

const discovered = await send('server/discover');
step('read the supported versions', 'ok', { versions: discovered['supportedVersions'] });

const { tools } = (await send('tools/list')) as { tools: { name: string }[] };
step('list the tools of this key', 'ok', { tools: tools.map(({ name }) => name) });

const { answer: connection } = await call('get_connection', {});
step('read the connection', 'ok', { agent: connection['agent'] });

const { answer: products } = await call('search_products', { q: 'candle', limit: 1 });
const [product] = products['data'] as { sku: string; title: string }[];
if (!product) throw new Error('this catalog has no candle');
step('find a product', 'ok', { sku: product.sku });

const linkInput = {
  idempotency_key: intent('link'),
  target: { kind: 'product', ref: product.sku },
  channel: 'social',
};
const { answer: link } = await call('create_link', linkInput);
const { answer: again } = await call('create_link', linkInput);
step('create a link; a retry answers the same link', 'ok', {
  short_url: link['short_url'],
  same: link['id'] === again['id'],
});

const post = {
  idempotency_key: intent('post'),
  network: 'mastodon',
  account_ref: 'shop-account',
  link_ids: [link['id']],
};
const bare = await call('request_social_post', {
  ...post,
  text: `Candles in stock: ${String(link['short_url'])}`,
});
step('a text with a link needs a disclosure', 'refused', {
  code: bare.answer['code'],
  recovery: bare.answer['recovery'],
});

const { answer: request } = await call('request_social_post', {
  ...post,
  text: `Candles in stock: ${String(link['short_url'])} ${String(link['disclosure'])}`,
});
step('propose the post: nothing is sent before people approve it', 'ok', {
  outbound_id: request['id'],
  request: request['status'],
});

const { answer: current } = await call('get_outbound_request', { outbound_id: request['id'] });
step('read the status of the request', 'ok', { request: current['status'] });

const order = await call('place_order', { sku: product.sku, quantity: 48 });
step('an act that no agent can do is refused, with what to do instead', 'refused', {
  code: order.answer['code'],
  boundary: order.answer['boundary'],
});
