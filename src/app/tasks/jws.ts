import canonicalize from 'canonicalize';
import type { Secrets } from '#src/ports/system.ts';

const base64url = (text: string): string => Buffer.from(text).toString('base64url');

/**
 * Removes what protobuf treats as absent (empty texts, lists and objects), as signing and checking an agent card
 * require. Inner values come first, so that a value whose members are all absent is absent, too.
 */
const withoutAbsent = (document: object): unknown =>
  JSON.parse(JSON.stringify(document), (_name, value: unknown) => {
    const rest: unknown = Array.isArray(value) ? value.filter((item) => item !== undefined) : value;
    const isEmpty = typeof rest === 'object' && rest !== null && Object.keys(rest).length === 0;
    return rest === '' || rest === null || isEmpty ? undefined : rest;
  });

/** Makes a detached JWS (EdDSA) over the JCS (RFC 8785) of a document; `jku` is the address of the key set. */
export const signDocument = (
  { signing }: Pick<Secrets, 'signing'>,
  document: object,
  jku: string,
): { protected: string; signature: string } => {
  const header = base64url(JSON.stringify({ alg: 'EdDSA', typ: 'JOSE', kid: signing.kid, jku }));
  const payload = base64url(canonicalize(withoutAbsent(document)) ?? '');
  return { protected: header, signature: signing.sign(Buffer.from(`${header}.${payload}`)) };
};

/** The public keys that verify our signatures, as a JWK set (RFC 7517). */
export const keySet = ({ signing: { kid, publicKey: x } }: Pick<Secrets, 'signing'>): object => ({
  keys: [{ kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' }],
});
