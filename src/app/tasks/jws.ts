import canonicalize from 'canonicalize';
import type { Secrets } from '#src/ports/system.ts';

type Signed = { protected: string; signature: string };

const base64url = (text: string): string => Buffer.from(text).toString('base64url');

/**
 * Removes what protobuf treats as absent (empty texts, lists and objects), as signing and checking an agent card
 * require. Undefined when nothing is left.
 */
const withoutAbsent = (value: unknown): unknown => {
  if (value === '' || value === null || value === undefined) return undefined;
  if (Array.isArray(value)) {
    const items = value.map(withoutAbsent).filter((item) => item !== undefined);
    return items.length > 0 ? items : undefined;
  }
  if (typeof value !== 'object') return value;
  const members = Object.entries(value)
    .map(([name, member]) => [name, withoutAbsent(member)] as const)
    .filter(([, member]) => member !== undefined);
  return members.length > 0 ? Object.fromEntries(members) : undefined;
};

/** Makes a detached JWS (EdDSA) over the JCS (RFC 8785) of a document; `jku` is the address of the key set. */
export const signDocument = (
  { signing }: Pick<Secrets, 'signing'>,
  document: object,
  jku: string,
): Signed => {
  const header = base64url(JSON.stringify({ alg: 'EdDSA', typ: 'JOSE', kid: signing.kid, jku }));
  const payload = base64url(canonicalize(withoutAbsent(document)) ?? '');
  return { protected: header, signature: signing.sign(Buffer.from(`${header}.${payload}`)) };
};

/** The public keys that verify our signatures, as a JWK set (RFC 7517). */
export const keySet = ({ signing }: Pick<Secrets, 'signing'>): object => ({
  keys: [
    {
      kty: 'OKP',
      crv: 'Ed25519',
      x: signing.publicKey,
      kid: signing.kid,
      use: 'sig',
      alg: 'EdDSA',
    },
  ],
});
