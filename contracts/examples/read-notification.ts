/** Checks who signed a push notification, for whom and when. Resolves to its task; undefined for a repetition. */
export const readNotification = async (
  headers: Record<string, string | undefined>,
  body: string,
  receiver: { url: string; keys: (JsonWebKey & { kid: string })[]; seen: Set<string>; now: number },
): Promise<{ id: string; status: { state: string } } | undefined> => {
  const jws = headers['x-a2a-notification-signature'] ?? '';
  const [header = '', , signature = ''] = jws.split('.');
  const { typ, kid, aud, jti, iat } = JSON.parse(Buffer.from(header, 'base64url').toString());
  const jwk = receiver.keys.find((key) => key.kid === kid);
  if (!jwk || typ !== 'a2a-notification') throw new Error('not signed by the service');
  const key = await crypto.subtle.importKey('jwk', jwk, 'Ed25519', false, ['verify']);
  const signed = Buffer.from(`${header}.${Buffer.from(body).toString('base64url')}`);
  const bytes = Buffer.from(signature, 'base64url');
  if (!(await crypto.subtle.verify('Ed25519', key, bytes, signed)))
    throw new Error('the signature is of another body');
  if (aud !== receiver.url) throw new Error('signed for another receiver');
  if (Math.abs(receiver.now / 1_000 - iat) > 300) throw new Error('signed at another time');
  if (receiver.seen.has(jti)) return undefined;
  receiver.seen.add(jti);
  return JSON.parse(body).task;
};
