/** Signed HTTP delivery: Standard Webhooks. */
import { Webhook } from 'standardwebhooks';
import type { Channel } from '#src/ports/delivery.ts';
import type { Clock } from '#src/ports/system.ts';
import type { GuardedRequest } from './guarded-request.ts';
import { faultOf, jsonOf, safeId } from './http-result.ts';

/** As Standard Webhooks recommends: receivers may cut off what is longer. */
const PAYLOAD_BYTES_MAX = 20_000;
const LIMIT_MS = 20_000;

/** POSTs the exact bytes; only a 2xx is a delivery. `url` is the delivery's own. */
export const webhookChannel = ({
  request,
  clock,
}: {
  request: GuardedRequest;
  clock: Pick<Clock, 'now'>;
}): Channel => ({
  limitMs: LIMIT_MS,
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
    const fault = faultOf(answer, clock.now());
    if (fault) return fault;
    if (answer.kind !== 'answer') throw new Error(`no answer, and no fault: ${answer.kind}`);
    // Whether we can read the body or not: the status has said that it arrived.
    const said = jsonOf(answer);
    const receipt = safeId(typeof said === 'object' && said && 'id' in said ? said.id : undefined);
    const evidence = `http_${answer.status}${receipt === undefined ? '' : ` ${receipt}`}`;
    return { outcome: 'delivered', evidence };
  },
});
