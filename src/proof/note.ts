/**
 * Signed notes (C2SP signed-note, as Go's `golang.org/x/mod/sumdb/note` writes them) and the checkpoints in them (C2SP
 * tlog-checkpoint): a text, an empty line, and a line for each signature.
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

/** Ed25519 over the text of the note. */
const ED25519 = 1;

const SEED_BYTES = 32;
const ID_BYTES = 4;
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

/** Who signs: a name, and the key whose id each signature has. */
export type Verifier = {
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

const publicBytes = (key: KeyObject): Buffer =>
  key.export({ type: 'spki', format: 'der' }).subarray(SPKI.length);

const verifierOf = (name: string, key: KeyObject): Verifier => {
  const typed = Buffer.concat([Buffer.of(ED25519), publicBytes(key)]);
  const id = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed]), 'buffer');
  const shown = id.subarray(0, ID_BYTES);
  const text = `${name}+${shown.toString('hex')}+${typed.toString('base64')}`;
  return { name, id: shown, key, text };
};

/** The signer of a name whose Ed25519 key has this seed of 32 bytes. */
export const signerOf = (name: string, seed: Buffer): Signer => {
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  return { ...verifierOf(name, createPublicKey(privateKey)), privateKey };
};

/** Makes the text of a new private key, in the form of Go's `note.GenerateKey`. Keep it secret. */
export const newSigningKey = (name: string): string => {
  const seed = randomBytes(SEED_BYTES);
  const { id } = signerOf(name, seed);
  const key = Buffer.concat([Buffer.of(ED25519), seed]).toString('base64');
  return `PRIVATE+KEY+${name}+${id.toString('hex')}+${key}`;
};

const partsOf = (text: string) => {
  const [, name = '', id = '', base64 = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(text) ?? [];
  const bytes = Buffer.from(base64, 'base64');
  const [algorithm] = bytes;
  if (!isName(name) || bytes.length !== SEED_BYTES + 1)
    throw new NotAKey('it is not <name>+<id>+<key>');
  if (algorithm !== ED25519)
    throw new NotAKey(`it is of algorithm ${algorithm}; 1 is known, Ed25519`);
  return { name, id, bytes: bytes.subarray(1) };
};

const requireId = <Key extends Verifier>(key: Key, id: string): Key => {
  if (key.id.toString('hex') !== id) throw new NotAKey('its id is not that of its name and key');
  return key;
};

/** Opens the text of a private key. Throws NotAKey. */
export const openSigner = (text: string): Signer => {
  const [prefix, rest = ''] = text.trim().split(/(?<=^PRIVATE\+KEY\+)/);
  if (prefix !== 'PRIVATE+KEY+') throw new NotAKey('it does not begin with PRIVATE+KEY+');
  const { name, id, bytes } = partsOf(rest);
  return requireId(signerOf(name, bytes), id);
};

/** Opens the text of a public key. Throws NotAKey. */
export const openVerifier = (text: string): Verifier => {
  const { name, id, bytes } = partsOf(text.trim());
  const key = createPublicKey({ key: Buffer.concat([SPKI, bytes]), format: 'der', type: 'spki' });
  return requireId(verifierOf(name, key), id);
};

const DASH = '\u2014';

const signatureLine = ({ name, id, privateKey }: Signer, text: string): string => {
  const signature = sign(null, Buffer.from(text), privateKey);
  return `${DASH} ${name} ${Buffer.concat([id, signature]).toString('base64')}\n`;
};

/** Signs a text, which ends with a line break. */
export const signNote = (text: string, signers: readonly Signer[]): string =>
  `${text}\n${signers.map((signer) => signatureLine(signer, text)).join('')}`;

/** Which keys signed a note. */
export type OpenedNote = { text: string; signed: { by: Verifier }[] };

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
    if (!verify(null, Buffer.from(text), by.key, bytes.subarray(ID_BYTES))) return undefined;
    signed.push({ by });
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
