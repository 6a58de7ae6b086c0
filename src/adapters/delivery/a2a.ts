/** Notifies another agent: its card first, then one message over A2A 1.0 JSON-RPC. */
import type { z } from 'zod';
import type { Channel, Delivery, DeliveryResult } from '#src/ports/delivery.ts';
import type { Clock } from '#src/ports/system.ts';
import { type Endpoint, endpointOf, rpcAnswer } from './a2a-card.ts';
import type { GuardedRequest } from './guarded-request.ts';
import { faultOf, jsonOf, safeId } from './http-result.ts';

/** Two requests, one after the other. */
const LIMIT_MS = 35_000;
const VERSION = { 'a2a-version': '1.0', 'user-agent': 'tributary' };

/** The agent is the one whose card the request's target names. */
export const a2aChannel = ({
  request,
  clock,
}: {
  request: GuardedRequest;
  clock: Pick<Clock, 'now'>;
}): Channel => ({
  limitMs: LIMIT_MS,
  async deliver(delivery, signal) {
    const cardUrl = delivery.target['agent_card_url'];
    if (cardUrl === undefined) return { outcome: 'refused', reason: 'no_card_url' };
    const read = await request(
      { method: 'GET', url: cardUrl, headers: { ...VERSION, accept: 'application/json' } },
      signal,
    );
    const unread = faultOf(read, clock.now());
    if (unread) return cardFault(unread);
    if (read.kind !== 'answer' || read.end === 'broken')
      return { outcome: 'retry', reason: 'card_cut_off' };
    if (read.end === 'too_long') return { outcome: 'refused', reason: 'card_too_large' };
    const endpoint = endpointOf(jsonOf(read), cardUrl);
    if ('fault' in endpoint) return { outcome: 'refused', reason: endpoint.fault };
    const answer = await request(messageTo(endpoint, delivery), signal);
    const fault = faultOf(answer, clock.now());
    if (fault) return onlyThis(fault);
    const said = rpcAnswer.safeParse(answer.kind === 'answer' ? jsonOf(answer) : undefined);
    if (!said.success || said.data.id !== idOf(delivery))
      return { outcome: 'unknown', reason: 'answer_unreadable' };
    return verdictOf(said.data);
  },
});

type Fault = Exclude<DeliveryResult, { outcome: 'delivered' }>;

/** One agent that is gone says nothing of the others that the channel reaches. */
const onlyThis = (fault: Fault): Fault =>
  fault.outcome === 'refused' ? { outcome: 'refused', reason: fault.reason } : fault;

/** Reading a card has no effect, so that what is not known of it is no loss. */
const cardFault = (fault: Fault): Fault => {
  const reason = `card_${fault.reason}`;
  if (fault.outcome === 'refused') return { outcome: 'refused', reason };
  return fault.outcome === 'unknown' ? { outcome: 'retry', reason } : { ...fault, reason };
};

/** The same at each attempt: a receiver that remembers it takes the message once. */
const idOf = ({ outboundId, revision }: Delivery): string => `${outboundId}.${revision}`;

const messageTo = ({ url, tenant }: Endpoint, delivery: Delivery) => {
  const data = JSON.parse(delivery.envelope) as { content: { text: string } };
  const message = {
    messageId: idOf(delivery),
    role: 'ROLE_USER',
    parts: [{ text: data.content.text }, { data, mediaType: 'application/json' }],
  };
  const params = {
    ...(tenant !== undefined && { tenant }),
    message,
    configuration: { returnImmediately: true },
  };
  return {
    method: 'POST' as const,
    url,
    headers: { ...VERSION, 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: idOf(delivery), method: 'SendMessage', params }),
  };
};

const INTERNAL_ERROR = -32_603;
/** Invalid or unsupported by JSON-RPC's own codes or those of A2A: said before anything was done. */
const isRefusal = (code: number): boolean =>
  code !== INTERNAL_ERROR &&
  (code === -32_700 ||
    (code >= -32_603 && code <= -32_600) ||
    (code >= -32_099 && code <= -32_001));

const verdictOf = ({ error, result }: z.output<typeof rpcAnswer>): DeliveryResult => {
  if (error) {
    const reason = `rpc_${error.code}`;
    return { outcome: isRefusal(error.code) ? 'refused' : 'unknown', reason };
  }
  if (result?.message)
    return { outcome: 'delivered', evidence: `message ${shown(result.message.messageId)}` };
  if (!result?.task) return { outcome: 'unknown', reason: 'answer_unreadable' };
  const { id, status } = result.task;
  const state = status.state.slice('TASK_STATE_'.length).toLowerCase();
  if (state === 'rejected') return { outcome: 'refused', reason: 'task_rejected' };
  // It got there, and then something went wrong: not for us to call it a success.
  if (state === 'failed' || state === 'canceled')
    return { outcome: 'unknown', reason: `task_${state}` };
  return { outcome: 'delivered', evidence: `task ${shown(id)} ${state}` };
};

const shown = (id: string): string => safeId(id) ?? '(unprintable id)';
