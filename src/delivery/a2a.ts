/** Notifies another agent: reads its card, then sends one message over A2A 1.0 JSON-RPC. */
import type { z } from 'zod';
import type { Channel, Delivery, DeliveryResult } from '#src/ports/delivery.ts';
import { type Endpoint, endpointOf, rpcAnswer } from './a2a-card.ts';
import type { HttpChannelDeps } from './guarded-request.ts';
import { type Failed, failedDelivery, answerJson, safeId } from './http-result.ts';

/** For two requests in sequence. */
const LIMIT_MS = 35_000;
const VERSION = { 'a2a-version': '1.0', 'user-agent': 'tributary' };

/** The agent is identified by its card's URL. */
export const a2aChannel = ({ request, clock }: HttpChannelDeps): Channel => ({
  limitMs: LIMIT_MS,
  async deliver(delivery, signal) {
    const cardUrl = delivery.target['agent_card_url'];
    if (cardUrl === undefined) return { outcome: 'refused', reason: 'no_card_url' };
    const headers = { ...VERSION, accept: 'application/json' };
    const response = await request({ method: 'GET', url: cardUrl, headers }, signal);
    const cardFailure = failedDelivery(response, clock.now());
    if (cardFailure) return failedCard(cardFailure);
    if (response.kind !== 'answer' || response.end === 'broken')
      return { outcome: 'retry', reason: 'card_cut_off' };
    if (response.end === 'too_long') return { outcome: 'refused', reason: 'card_too_large' };
    const endpoint = endpointOf(answerJson(response), cardUrl);
    if ('fault' in endpoint) return { outcome: 'refused', reason: endpoint.fault };
    const answer = await request(messageTo(endpoint, delivery), signal);
    const failure = failedDelivery(answer, clock.now());
    if (failure) return keepEnabled(failure);
    const rpc = rpcAnswer.safeParse(answer.kind === 'answer' ? answerJson(answer) : undefined);
    if (!rpc.success || rpc.data.id !== idOf(delivery))
      return { outcome: 'unknown', reason: 'answer_unreadable' };
    return resultOf(rpc.data);
  },
});

/** Removes `disable`: the channel also reaches other agents. */
const keepEnabled = (failure: Failed): Failed =>
  failure.outcome === 'refused' ? { outcome: 'refused', reason: failure.reason } : failure;

/** Reading a card has no effect, so it can be repeated when its outcome is unknown. */
const failedCard = (failure: Failed): Failed => {
  const reason = `card_${failure.reason}`;
  if (failure.outcome === 'unknown') return { outcome: 'retry', reason };
  return keepEnabled({ ...failure, reason });
};

/** The same at each attempt, so that a receiver can recognize a repetition. */
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
/** Codes of JSON-RPC and A2A for invalid or unsupported requests, which had no effect. */
const isRefusal = (code: number): boolean =>
  code !== INTERNAL_ERROR &&
  (code === -32_700 ||
    (code >= -32_603 && code <= -32_600) ||
    (code >= -32_099 && code <= -32_001));

const resultOf = ({ error, result }: z.output<typeof rpcAnswer>): DeliveryResult => {
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
  // The message arrived, and its processing failed.
  if (state === 'failed' || state === 'canceled')
    return { outcome: 'unknown', reason: `task_${state}` };
  return { outcome: 'delivered', evidence: `task ${shown(id)} ${state}` };
};

const shown = (id: string): string => safeId(id) ?? '(unprintable id)';
