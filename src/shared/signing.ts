/** Signatures: attribution tokens and documents that strangers can verify, and the tokens of review links. */
import { hash } from 'node:crypto';
import {
  ATTRIBUTION_TYPE,
  type AttributionClaims,
  attributionClaims,
} from '#contracts/links/attribution-token.ts';
import type { Secrets, SigningKey } from '#src/ports/system.ts';
import { canonicalJson } from './json.ts';

const base64url = (text: string): string => Buffer.from(text).toString('base64url');

/** Distinguishes the signature of a notification from that of a card. */
const NOTIFICATION_TYPE = 'a2a-notification';

type Signer = Pick<Secrets, 'signing'>;

const headerOf = ({ kid }: SigningKey, { typ, ...params }: { typ: string; jku?: string }): string =>
  base64url(JSON.stringify({ alg: 'EdDSA', typ, kid, ...params }));

/** Makes the header and the signature of a JWS (EdDSA) of an encoded payload; `params` are further members of the header. */
const sign = (key: SigningKey, payload: string, params: { typ: string; jku?: string }) => {
  const header = headerOf(key, params);
  const signature = key.sign(Buffer.from(`${header}.${payload}`));
  return { protected: header, signature };
};

/** Makes a detached JWS (EdDSA) over the JCS (RFC 8785) of a document; `jku` is the address of the key set. */
export const signDocument = (
  signer: Signer,
  document: object,
  jku: string,
): { protected: string; signature: string } =>
  sign(signer.signing, base64url(canonicalJson(document)), { typ: 'JOSE', jku });

/**
 * Makes a compact JWS of a body's bytes with the payload left out (RFC 7515, appendix F). Its header names the
 * receiver (`aud`), the notification (`jti`) and the time (`iat`), so that another receiver, or a later time, can
 * recognize a replay. `at` is in epoch milliseconds.
 */
export const signBody = (
  signer: Signer,
  body: string,
  { at, ...claims }: { jku: string; aud: string; jti: string; at: number },
): string => {
  const params = { typ: NOTIFICATION_TYPE, ...claims, iat: Math.floor(at / 1_000) };
  const { protected: header, signature } = sign(signer.signing, base64url(body), params);
  return `${header}..${signature}`;
};

/** Makes a compact JWS of an attribution token's claims. */
export const signAttribution = (
  { attribution }: Pick<Secrets, 'attribution'>,
  claims: AttributionClaims,
): string => {
  const payload = base64url(JSON.stringify(claims));
  const { protected: header, signature } = sign(attribution, payload, { typ: ATTRIBUTION_TYPE });
  return `${header}.${payload}.${signature}`;
};

/**
 * Returns the claims of an attribution token of this service; undefined for any other text, and from the end of its
 * window. `at` is in epoch milliseconds.
 */
export const openAttribution = (
  { attribution }: Pick<Secrets, 'attribution'>,
  token: string,
  at: number,
): AttributionClaims | undefined => {
  const [header, payload = '', signature = ''] = token.split('.');
  if (header !== headerOf(attribution, { typ: ATTRIBUTION_TYPE })) return undefined;
  if (!attribution.verify(Buffer.from(`${header}.${payload}`), signature)) return undefined;
  const claims = attributionClaims.parse(
    JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')),
  );
  return at < claims.exp * 1_000 ? claims : undefined;
};

/** The public keys that verify our signatures, as a JWK set (RFC 7517). */
export const keySet = ({ signing, attribution }: Pick<Secrets, 'signing' | 'attribution'>) => ({
  keys: [signing, attribution].map(({ kid, publicKey: x }) => ({
    kty: 'OKP',
    crv: 'Ed25519',
    x,
    kid,
    use: 'sig',
    alg: 'EdDSA',
  })),
});

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

/** Derives the secret part of the link that shows one quotation of an RFQ, 160 bits. Only the letter to its buyer has it. */
export const quotationTokenOf = (
  secrets: Secrets,
  { handoffId, number }: { handoffId: string; number: number },
): string => secrets.mac('rfq-quotation', `${handoffId}:${number}`).slice(0, TOKEN_CHARS);

/** The path of the page behind that link. */
export const quotationPath = (token: string): string => `/quotation/${token}`;
