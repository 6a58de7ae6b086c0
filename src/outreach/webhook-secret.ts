import type { OutreachKind } from '#src/sending/settings.decider.ts';
import type { Secrets } from '#src/ports/system.ts';

/**
 * Derives the secret that signs a channel's webhooks, in the format of Standard Webhooks: `whsec_` and
 * 32 bytes in base64. It is not stored; each version gives another secret.
 */
export const webhookSecret = (
  secrets: Pick<Secrets, 'mac'>,
  { ownerId, kind, version }: { ownerId: string; kind: OutreachKind; version: number },
): string =>
  `whsec_${Buffer.from(secrets.mac('webhook', `${ownerId}:${kind}:${version}`), 'hex').toString('base64')}`;
