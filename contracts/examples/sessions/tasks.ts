/**
 * Six tasks of an agent, with nothing but what the answers say: find under constraints, ten links, a list with quantity
 * problems, the follow-up of leads, a weekly report, and a proposal and its fate. Over MCP, or with OVER=rest what REST has.
 *
 *   SERVICE_API_KEY=… node contracts/examples/sessions/tasks.ts http://127.0.0.1:3000
 *
 * Prints one JSON line per task with its calls and its tokens, which are the characters of the answers divided by 4, and
 * then all of them. Needs only Node 24.
 */
import { agentOf } from './agent.ts';

const { origin, key, intent, step } = agentOf('tasks');
const isRest = process.env['OVER'] === 'rest';

type Answer = Record<string, unknown>;
type Args = Record<string, unknown>;
type Row = Record<string, unknown> & { id: string };

const total = { calls: 0, tokens: 0 };
const task = { calls: 0, tokens: 0 };

const count = (text: string): void => {
  task.calls += 1;
  task.tokens += Math.ceil(text.length / 4);
};

const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };

const overMcp = async (name: string, args: Args): Promise<Answer> => {
  const version = '2026-07-28';
  const response = await fetch(`${origin}/api/affiliate/mcp`, {
    method: 'POST',
    headers: {
      ...headers,
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': version,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name,
        arguments: args,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': version,
          'io.modelcontextprotocol/clientInfo': { name: 'example', version: '1.0.0' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  });
  const text = await response.text();
  count(text);
  const { result } = JSON.parse(text) as {
    result?: { isError?: boolean; structuredContent?: Answer };
  };
  if (!result?.structuredContent || result.isError) throw new Error(`${name}: ${text}`);
  return result.structuredContent;
};

/** The path of each tool that REST has, too. */
const PATHS: Record<string, string> = {
  search_products: '/products',
  create_link: '/links',
  create_handoff: '/handoffs',
  list_leads: '/leads',
  get_performance: '/performance',
};

const overRest = async (
  name: string,
  { idempotency_key: idem, ...args }: Args,
): Promise<Answer> => {
  const isWrite = typeof idem === 'string';
  const query = new URLSearchParams(
    Object.entries(args).map(([member, value]): [string, string] => [member, String(value)]),
  );
  const url = `${origin}/api/affiliate/v1${PATHS[name] ?? ''}${isWrite ? '' : `?${query.toString()}`}`;
  const response = await fetch(url, {
    method: isWrite ? 'POST' : 'GET',
    headers: { ...headers, ...(isWrite && { 'idempotency-key': idem }) },
    ...(isWrite && { body: JSON.stringify(args) }),
  });
  const text = await response.text();
  count(text);
  if (!response.ok) throw new Error(`${name}: ${text}`);
  return JSON.parse(text) as Answer;
};

const call = isRest ? overRest : overMcp;
const rowsOf = (answer: Answer): Row[] => answer['data'] as Row[];

/** Prints what a task took and what came of it. */
const finish = (name: string, shown: object): void => {
  step(name, 'ok', { ...task, ...shown });
  total.calls += task.calls;
  total.tokens += task.tokens;
  Object.assign(task, { calls: 0, tokens: 0 });
};

const found = rowsOf(
  await call('search_products', {
    q: 'mugs for cafes',
    at_quantity: 200,
    price_max: 300,
    currency: 'GBP',
    ship_from: 'GB',
    lead_time_max_days: 5,
    moq_max: 50,
    fields: ['sku', 'title', 'price_at_quantity'],
    limit: 10,
  }),
);
const skus = found.map(({ sku }) => String(sku));
const [sku = ''] = skus;
finish('find under constraints', { skus });

const campaign = intent('week').slice(-64);
const links = Array.from({ length: 10 }, (_, n) => ({
  target: { kind: 'product', ref: skus[n % skus.length] },
  campaign,
  external_id: `${campaign.slice(-50)}:${n}`,
}));
const made: Row[] = [];
if (isRest)
  for (const [n, link] of links.entries())
    made.push(
      (await call('create_link', { idempotency_key: intent(`link-${n}`), ...link })) as Row,
    );
else made.push(...rowsOf(await call('create_links', { idempotency_key: intent('links'), links })));
const mine = isRest
  ? await call('get_performance', {
      group_by: 'link_id',
      campaign,
      include: 'empty',
      granularity: 'total',
      zeros: 'omit',
    })
  : await call('list_records', { kind: 'link', campaign, limit: 10 });
finish('create ten links, and find them again', {
  created: made.filter(({ short_url }) => short_url).length,
  listed: rowsOf(mine).length,
});

type Line = { warnings: string[]; rule?: { below?: number; above?: number } };
const list = (quantity: number) => ({
  idempotency_key: intent('list'),
  title: 'Mugs for the season',
  line_items: [{ sku, quantity }],
});
const checked = await call('create_handoff', { ...list(50), check_only: true });
const [wrong] = checked['line_items'] as Line[];
const { above = 50, below = above } = wrong?.rule ?? {};
const handoff = await call('create_handoff', list(above));
const [right] = handoff['line_items'] as Line[];
finish('make a list without quantity problems', {
  warnings: wrong?.warnings,
  nearest: [below, above],
  remaining: right?.warnings,
});

const leads = rowsOf(await call('list_leads', { updated_since: '2020-01-01T00:00:00Z', limit: 5 }));
const lead = leads.find(({ rfq }) => rfq !== undefined) ?? leads[0];
if (!isRest && lead)
  await call('request_message', {
    idempotency_key: intent('message'),
    channel: 'chat',
    recipient_ref: lead.id,
    text: 'Your mugs are in stock again. Shall we send a list?',
  });
finish('follow up on leads', { states: leads.map(({ state }) => state), rfq: lead?.['rfq'] });

// What an answer reflects has the time of the service.
const { at } = mine['as_of'] as { at: string };
const report = await call('get_performance', {
  group_by: isRest ? 'campaign' : ['campaign'],
  granularity: 'week',
  compare_to: 'previous_period',
  from: new Date(Date.parse(at) - 6 * 86_400_000).toISOString().slice(0, 10),
  metrics: isRest
    ? 'clicks_valid,handoffs_created,rfqs_submitted,leads_submitted'
    : ['clicks_valid', 'handoffs_created', 'rfqs_submitted', 'leads_submitted'],
  zeros: 'omit',
});
finish('report the week beside the week before', { rows: rowsOf(report).length });

if (!isRest) {
  const request = await call('request_social_post', {
    idempotency_key: intent('post'),
    network: 'mastodon',
    account_ref: 'shop-account',
    text: 'Stoneware mugs are in stock again. Ask us for a list.',
  });
  const now = await call('get_record', { id: request['id'] });
  finish('propose a post, and follow its fate', { state: now['status'] });
}

step('all tasks', 'ok', total);
