/** An authenticator in software: it makes passkeys and answers as a browser would, and lies where a test says so. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** What an honest browser would say; a test changes it. */
export type Lie = {
  origin?: string;
  rpId?: string;
  challenge?: string;
  type?: string;
  counter?: number;
  /** Whether the device checked who holds it. */
  isVerified?: boolean;
  userHandle?: string;
  id?: string;
  /** Signs with a key that is not that of the passkey. */
  key?: KeyObject;
};

export type SoftPasskey = {
  id: string;
  /** The answer to an offer, as JSON text. */
  created: string;
  /** The answer to a question, as JSON text. */
  use(question: { challenge: string }, lie?: Lie): string;
};

const PRESENT = 0x01;
const VERIFIED = 0x04;
const HAS_KEY = 0x40;

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest();
const base64url = (data: string | Buffer): string => Buffer.from(data).toString('base64url');

/** A byte string of 24 to 255 bytes in CBOR. */
const cborBytes = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from([0x58, bytes.length]), bytes]);
const cborText = (text: string): Buffer =>
  Buffer.concat([Buffer.from([0x60 + text.length]), Buffer.from(text)]);

/** The public key of ES256 in COSE. */
const coseKey = (key: KeyObject): Buffer => {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  return Buffer.concat([
    Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]),
    cborBytes(Buffer.from(x, 'base64url')),
    Buffer.from([0x22]),
    cborBytes(Buffer.from(y, 'base64url')),
  ]);
};

type Site = { origin: string; rpId: string };

const clientData = (site: Site, type: string, challenge: string, lie: Lie): string =>
  JSON.stringify({
    type: lie.type ?? type,
    challenge: lie.challenge ?? challenge,
    origin: lie.origin ?? site.origin,
    crossOrigin: false,
  });

const authenticatorData = (
  site: Site,
  { rpId = site.rpId, counter = 0, isVerified = true }: Lie,
  more: { flags: number; data: Buffer } = { flags: 0, data: Buffer.alloc(0) },
): Buffer => {
  const count = Buffer.alloc(4);
  count.writeUInt32BE(counter);
  const flags = PRESENT | (isVerified ? VERIFIED : 0) | more.flags;
  return Buffer.concat([sha256(rpId), Buffer.from([flags]), count, more.data]);
};

/** Makes a passkey for an offer of the site. */
export const softPasskey = (
  site: Site,
  { challenge, user }: { challenge: string; user: { id: string } },
  lie: Lie = {},
): SoftPasskey => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const rawId = randomBytes(16);
  const id = base64url(rawId);
  const length = Buffer.from([0, rawId.length]);
  const data = Buffer.concat([Buffer.alloc(16), length, rawId, coseKey(publicKey)]);
  const authData = authenticatorData(site, lie, { flags: HAS_KEY, data });
  const attestation = Buffer.concat([
    Buffer.from([0xa3]),
    cborText('fmt'),
    cborText('none'),
    cborText('attStmt'),
    Buffer.from([0xa0]),
    cborText('authData'),
    cborBytes(authData),
  ]);
  const created = {
    id,
    rawId: id,
    type: 'public-key',
    clientExtensionResults: {},
    response: {
      clientDataJSON: base64url(clientData(site, 'webauthn.create', challenge, lie)),
      attestationObject: base64url(attestation),
      transports: ['internal'],
    },
  };
  return {
    id,
    created: JSON.stringify(created),
    use(question, untrue = {}) {
      const client = clientData(site, 'webauthn.get', question.challenge, untrue);
      const signed = authenticatorData(site, untrue);
      const signature = sign(
        'sha256',
        Buffer.concat([signed, sha256(client)]),
        untrue.key ?? privateKey,
      );
      const used = untrue.id ?? id;
      return JSON.stringify({
        id: used,
        rawId: used,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: base64url(client),
          authenticatorData: base64url(signed),
          signature: base64url(signature),
          userHandle: untrue.userHandle ?? user.id,
        },
      });
    },
  };
};
