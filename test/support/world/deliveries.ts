import { hash } from 'node:crypto';
import type { Delivery } from '#src/ports/delivery.ts';

export const SECRETS = ['first', 'second'].map(
  (name) => `whsec_${hash('sha256', name, 'buffer').toString('base64')}`,
) as [string, string];

/** A second revision's first attempt. */
export const deliveryTo = (over: Partial<Delivery> = {}): Delivery => {
  const envelope =
    over.envelope ??
    JSON.stringify({ id: 'out_1', content: { text: 'Mugs are back.', link_ids: [] } });
  return {
    ownerId: 'acme',
    outboundId: 'out_1',
    revision: 2,
    attempt: 1,
    kind: 'message',
    target: { channel: 'email', recipient_ref: 'list:cafes' },
    sha256: hash('sha256', envelope, 'hex'),
    signingSecrets: SECRETS,
    ...over,
    envelope,
  };
};
