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
/** Ed25519 of a witness over the text and the time at which it saw it (C2SP tlog-cosignature). */
const COSIGNATURE = 4;

const SEED_BYTES = 32;
const ID_BYTES = 4;
const TIME_BYTES = 8;
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

/** Who signs: a name, and the key whose id each signature has. */
export type Verifier = {
  name: string;
  id: Buffer;
  algorithm: typeof ED25519 | typeof COSIGNATURE;
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

const verifierOf = (name: string, algorithm: Verifier['algorithm'], key: KeyObject): Verifier => {
  const typed = Buffer.concat([Buffer.of(algorithm), publicBytes(key)]);
  const id = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed]), 'buffer');
  const shown = id.subarray(0, ID_BYTES);
  const text = `${name}+${shown.toString('hex')}+${typed.toString('base64')}`;
  return { name, id: shown, algorithm, key, text };
};

/** The signer of a name whose Ed25519 key has this seed of 32 bytes. */
export const signerOf = (
  name: string,
  seed: Buffer,
  algorithm: Verifier['algorithm'] = ED25519,
): Signer => {
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  return { ...verifierOf(name, algorithm, createPublicKey(privateKey)), privateKey };
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
  if (algorithm !== ED25519 && algorithm !== COSIGNATURE)
    throw new NotAKey(`it is of algorithm ${algorithm}; 1 and 4 are known`);
  return { name, id, algorithm, bytes: bytes.subarray(1) } as const;
};

const requireId = <Key extends Verifier>(key: Key, id: string): Key => {
  if (key.id.toString('hex') !== id) throw new NotAKey('its id is not that of its name and key');
  return key;
};

/** Opens the text of a private key. Throws NotAKey. */
export const openSigner = (text: string): Signer => {
  const [prefix, rest = ''] = text.trim().split(/(?<=^PRIVATE\+KEY\+)/);
  if (prefix !== 'PRIVATE+KEY+') throw new NotAKey('it does not begin with PRIVATE+KEY+');
  const { name, id, algorithm, bytes } = partsOf(rest);
  return requireId(signerOf(name, bytes, algorithm), id);
};

/** Opens the text of a public key. Throws NotAKey. */
export const openVerifier = (text: string): Verifier => {
  const { name, id, algorithm, bytes } = partsOf(text.trim());
  const key = createPublicKey({ key: Buffer.concat([SPKI, bytes]), format: 'der', type: 'spki' });
  return requireId(verifierOf(name, algorithm, key), id);
};

/** What is signed, and what a signature begins with: a witness also signs when it saw the note, in seconds. */
const signedBytes = ({ algorithm }: Verifier, text: string, time: bigint): Buffer =>
  Buffer.from(algorithm === COSIGNATURE ? `cosignature/v1\ntime ${time}\n${text}` : text);

const DASH = '\u2014';

/** Returns the line of a signature. `at`: epoch milliseconds, of which a cosignature has the second. */
export const signatureLine = (signer: Signer, text: string, at: number): string => {
  const time = BigInt(Math.floor(at / 1_000));
  const stamp = Buffer.alloc(signer.algorithm === COSIGNATURE ? TIME_BYTES : 0);
  if (stamp.length > 0) stamp.writeBigUInt64BE(time);
  const signature = sign(null, signedBytes(signer, text, time), signer.privateKey);
  return `${DASH} ${signer.name} ${Buffer.concat([signer.id, stamp, signature]).toString('base64')}\n`;
};

/** Signs a text, which ends with a line break. */
export const signNote = (text: string, signers: readonly Signer[], at = 0): string =>
  `${text}\n${signers.map((signer) => signatureLine(signer, text, at)).join('')}`;

/** Which keys signed a note. `seen`: the second of a cosignature, in epoch milliseconds. */
export type OpenedNote = { text: string; signed: { by: Verifier; seen?: number }[] };

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
    const isCosignature = by.algorithm === COSIGNATURE;
    const time = isCosignature ? bytes.readBigUInt64BE(ID_BYTES) : 0n;
    const signature = bytes.subarray(ID_BYTES + (isCosignature ? TIME_BYTES : 0));
    if (!verify(null, signedBytes(by, text, time), by.key, signature)) return undefined;
    signed.push({ by, ...(isCosignature && { seen: Number(time) * 1_000 }) });
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
