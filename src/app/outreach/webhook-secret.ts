import type { OutreachKind } from '#src/domain/outreach.ts';
import type { Secrets } from '#src/ports/system.ts';

/**
 * Secret of a channel's webhook signatures, as Standard Webhooks writes it: `whsec_` and 32 bytes in
 * base64. Derived, so that it is stored nowhere; a new version is a new secret.
 */
export const webhookSecret = (
  secrets: Pick<Secrets, 'mac'>,
  { ownerId, kind, version }: { ownerId: string; kind: OutreachKind; version: number },
): string =>
  `whsec_${Buffer.from(secrets.mac('webhook', `${ownerId}:${kind}:${version}`), 'hex').toString('base64')}`;
