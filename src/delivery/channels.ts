/** The channels of outreach and push notifications: files, webhooks, A2A. */
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import type {
  Channel,
  Delivery,
  DeliveryResult,
  Channels,
  PushDelivery,
} from '#src/ports/delivery.ts';
import type { Clock } from '#src/ports/system.ts';
import {
  type HttpChannelDeps,
  type Failed,
  failedDelivery,
  answerJson,
  safeId,
  guardedRequest,
  type GuardOptions,
} from './http.ts';
import { FILE_LIMIT_MS, type Outbox, storeFile } from './stored-file.ts';

const CARD_LIST_MAX = 100;
const short = z.string().max(2_048);

/** Another agent's card, which is untrusted input. */
const card = z.object({
  name: short,
  description: z.string().max(16_384),
  version: short,
  supportedInterfaces: z
    .array(
      z.object({
        url: short,
        protocolBinding: short,
        protocolVersion: short,
        tenant: short.optional(),
      }),
    )
    .min(1)
    .max(CARD_LIST_MAX),
  capabilities: z.object({}),
  defaultInputModes: z.array(short).max(CARD_LIST_MAX),
  defaultOutputModes: z.array(short).max(CARD_LIST_MAX),
  skills: z.array(z.object({ id: short, name: short })).max(1_000),
});

type Endpoint = { url: string; tenant?: string };

/** Returns the first A2A 1.0 JSON-RPC interface on the card's own host, or the reason for having none. */
const endpointOf = (json: unknown, cardUrl: string): Endpoint | { fault: string } => {
  const parsed = card.safeParse(json);
  if (!parsed.success) return { fault: 'card_invalid' };
  const usable = parsed.data.supportedInterfaces.filter(
    ({ protocolBinding, protocolVersion }) =>
      protocolBinding === 'JSONRPC' && protocolVersion === '1.0',
  );
  if (usable.length === 0) return { fault: 'card_without_jsonrpc' };
  // People approved this host and no other.
  const { origin } = new URL(cardUrl);
  const own = usable.find(({ url }) => URL.parse(url)?.origin === origin);
  if (!own) return { fault: 'card_names_other_host' };
  return { url: own.url, ...(own.tenant && { tenant: own.tenant }) };
};

const STATE =
  /^TASK_STATE_(?:SUBMITTED|WORKING|COMPLETED|FAILED|CANCELED|REJECTED|(?:INPUT|AUTH)_REQUIRED)$/;

/** The parts of SendMessage's answer that are used here. */
const rpcAnswer = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.string(),
  error: z.object({ code: z.int() }).optional(),
  result: z
    .object({
      task: z
        .object({ id: z.string(), status: z.object({ state: z.string().regex(STATE) }) })
        .optional(),
      message: z.object({ messageId: z.string() }).optional(),
    })
    .optional(),
});

/** For two requests in sequence. */
const LIMIT_MS = 35_000;
const VERSION = { 'a2a-version': '1.0', 'user-agent': 'tributary' };

/**
 * Notifies another agent: reads its card, then sends one message over A2A 1.0 JSON-RPC. The agent is identified by its
 * card's URL.
 */
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

const OWNER = /^[a-z0-9]{1,64}$/;
const OUTBOUND = /^[a-z]+_[0-9a-z]{1,64}$/;

/**
 * The outbox, a directory from which the operator's people or programs collect approved outreach: the files are
 * `{owner}/{outbound_id}.{revision}.json`.
 */
export const fileChannel = (outbox: Outbox): Channel => ({
  limitMs: FILE_LIMIT_MS,
  async deliver({ ownerId, outboundId, revision, attempt, envelope }) {
    if (!OWNER.test(ownerId) || !OUTBOUND.test(outboundId) || !Number.isSafeInteger(revision))
      throw new Error(`not a valid file name: ${ownerId}/${outboundId}.${revision}`);
    const name = `${ownerId}/${outboundId}.${revision}.json`;
    return storeFile(outbox, { name, bytes: Buffer.from(envelope, 'utf8'), attempt });
  },
});

/** The recommendation of Standard Webhooks: receivers may truncate longer payloads. */
const PAYLOAD_BYTES_MAX = 20_000;
const WEBHOOK_LIMIT_MS = 20_000;

/** POSTs the exact bytes, signed as in Standard Webhooks. Only a 2xx status is a delivery. */
export const webhookChannel = ({ request, clock }: HttpChannelDeps): Channel => ({
  limitMs: WEBHOOK_LIMIT_MS,
  async deliver({ outboundId, revision, envelope, url, signingSecrets }, signal) {
    if (url === undefined) return { outcome: 'refused', reason: 'no_url' };
    if (Buffer.byteLength(envelope) > PAYLOAD_BYTES_MAX)
      return { outcome: 'refused', reason: 'payload_too_large' };
    const id = `${outboundId}.${revision}`;
    const at = Math.floor(clock.now() / 1_000);
    const signatures = signingSecrets.map((secret) =>
      new Webhook(secret).sign(id, new Date(at * 1_000), envelope),
    );
    const answer = await request(
      {
        method: 'POST',
        url,
        headers: {
          'content-type': 'application/json',
          'user-agent': 'tributary',
          'webhook-id': id,
          'webhook-timestamp': String(at),
          'webhook-signature': signatures.join(' '),
        },
        body: envelope,
      },
      signal,
    );
    const failure = failedDelivery(answer, clock.now());
    if (failure) return failure;
    if (answer.kind !== 'answer') throw new Error(`neither answer nor failure: ${answer.kind}`);
    // The status is enough, even if the body cannot be read.
    const body = answerJson(answer);
    const receipt = safeId(typeof body === 'object' && body && 'id' in body ? body.id : undefined);
    const evidence = `http_${answer.status}${receipt === undefined ? '' : ` ${receipt}`}`;
    return { outcome: 'delivered', evidence };
  },
});

/** The delivery channels: the outbox directory, and two that send guarded requests. */
export const deliveryChannels = (
  outbox: Outbox,
  { guard, clock }: { guard: GuardOptions; clock: Pick<Clock, 'now'> },
): Channels => {
  const http = { request: guardedRequest(guard), clock };
  return { file: fileChannel(outbox), webhook: webhookChannel(http), a2a: a2aChannel(http) };
};

const PUSH_LIMIT_MS = 20_000;

/** POSTs push notifications of A2A 1.0 (4.3.3). Only a 2xx status is a delivery; redirects are not followed. */
export const pushChannel = ({ request, clock }: HttpChannelDeps): Channel<PushDelivery> => ({
  limitMs: PUSH_LIMIT_MS,
  async deliver({ id, url, body, signature, token, authorization }, signal) {
    const headers = {
      'content-type': 'application/a2a+json',
      'user-agent': 'tributary',
      'x-a2a-notification-id': id,
      'x-a2a-notification-signature': signature,
      ...(token !== undefined && { 'x-a2a-notification-token': token }),
      ...(authorization !== undefined && { authorization }),
    };
    const answer = await request({ method: 'POST', url, headers, body }, signal);
    const failure = failedDelivery(answer, clock.now());
    if (failure) return failure;
    if (answer.kind !== 'answer') throw new Error(`neither answer nor failure: ${answer.kind}`);
    return { outcome: 'delivered', evidence: `http_${answer.status}` };
  },
});
