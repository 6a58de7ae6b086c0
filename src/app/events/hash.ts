import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';

const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz';
const ID_CHARS = 24;

/** SHA-256 over the parts, unambiguous: no two lists of parts give one text. */
export const digestOf = (...parts: readonly string[]): string =>
  hash('sha256', JSON.stringify(parts), 'base64url');

/**
 * A name that is a function of its parts: 120 bits as 24 characters. A retry derives the same
 * stream, and so meets its own.
 */
export const nameOf = (...parts: readonly string[]): string => {
  const bytes = Buffer.from(digestOf(...parts), 'base64url');
  let out = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5 && out.length < ID_CHARS) {
      bits -= 5;
      out += BASE32[(value >> bits) & 31];
    }
  }
  return out;
};

/**
 * Hash of what a request asks, after validation and defaults: spacing, order of members and surface
 * do not matter. Version 1: JCS (RFC 8785) and SHA-256.
 */
export const fingerprintOf = (operation: string, input: object): string =>
  `1.${hash('sha256', canonicalize({ operation, input }) ?? '', 'base64url')}`;
