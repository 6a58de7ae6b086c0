/**
 * Signed notes (C2SP signed-note, as Go's `golang.org/x/mod/sumdb/note` writes them) and the checkpoints in them (C2SP
 * tlog-checkpoint): a text, an empty line, and a line for each signature, of the notary or of a witness (C2SP
 * tlog-cosignature).
 */
import {
  createPrivateKey,
  createPublicKey,
  hash,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from 'node:crypto';
import type { Hash } from './merkle.ts';

/** The first byte of a key: Ed25519 over the text of the note. */
const NOTARY = 1;
/** Ed25519 over a time and the text. */
const WITNESS = 4;
/** ML-DSA-44 over names, a time, and the tree. */
const WITNESS_ML_DSA = 6;

const SEED_BYTES = 32;
const ID_BYTES = 4;
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');
const SPKI_ML_DSA = Buffer.from('30820532300b06096086480165030403110382052100', 'hex');
const ML_DSA_BYTES = 1_312;
const STAMP_BYTES = 8;

/** Who signs: a name, and the key whose id each signature has. */
export type Verifier = {
  kind: number;
  name: string;
  id: Buffer;
  key: KeyObject;
  /** `<name>+<id>+<key>`, as it is published. */
  text: string;
};

export type Signer = Verifier & { privateKey: KeyObject };

/** The text of a key is not one. */
export class NotAKey extends Error {
  override readonly name = 'NotAKey';
}

const isName = (name: string): boolean => name !== '' && !/[\s+]/u.test(name);

const spkiOf = (kind: number): Buffer => (kind === WITNESS_ML_DSA ? SPKI_ML_DSA : SPKI);

const verifierOf = (name: string, key: KeyObject, kind: number): Verifier => {
  const bytes = key.export({ type: 'spki', format: 'der' }).subarray(spkiOf(kind).length);
  const typed = Buffer.concat([Buffer.of(kind), bytes]);
  const id = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed]), 'buffer');
  const shown = id.subarray(0, ID_BYTES);
  const text = `${name}+${shown.toString('hex')}+${typed.toString('base64')}`;
  return { kind, name, id: shown, key, text };
};

/** The signer of a name whose Ed25519 key has this seed of 32 bytes. */
export const signerOf = (name: string, seed: Buffer, kind = NOTARY): Signer => {
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  return { ...verifierOf(name, createPublicKey(privateKey), kind), privateKey };
};

/** Makes the text of a new private key, in the form of Go's `note.GenerateKey`. Keep it secret. */
export const newSigningKey = (name: string): string => signingKeyOf(name, randomBytes(SEED_BYTES));

/** Makes the text of a new private key of a witness. */
export const newWitnessKey = (name: string): string =>
  signingKeyOf(name, randomBytes(SEED_BYTES), WITNESS);

/** The text of the private key with this seed. */
export const signingKeyOf = (name: string, seed: Buffer, kind = NOTARY): string => {
  const { id } = signerOf(name, seed, kind);
  const key = Buffer.concat([Buffer.of(kind), seed]).toString('base64');
  return `PRIVATE+KEY+${name}+${id.toString('hex')}+${key}`;
};

const partsOf = (text: string) => {
  const [, name = '', id = '', base64 = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(text) ?? [];
  const bytes = Buffer.from(base64, 'base64');
  const [kind = 0] = bytes;
  if (!isName(name) || bytes.length === 0) throw new NotAKey('it is not <name>+<id>+<key>');
  if (![NOTARY, WITNESS, WITNESS_ML_DSA].includes(kind))
    throw new NotAKey(`it is of kind ${kind}; known are 1, 4 (Ed25519) and 6 (ML-DSA-44)`);
  const length = kind === WITNESS_ML_DSA ? ML_DSA_BYTES : SEED_BYTES;
  if (bytes.length !== length + 1) throw new NotAKey('it has another length than keys of its kind');
  return { name, id, kind, bytes: bytes.subarray(1) };
};

const requireId = <Key extends Verifier>(key: Key, id: string): Key => {
  if (key.id.toString('hex') !== id) throw new NotAKey('its id is not that of its name and key');
  return key;
};

/** Opens the text of a private key. Throws NotAKey. */
export const openSigner = (text: string): Signer => {
  const [prefix, rest = ''] = text.trim().split(/(?<=^PRIVATE\+KEY\+)/);
  if (prefix !== 'PRIVATE+KEY+') throw new NotAKey('it does not begin with PRIVATE+KEY+');
  const { name, id, kind, bytes } = partsOf(rest);
  if (kind === WITNESS_ML_DSA)
    throw new NotAKey('keys of ML-DSA-44 are checked, and not signed with');
  return requireId(signerOf(name, bytes, kind), id);
};

/** Opens the text of a public key. Throws NotAKey. */
export const openVerifier = (text: string): Verifier => {
  const { name, id, kind, bytes } = partsOf(text.trim());
  const der = Buffer.concat([spkiOf(kind), bytes]);
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
  return requireId(verifierOf(name, key, kind), id);
};

const DASH = '\u2014';

const uint64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
};

