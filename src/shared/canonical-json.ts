import canonicalize from 'canonicalize';

/** Writes JSON in canonical form (JCS, RFC 8785). Throws on a lone surrogate. */
export const canonicalJson = (value: object): string => canonicalize(value) ?? '';
