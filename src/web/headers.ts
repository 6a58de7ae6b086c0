const policyWith = (imageOrigins: readonly string[]): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    ["img-src 'self'", ...imageOrigins].join(' '),
    "script-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** Headers of every answer of the portal, also of pictures and redirects. Pages may show pictures of `imageOrigins`. */
export const portalHeaders = (imageOrigins: readonly string[]) => ({
  'content-security-policy': policyWith(imageOrigins),
  'referrer-policy': 'strict-origin-when-cross-origin',
});

/** Headers that keep a review link, which is a credential, out of referrers, indexes and shared caches. */
export const PRIVATE_HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
} as const;

export const LINK_HEADERS = {
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex, nofollow',
} as const;

/** Headers of pages whose address has an attribution token. */
export const ATTRIBUTED_PAGE = {
  'cache-control': 'private, max-age=60',
  'x-robots-tag': 'noindex',
} as const;

/** Headers of pages that are the same for everybody. */
export const PUBLIC_PAGE = { 'cache-control': 'public, max-age=60' } as const;
