import type { Secrets } from '#src/ports/system.ts';
import { canonicalJson } from '../shared/canonical-json.ts';

const base64url = (text: string): string => Buffer.from(text).toString('base64url');

/** Makes a detached JWS (EdDSA) over the JCS (RFC 8785) of a document; `jku` is the address of the key set. */
export const signDocument = (
  { signing }: Pick<Secrets, 'signing'>,
  document: object,
  jku: string,
): { protected: string; signature: string } => {
  const header = base64url(JSON.stringify({ alg: 'EdDSA', typ: 'JOSE', kid: signing.kid, jku }));
  const payload = base64url(canonicalJson(document));
  return { protected: header, signature: signing.sign(Buffer.from(`${header}.${payload}`)) };
};

/** The public keys that verify our signatures, as a JWK set (RFC 7517). */
export const keySet = ({ signing: { kid, publicKey: x } }: Pick<Secrets, 'signing'>): object => ({
  keys: [{ kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' }],
});
