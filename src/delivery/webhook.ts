import { Webhook } from 'standardwebhooks';
import type { Channel } from '#src/ports/delivery.ts';
import type { HttpChannelDeps } from './guarded-request.ts';
import { failedDelivery, answerJson, safeId } from './http-result.ts';

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
