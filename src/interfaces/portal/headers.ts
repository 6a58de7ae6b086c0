import type { FastifyReply } from 'fastify';

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** On every answer of the portal, pictures and redirects too. */
export const PORTAL_HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'strict-origin-when-cross-origin',
} as const;

/** A review link is a credential: it must reach no referrer, no index and no shared cache. */
export const PRIVATE_HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
} as const;

export const LINK_HEADERS = {
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex, nofollow',
} as const;

/** Pages that are the same for everybody. */
export const PUBLIC_PAGE = { 'cache-control': 'public, max-age=60' } as const;

/** Sends bytes that have a digest, or 304 to who holds them already. */
export const sendTagged = (
  reply: FastifyReply,
  file: { type: string; body: Buffer | string; digest: string },
  cacheControl: string,
): FastifyReply => {
  const tag = `"${file.digest}"`;
  reply.headers({ etag: tag, 'cache-control': cacheControl });
  const held = reply.request.headers['if-none-match'] ?? '';
  // A proxy that compresses makes the tag weak; the bytes behind it are the same.
  const isHeld = held.split(',').some((one) => one.trim().replace(/^W\//, '') === tag);
  if (isHeld || held.trim() === '*') return reply.code(304).send();
  return reply.type(file.type).send(file.body);
};
