/**
 * A complete session of an agent over A2A 1.0: read the card, propose a promotion that people approve,
 * prepare a list for a buyer, ask how something was attributed.
 *
 *   SERVICE_API_KEY=… node contracts/examples/sessions/a2a.ts http://127.0.0.1:3000
 *
 * Prints one JSON line per step. Needs only Node 24.
 */
import { agentOf } from './agent.ts';

const { origin, key, intent, step } = agentOf('a2a');

type Part = { text?: string; data?: Record<string, unknown> };
type Task = {
  id: string;
  contextId: string;
  status: { state: string; message?: { parts: Part[] } };
  artifacts?: { name: string; parts: Part[] }[];
};

const card = (await (await fetch(`${origin}/.well-known/agent-card.json`)).json()) as {
  skills: { id: string }[];
  supportedInterfaces: { url: string; protocolBinding: string; protocolVersion: string }[];
};
const jsonRpc = card.supportedInterfaces.find((one) => one.protocolBinding === 'JSONRPC');
if (!jsonRpc) throw new Error('the card names no JSON-RPC interface');
step('read the card', 'ok', { skills: card.skills.map(({ id }) => id), url: jsonRpc.url });

let calls = 0;
const rpc = async (method: string, params: object): Promise<Record<string, unknown>> => {
  calls += 1;
  const response = await fetch(jsonRpc.url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'a2a-version': jsonRpc.protocolVersion,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: calls, method, params }),
  });
  const { result, error } = (await response.json()) as { result?: never; error?: object };
  if (!result) throw new Error(`${method}: ${response.status} ${JSON.stringify(error)}`);
  return result;
};

/** messageId is the idempotency key: sending the same message again answers the same task. */
const send = async (messageId: string, part: Part, more: object = {}): Promise<Task> => {
  const message = { messageId, role: 'ROLE_USER', parts: [part], ...more };
  return (await rpc('SendMessage', { message }))['task'] as Task;
};

const artifactOf = ({ artifacts = [] }: Task): Record<string, unknown> =>
  artifacts[0]?.parts.find(({ data }) => data !== undefined)?.data ?? {};

const chat = await send(intent('hello'), { text: 'Please post about candles.' });
step('text alone is not executed: the answer shows what to send', chat.status.state, {
  parts: chat.status.message?.parts.length,
});

const POST = {
  data: {
    skill: 'coordinate_promotion',
    kind: 'social_post',
    network: 'mastodon',
    account_ref: 'shop-account',
    text: 'Candles are back in stock. Ask us for a list.',
  },
};
const proposed = await send(intent('post'), POST);
const again = await send(intent('post'), POST);
step('propose a post: it waits for approval', proposed.status.state, {
  same_task_on_retry: proposed.id === again.id,
});

const read = (await rpc('GetTask', { id: proposed.id })) as unknown as Task;
step('read the task', read.status.state, { task: read.id });

const prepared = await send(intent('list'), {
  data: {
    skill: 'prepare_handoff',
    title: 'Candles for the season',
    line_items: [{ sku: 'CAN-401', quantity: 48 }],
  },
});
const handoff = artifactOf(prepared);
step('prepare a list: only its buyer can send it', prepared.status.state, {
  handoff: handoff['status'],
});

const question = await send(intent('question'), {
  data: { skill: 'attribution_question', handoff_id: handoff['id'] },
});
step('ask how it was attributed', question.status.state, {
  statement: artifactOf(question)['statement'],
});

const order = await send(intent('order'), { data: { skill: 'place_order', sku: 'CAN-401' } });
step('an act that no agent can do is refused', order.status.state, {
  code: order.status.message?.parts.find(({ data }) => data)?.data?.['code'],
});

const { tasks } = (await rpc('ListTasks', { pageSize: 10 })) as unknown as { tasks: Task[] };
step('list the tasks of this agent', 'ok', { states: tasks.map(({ status }) => status.state) });
