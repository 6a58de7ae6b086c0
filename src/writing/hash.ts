import { hash } from 'node:crypto';
import { canonicalJson } from '#src/shared/canonical-json.ts';

const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz';
const ID_CHARS = 24;

/** SHA-256 of the parts as a JSON array, so that different lists of parts have different digests. */
export const digestOf = (...parts: readonly string[]): string =>
  hash('sha256', JSON.stringify(parts), 'base64url');

/** Derives a name from parts: 120 bits as 24 characters in base 32. A retry derives the same name. */
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
 * Hash of a request after validation and defaults, so that white space, the order of members and the surface do not
 * count. Version 1: JCS (RFC 8785) and SHA-256.
 */
export const fingerprintOf = (operation: string, input: object): string =>
  `1.${hash('sha256', canonicalJson({ operation, input }), 'base64url')}`;