/** A text after its length in one byte. */
const sized = (text: string): Buffer =>
  Buffer.concat([Buffer.of(Buffer.byteLength(text)), Buffer.from(text)]);

/** What a key signs for a text, at a time if it is of a witness. */
const signedBytes = ({ kind, name }: Verifier, text: string, stamp: Buffer): Buffer => {
  if (kind === NOTARY) return Buffer.from(text);
  if (kind === WITNESS)
    return Buffer.from(`cosignature/v1\ntime ${stamp.readBigUInt64BE()}\n${text}`);
  const { origin = '', size = 0, root = Buffer.alloc(0) } = readCheckpoint(text) ?? {};
  const tree = [uint64(0), uint64(size), root];
  return Buffer.concat([Buffer.from('subtree/v1\n\0'), sized(name), stamp, sized(origin), ...tree]);
};

/** The line with a signature of a text; `seconds` is the time of a witness. */
export const signatureLine = (signer: Signer, text: string, seconds?: number): string => {
  const { name, id, privateKey } = signer;
  const stamp = seconds === undefined ? Buffer.alloc(0) : uint64(seconds);
  const signature = sign(null, signedBytes(signer, text, stamp), privateKey);
  return `${DASH} ${name} ${Buffer.concat([id, stamp, signature]).toString('base64')}\n`;
};

/** Signs a text, which ends with a line break. */
export const signNote = (text: string, signers: readonly Signer[]): string =>
  `${text}\n${signers.map((signer) => signatureLine(signer, text)).join('')}`;

/** Which keys signed a note. */
export type OpenedNote = { text: string; signed: { by: Verifier; line: string }[] };

/**
 * Opens a note. Signatures of unknown keys are ignored; undefined if it is no note, or one of a known key does not fit. A note
 * that none of `verifiers` signed has an empty `signed`.
 */
export const openNote = (note: string, verifiers: readonly Verifier[]): OpenedNote | undefined => {
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n')) return undefined;
  const text = note.slice(0, end + 1);
  const signed: OpenedNote['signed'] = [];
  for (const line of note.slice(end + 2, -1).split('\n')) {
    const [, name, base64 = ''] = /^\u2014 (\S+) (\S+)$/.exec(line) ?? [];
    if (name === undefined) return undefined;
    const bytes = Buffer.from(base64, 'base64');
    const by = verifiers.find(
      (key) => key.name === name && key.id.equals(bytes.subarray(0, ID_BYTES)),
    );
    if (!by) continue;
    const own = ID_BYTES + (by.kind === NOTARY ? 0 : STAMP_BYTES);
    if (bytes.length <= own) return undefined;
    const message = signedBytes(by, text, bytes.subarray(ID_BYTES, own));
    if (!verify(null, message, by.key, bytes.subarray(own))) return undefined;
    signed.push({ by, line: `${line}\n` });
  }
  return { text, signed };
};

export type Checkpoint = { origin: string; size: number; root: Hash };

/** The text of a checkpoint, without extension lines. */
export const checkpointText = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`;

/** Reads the text of a checkpoint; undefined for any other text. Extension lines are ignored. */
export const readCheckpoint = (text: string): Checkpoint | undefined => {
  const [, origin, size, base64 = ''] =
    /^(.+)\n(0|[1-9]\d*)\n([A-Za-z0-9+/]{43}=)\n(?:.+\n)*$/.exec(text) ?? [];
  return origin === undefined
    ? undefined
    : { origin, size: Number(size), root: Buffer.from(base64, 'base64') };
};
