import { hash } from 'node:crypto';
import type { Secrets } from '#src/ports/system.ts';

const TOKEN_CHARS = 40;

/**
 * Derives the secret part of a buyer's link, 160 bits. It is derived so that a replayed answer shows the same link,
 * although only the hash of the token is stored.
 */
export const reviewTokenOf = (secrets: Secrets, handoffId: string): string =>
  secrets.mac('handoff-token', handoffId).slice(0, TOKEN_CHARS);

export const reviewTokenHash = (token: string): string => hash('sha256', token, 'base64url');

/** Derives the secret part of the link that confirms one sending of a list, 160 bits. The review link does not lead to it. */
export const confirmationTokenOf = (
  secrets: Secrets,
  { handoffId, number }: { handoffId: string; number: number },
): string => secrets.mac('rfq-confirmation', `${handoffId}:${number}`).slice(0, TOKEN_CHARS);

/** The path of the page behind the link in the mail. */
export const requestPath = (token: string): string => `/rfq/${token}`;
