import type { Channel, PushDelivery } from '#src/ports/delivery.ts';
import type { HttpChannelDeps } from './guarded-request.ts';
import { failedDelivery } from './http-result.ts';

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
