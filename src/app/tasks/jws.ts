import canonicalize from 'canonicalize';
import type { Secrets } from '#src/ports/system.ts';

type Signed = { protected: string; signature: string };

const base64url = (text: string): string => Buffer.from(text).toString('base64url');

/**
 * A document without what protobuf takes for absent (empty texts, lists and objects), as the agent
 * card is signed and checked: undefined when nothing is left.
 */
const present = (value: unknown): unknown => {
  if (value === '' || value === null || value === undefined) return undefined;
  if (Array.isArray(value)) {
    const items = value.map(present).filter((item) => item !== undefined);
    return items.length > 0 ? items : undefined;
  }
  if (typeof value !== 'object') return value;
  const members = Object.entries(value)
    .map(([name, member]) => [name, present(member)] as const)
    .filter(([, member]) => member !== undefined);
  return members.length > 0 ? Object.fromEntries(members) : undefined;
};

/** A detached JWS (EdDSA) over the JCS of a document; `jku` is where the public key can be had. */
export const signDocument = (
  { signing }: Pick<Secrets, 'signing'>,
  document: object,
  jku: string,
): Signed => {
  const header = base64url(JSON.stringify({ alg: 'EdDSA', typ: 'JOSE', kid: signing.kid, jku }));
  const payload = base64url(canonicalize(present(document)) ?? '');
  return { protected: header, signature: signing.sign(Buffer.from(`${header}.${payload}`)) };
};

/** The public keys by which strangers check what we signed (RFC 7517). */
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
