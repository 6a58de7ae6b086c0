/** Checks offline which visit led to the address of a landing page. Throws if its token proves nothing at `now`. */
export const readAttributionToken = async (
  address: string,
  { keys, now }: { keys: (JsonWebKey & { kid: string })[]; now: number },
): Promise<{
  owner_id: string;
  agent_id: string;
  link_id: string;
  target: { kind: string; ref: string };
  visit_id: string;
  iat: number;
  exp: number;
}> => {
  // A visitor can append parameters: only the first one is of the service.
  const token = new URL(address).searchParams.get('attribution') ?? '';
  const [header = '', payload = '', signature = ''] = token.split('.');
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString() || '{}');
  const { typ, kid } = read(header);
  const jwk = keys.find((key) => key.kid === kid);
  if (!jwk || typ !== 'attribution') throw new Error('not signed by the service');
  const key = await crypto.subtle.importKey('jwk', jwk, 'Ed25519', false, ['verify']);
  const signed = Buffer.from(`${header}.${payload}`);
  const bytes = Buffer.from(signature, 'base64url');
  if (!(await crypto.subtle.verify('Ed25519', key, bytes, signed)))
    throw new Error('the signature is of another token');
  const claims = read(payload);
  if (now / 1_000 >= claims.exp) throw new Error('the attribution window has ended');
  return claims;
};
